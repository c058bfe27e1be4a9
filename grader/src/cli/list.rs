//! The command `grader list`.

use super::console;
use crate::contents::{self, Entry};
use crate::student_progress::{Outcome, State, StudentProgress};
use diagnostic::Failure;
use report::style::{Style, Tone};
use std::path::Path;

pub(super) fn run(workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let progress = StudentProgress::of(&workbook);
    console::print(&page(&progress, &contents::entries(&workbook), console::style()));
    Ok(())
}

/// The list as text for a terminal.
pub(super) fn page(progress: &StudentProgress<'_>, entries: &[Entry<'_>], style: Style) -> String {
    let width = entries.iter().map(|entry| entry.title.chars().count()).max().unwrap_or(0);
    let mut page = String::new();
    let mut part = None;
    let mut solved = 0;
    for Entry { puzzle, title, part: its_part } in entries {
        if part != its_part.as_ref() {
            part = its_part.as_ref();
            let heading = part.map_or("Other puzzles", String::as_str);
            let gap = if page.is_empty() { "" } else { "\n" };
            page.extend([gap, &style.paint(Tone::Strong, heading), "\n"]);
        }
        let state = progress.state(puzzle);
        solved += usize::from(state.is_solved());
        page.extend([&line(puzzle.number, title, width, state, style), "\n"]);
    }
    let next = progress.next().map(|next| format!("; next: grader watch {}", next.number));
    format!("{page}\n{solved} of {} solved{}\n", entries.len(), next.unwrap_or_default())
}

/// The line of a puzzle, whose title is padded to `width` characters.
pub(super) fn line(number: u32, title: &str, width: usize, state: State, style: Style) -> String {
    let shown = style.paint(tone(state), state.name());
    let detail = state.detail();
    let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
    let detail = style.paint(Tone::Faint, &detail);
    format!("  {number:02}  {title:<width$}  {shown}{detail}")
}

fn tone(state: State) -> Tone {
    match state {
        State::NotTried => Tone::Faint,
        State::Graded(Outcome::Solved) => Tone::Good,
        State::Graded(_) => Tone::Bad,
        State::ChangedSince(_) => Tone::Warn,
    }
}
