//! The terminal: its size, and input of single keys without Enter. The only file that changes the terminal's mode.

use rustix::termios::{
    LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::io::{IsTerminal, stdin, stdout};
use std::sync::{Mutex, PoisonError};
use toolchain::process;

/// The terminal's original mode, while it is changed.
static ORIGINAL: Mutex<Option<Termios>> = Mutex::new(None);

/// While this value lives, each key is read as it is typed, and not echoed. Ctrl-C still ends the grader. The original
/// mode is restored however the grader ends, except by SIGKILL.
#[derive(Debug)]
pub struct SingleKeys(());

impl SingleKeys {
    /// Changes the mode. `None` if stdin or stdout is not a terminal, or the terminal refuses.
    pub fn start() -> Option<Self> {
        if !isatty(stdin()) || !isatty(stdout()) {
            return None;
        }
        let original = tcgetattr(stdin()).ok()?;
        process::before_interrupt(restore);
        *ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(original);
        let keys = Self(());
        keys.set_again();
        Some(keys)
    }

    /// Sets the mode again, because a shell that stopped the grader (Ctrl-Z) has set its own.
    pub fn set_again(&self) {
        let original = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut mode) = original.clone() {
            mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            // If the terminal refuses, keys need Enter, but nothing else breaks.
            tcsetattr(stdin(), OptionalActions::Now, &mode).ok();
        }
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    let mut original = ORIGINAL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mode) = original.take() {
        tcsetattr(stdin(), OptionalActions::Now, &mode).ok();
    }
}

/// The rows and columns of the terminal at stdout; `None` if stdout is not a terminal.
pub fn size() -> Option<(usize, usize)> {
    if !stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

/// The first lines of `text` that fit into `rows` rows of `columns` characters, broken between words, and the number of
/// omitted lines.
pub fn fit(text: &str, rows: usize, columns: usize) -> (String, usize) {
    let mut left = rows;
    let mut shown = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let broken = wrap(line, columns);
        // A word that is longer than a row takes several.
        let height = |row: &String| visible_length(row).div_ceil(columns.max(1)).max(1);
        let needed: usize = broken.iter().map(height).sum();
        if needed > left {
            return (shown, 1 + lines.count());
        }
        left -= needed;
        shown.extend(broken.iter().flat_map(|row| [row, "\n"]));
    }
    (shown, 0)
}

/// Breaks a line between words into rows of at most `columns` characters; the second and further rows are indented.
fn wrap(line: &str, columns: usize) -> Vec<String> {
    let (indent, text) = line.split_at(line.len() - line.trim_start_matches(' ').len());
    let mut words = text.split(' ');
    let mut rows = Vec::new();
    let mut row = format!("{indent}{}", words.next().unwrap_or_default());
    for word in words {
        if visible_length(&row) + 1 + visible_length(word) > columns {
            rows.push(row);
            row = format!("{indent}    {word}");
        } else {
            row.extend([" ", word]);
        }
    }
    rows.push(row);
    rows
}

/// The number of characters of a line without its escape codes for colours (`ESC [ ... m`).
pub fn visible_length(line: &str) -> usize {
    let mut length = 0;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|&c| c == 'm');
        } else {
            length += 1;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_wrap_count_for_all_their_rows() {
        assert_eq!(fit("a\nb\nc\n", 5, 10), ("a\nb\nc\n".into(), 0));
        assert_eq!(fit("a\nb\nc\n", 2, 10), ("a\nb\n".into(), 1));
        assert_eq!(fit("123456\nb\nc\n", 3, 5), ("123456\nb\n".into(), 1));
        assert_eq!(fit("123456\nb\n", 1, 5), (String::new(), 2));
        assert_eq!(fit("\n\nx", 2, 5), ("\n\n".into(), 1));
        assert_eq!(fit("x", 1, 0), ("x\n".into(), 0));
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(fit("one two three", 3, 9), ("one two\n    three\n".into(), 0));
        assert_eq!(fit("  one two", 3, 6), ("  one\n      two\n".into(), 0));
        assert_eq!(fit("one two\nx", 3, 5), ("one\n    two\n".into(), 1));
        assert_eq!(fit("a  b", 1, 4), ("a  b\n".into(), 0), "blanks inside a row stay");
        assert_eq!(fit("\u{1b}[31mone\u{1b}[0m two", 1, 7).1, 0, "colours take no space");
    }

    #[test]
    fn colours_take_no_room() {
        assert_eq!(visible_length("\u{1b}[31mred\u{1b}[0m é"), 5);
    }
}
