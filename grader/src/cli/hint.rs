//! The command `grader hint N`.

use super::args::HintArgs;
use super::console;
use crate::chapter::{self, LEVELS};
use crate::student_progress::StudentProgress;
use crate::terminal;
use diagnostic::Failure;
use puzzle::workbook::{Puzzle, Workbook};
use report::style::{Style, Tone};
use std::path::Path;

/// The largest width of lines, also the width if the output is not a terminal.
const WIDTH: usize = 96;

pub(super) fn run(args: &HintArgs, workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let progress = StudentProgress::of(&workbook);
    let style = console::style();
    let width = terminal::size().map_or(WIDTH, |size| size.columns);
    let before = progress.hint_level(puzzle);
    let (title, text) = shown(&workbook, puzzle, &progress, args.level, style, width)?;
    let level = args.level.unwrap_or((before + 1).min(LEVELS));
    let more = if level < LEVELS {
        format!("Still stuck? `grader hint {}` shows hint {}.", puzzle.number, level + 1)
    } else {
        let chapter = workbook.relative(&puzzle.chapter).display();
        format!("This is the strongest hint. The solution is at the end of {chapter}.")
    };
    let title = style.paint(Tone::Strong, &title);
    console::print(&format!("{title}\n\n{text}\n{}\n", style.paint(Tone::Faint, &more)));
    Ok(())
}

/// Title and text of the hint of `level`, or of the next stronger one, which is recorded as shown.
pub(super) fn shown(
    workbook: &Workbook,
    puzzle: &Puzzle,
    progress: &StudentProgress<'_>,
    level: Option<u8>,
    style: Style,
    width: usize,
) -> Result<(String, String), Failure> {
    let before = progress.hint_level(puzzle);
    let level = level.unwrap_or((before + 1).min(LEVELS));
    let hint = chapter::hint(workbook, puzzle, level)?;
    progress.set_hint_level(puzzle, before.max(level));
    Ok((hint.title.clone(), hint.render(style, width.clamp(20, WIDTH))))
}
