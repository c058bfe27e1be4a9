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
    console::print(&page(&workbook, puzzle, &progress, args.level, console::style())?);
    Ok(())
}

/// The hint of `level`, or the next stronger one, which is recorded as shown.
pub(super) fn page(
    workbook: &Workbook,
    puzzle: &Puzzle,
    progress: &StudentProgress<'_>,
    level: Option<u8>,
    style: Style,
) -> Result<String, Failure> {
    let shown = progress.hint_level(puzzle);
    let level = level.unwrap_or((shown + 1).min(LEVELS));
    let hint = chapter::hint(workbook, puzzle, level)?;
    let width = terminal::size().map_or(WIDTH, |(_, columns)| columns.clamp(20, WIDTH));
    let title = style.paint(Tone::Strong, &hint.title);
    let text = hint.render(style, width);
    let more = if level < LEVELS {
        format!("Still stuck? `grader hint {}` shows hint {}.", puzzle.number, level + 1)
    } else {
        let chapter = workbook.relative(&puzzle.chapter).display();
        format!("This is the strongest hint. The solution is at the end of {chapter}.")
    };
    progress.set_hint_level(puzzle, shown.max(level));
    Ok(format!("{title}\n\n{text}\n{}\n", style.paint(Tone::Faint, &more)))
}
