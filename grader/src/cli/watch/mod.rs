//! The command `grader watch [N]`: grades again at every save.
//!
//! ```text
//! keys, events of the grading ──► message ─► update ─► model ─► view ─► rows of the screen
//!               ▲                               │
//!               └────────── session ◄─ effect ──┘
//! ```
//!
//! `update` and `view` are pure functions, so tests need no terminal. The session does what has effects.

mod background;
mod files;
mod layout;
mod model;
mod plain;
mod session;
#[cfg(test)]
mod tests;
mod update;
mod view;

pub(super) use background::{CHILD_COMMAND, main as child_main};

use super::args::{BackendChoice, WatchArgs};
use super::console;
use super::grading;
use crate::contents::{self, Entry};
use crate::student_progress::StudentProgress;
use crate::terminal::screen::{self, Input, Screen};
use crate::terminal::{self, Size};
use background::Setup;
use diagnostic::{Failure, FailureKind};
use model::{Model, Named};
use session::{Event, Session, Work};
use std::path::Path;
use std::sync::mpsc::channel;
use toolchain::Toolchain;
use toolchain::env::Env;

pub(super) fn run(
    args: &WatchArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let progress = StudentProgress::of(&workbook);
    let puzzle = match args.number {
        Some(number) => workbook.puzzle(number)?,
        None => progress.current().unwrap_or(&workbook.puzzles()[0]),
    };
    // What is missing is reported, or downloaded, before the screen is taken.
    Toolchain::locate(&Env::current(), nvcc)?;
    if args.backend == BackendChoice::Gpu {
        grading::choose(args.backend)?;
    }
    let setup = Setup {
        workbook: workbook.root().to_owned(),
        nvcc: nvcc.map(Path::to_owned),
        backend: args.backend,
    };

    let entries = contents::entries(&workbook);
    let puzzles = entries.iter().map(named).collect();
    let current = entries.iter().position(|entry| entry.puzzle.number == puzzle.number);
    let (sender, events) = channel();
    let keys = sender.clone();
    let style = console::style();
    let screen = Screen::start();
    let (size, listening) = if screen.is_some() {
        let size = terminal::size().unwrap_or(Size { rows: 24, columns: 80 });
        (size, screen::listen(move |input| keys.send(Event::Input(input)).is_ok()))
    } else {
        let size = Size { rows: usize::MAX, columns: usize::MAX };
        let send = move |key| keys.send(Event::Input(Input::Key(key))).is_ok();
        (size, plain::listen(send))
    };
    listening.map_err(|e| {
        let title = format!("cannot start a thread: {e}");
        Failure::new(FailureKind::Environment, title, "close other programs")
    })?;
    let model = Model::new(size, style, puzzles, current.unwrap_or_default());
    let work = Work::new(setup, sender, events);
    Session { workbook: &workbook, entries: &entries, progress, model, screen, work }.run();
    Ok(())
}

fn named(entry: &Entry<'_>) -> Named {
    Named { number: entry.puzzle.number, title: entry.title.clone(), part: entry.part.clone() }
}
