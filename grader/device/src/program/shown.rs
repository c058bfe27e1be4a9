//! What a confined program prints, on its way to the terminal.

use super::child::BOUNDS;
use diagnostic::visible;
use std::io::{self, Read, Write};
use std::process::Child;
use std::thread::{JoinHandle, spawn};

/// The bytes that a program may print, on its output and on its error output.
pub const MOST: u64 = BOUNDS.file_size;

/// Passes on what a program prints, until it ends.
#[derive(Debug)]
pub struct Shown(Vec<JoinHandle<Passed>>);

/// How the passing on came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    /// The program has closed the pipe, or nobody reads any more.
    All,
    /// The program printed more than it may.
    TooMuch,
}

impl Shown {
    /// Of a child whose output and error output are pipes.
    pub fn of(child: &mut Child) -> Self {
        let out = child.stdout.take().map(|from| spawn(|| pass_on(from, io::stdout(), MOST)));
        let err = child.stderr.take().map(|from| spawn(|| pass_on(from, io::stderr(), MOST)));
        Self(out.into_iter().chain(err).collect())
    }

    /// Waits for all that a program which has ended printed; whether that was more than it may.
    pub fn was_too_much(self) -> bool {
        let passed = self.0.into_iter().map(|thread| thread.join().unwrap_or(Passed::All));
        passed.collect::<Vec<Passed>>().contains(&Passed::TooMuch)
    }
}

/// Passes on up to `most` bytes, in which nothing is left that a terminal would obey. At its end `from` is closed, as a pipe without a
/// reader is.
fn pass_on(mut from: impl Read, mut to: impl Write, most: u64) -> Passed {
    let (mut bytes, mut all) = (Vec::new(), 0);
    let mut chunk = [0; 1 << 13];
    loop {
        let count = from.read(&mut chunk).unwrap_or(0);
        bytes.extend(&chunk[..count]);
        // The end of a chunk may be in the middle of a character.
        let whole = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() && count > 0 => error.valid_up_to(),
            _ => bytes.len(),
        };
        let text = visible(&String::from_utf8_lossy(&bytes[..whole]));
        let written = to.write_all(text.as_bytes()).and_then(|()| to.flush());
        bytes.drain(..whole);
        all += count as u64;
        if all > most {
            return Passed::TooMuch;
        }
        if count == 0 || written.is_err() {
            return Passed::All;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Gives a piece at each call.
    struct Pieces(VecDeque<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.pop_front() else { return Ok(0) };
            to[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn text_arrives_whole_and_harmless() {
        let pieces: [&[u8]; 6] = [b"a\xc3", b"\xa9\n", b"\x1b[2J", b"\xff", b"\xe2\x80", b"z\xe2"];
        let mut shown = Vec::new();
        assert_eq!(pass_on(Pieces(pieces.into()), &mut shown, 99), Passed::All);
        assert_eq!(String::from_utf8(shown).unwrap(), "aé\n\\u001b[2J\u{fffd}\u{fffd}z\u{fffd}");
    }

    #[test]
    fn a_program_prints_so_much_and_no_more() {
        let mut shown = Vec::new();
        let pieces: [&[u8]; 3] = [b"ab", b"cd", b"ef"];
        assert_eq!(pass_on(Pieces(pieces.into()), &mut shown, 3), Passed::TooMuch);
        assert_eq!(shown, b"abcd");
    }
}
