//! `grader watch` without a terminal: it prints lines, and reads commands from stdin.

use super::model::{Message, Model, Panel, Status};
use crate::cli::list;
use crate::contents::Entry;
use crate::student_progress::StudentProgress;
use crate::terminal::screen::Key;
use std::io::{self, IsTerminal, Read};
use std::thread;

/// What to print after the message has changed the model.
pub fn text(
    model: &Model,
    message: &Message,
    progress: &StudentProgress<'_>,
    entries: &[Entry<'_>],
) -> String {
    let named = |index: usize| {
        let puzzle = &model.puzzles[index];
        format!("puzzle {}, {}", puzzle.number, puzzle.title)
    };
    match message {
        Message::Started => format!("--- puzzle {}\n", model.puzzle().number),
        Message::Graded { graded, solved, next } => {
            let after = match next {
                _ if !solved => String::new(),
                Some(next) => format!("\nSolved. Next: {} (n)\n", named(*next)),
                None => format!("\nAll {} puzzles are solved.\n", model.puzzles.len()),
            };
            format!("{}{after}{}\n", graded.text, graded.in_short())
        }
        Message::Hint { title, text } => format!("{title}\n\n{text}"),
        Message::States(_) => list::page(progress, entries, list::columns(), model.style),
        Message::Next { .. } => match &model.panel {
            Panel::Leave { next } => {
                let number = model.puzzle().number;
                format!("Puzzle {number} is not solved. Go on to {}? (y, n)\n", named(*next))
            }
            Panel::Closed => notice(model),
            _ => String::new(),
        },
        Message::Replayed(text) => format!("{text}\n"),
        Message::Key(Key::Char('p')) => notice(model),
        _ => String::new(),
    }
}

/// The answer to a key that opened nothing.
fn notice(model: &Model) -> String {
    match &model.status {
        Status::Notice(text) => format!("{text}\n"),
        _ => String::new(),
    }
}

/// Sends the commands that are typed, from a thread of its own. A terminal may belong to a shell that runs this in the
/// background, so it is not read.
///
/// # Errors
/// The thread cannot be started.
pub fn listen(send: impl Fn(Key) -> bool + Send + 'static) -> io::Result<()> {
    if io::stdin().is_terminal() {
        return Ok(());
    }
    let read = move || {
        for byte in io::stdin().lock().bytes().map_while(Result::ok) {
            let key = char::from(byte);
            if key.is_ascii_graphic() && !send(Key::Char(key)) {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".into()).spawn(read).map(drop)
}
