//! The command `grader next`.

use super::console;
use crate::contents;
use crate::student_progress::{State, StudentProgress};
use diagnostic::Failure;
use puzzle::workbook::{Puzzle, Workbook};
use report::style::{Style, Tone};
use std::path::Path;

pub(super) fn run(workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let progress = StudentProgress::of(&workbook);
    console::print(&match progress.next() {
        Some(puzzle) => page(&workbook, &progress, puzzle, console::style()),
        None => all_solved(&workbook),
    });
    Ok(())
}

/// A puzzle and the commands for working on it.
pub(super) fn page(
    workbook: &Workbook,
    progress: &StudentProgress<'_>,
    puzzle: &Puzzle,
    style: Style,
) -> String {
    let number = puzzle.number;
    let title = format!("Puzzle {number}: {}", contents::title(puzzle));
    let state = match progress.state(puzzle) {
        State::NotTried => String::new(),
        state if state.detail().is_empty() => format!(" ({})", state.name()),
        state => format!(" ({}: {})", state.name(), state.detail()),
    };
    format!(
        "{}{state}\n\n  read   {}\n  edit   {}\n  grade  grader watch {number}\n\n\
         `grader open {number}` opens the file and the chapter, `grader hint {number}` helps when you are stuck.\n",
        style.paint(Tone::Strong, &title),
        workbook.relative(&puzzle.chapter).display(),
        workbook.relative(&puzzle.stub).display(),
    )
}

/// The page if there is no next puzzle.
pub(super) fn all_solved(workbook: &Workbook) -> String {
    format!("All {} puzzles are solved.\n", workbook.puzzles().len())
}
