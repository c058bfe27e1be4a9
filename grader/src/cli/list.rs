//! The command `grader list`.

use super::console;
use crate::contents::{self, Entry, Outline};
use crate::student_progress::{Outcome, State, StudentProgress};
use crate::terminal;
use crate::terminal::text;
use diagnostic::Failure;
use report::style::{Style, Tone};
use std::path::Path;

/// The width of lines if the output is not a terminal.
const WIDTH: usize = 80;

/// What stands before a title: its number.
const INDENT: usize = 6;

/// Room behind the titles, for a blank and the state of a puzzle.
const STATE: usize = 15;

pub(super) fn run(workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let progress = StudentProgress::of(&workbook);
    console::print(&page(&progress, &contents::entries(&workbook), columns(), console::style()));
    Ok(())
}

/// The width of the list.
pub(super) fn columns() -> usize {
    terminal::size().map_or(WIDTH, |size| size.columns)
}

/// The list as text for a terminal of this width.
pub(super) fn page(
    progress: &StudentProgress<'_>,
    entries: &[Entry<'_>],
    columns: usize,
    style: Style,
) -> String {
    let longest = entries.iter().map(|entry| text::width(&entry.title)).max().unwrap_or(0);
    let width = longest.min(columns.saturating_sub(INDENT + STATE).max(STATE));
    let indented = |row: &String| format!("{:INDENT$}{row}\n", "");
    let mut page = String::new();
    let mut part = None;
    let mut solved = 0;
    for Entry { puzzle, title, part: its_part, outline } in entries {
        if part != its_part.as_ref() {
            part = its_part.as_ref();
            let heading = part.map_or("Other puzzles", String::as_str);
            let gap = if page.is_empty() { "" } else { "\n" };
            page.extend([gap, &style.paint(Tone::Strong, heading), "\n"]);
        }
        let state = progress.state(puzzle);
        solved += usize::from(state.is_solved());
        let rows = text::wrap(title, width);
        let (first, others) = rows.split_first().map_or((title, &[][..]), |rows| rows);
        let beside = line(puzzle.number, first, width, state, style);
        let fits = text::width(&beside) <= columns;
        page.extend([
            &if fits { beside } else { short_line(puzzle.number, first, width, state, style) },
            "\n",
        ]);
        page.extend(others.iter().map(indented));
        page.extend((!fits).then(|| indented(&style.paint(Tone::Faint, &state.detail()))));
        if let Some(Outline { learnt, time }) = outline {
            let rows = text::wrap(&format!("{time}: {learnt}"), columns.saturating_sub(INDENT));
            page.extend(rows.iter().map(|row| indented(&style.paint(Tone::Faint, row))));
        }
    }
    let next = progress.next().map(|next| format!("; next: grader watch {}", next.number));
    format!("{page}\n{solved} of {} solved{}\n", entries.len(), next.unwrap_or_default())
}

/// The line of a puzzle, whose title is padded to `width` characters.
pub(super) fn line(number: u32, title: &str, width: usize, state: State, style: Style) -> String {
    let detail = state.detail();
    let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
    short_line(number, title, width, state, style) + &style.paint(Tone::Faint, &detail)
}

/// The line of a puzzle without the details of its state.
fn short_line(number: u32, title: &str, width: usize, state: State, style: Style) -> String {
    format!("  {number:02}  {title:<width$}  {}", style.paint(tone(state), state.name()))
}

fn tone(state: State) -> Tone {
    match state {
        State::NotTried => Tone::Faint,
        State::Graded(Outcome::Solved) => Tone::Good,
        State::Graded(_) => Tone::Bad,
        State::ChangedSince(_) => Tone::Warn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::workbook::Workbook;

    /// The workbook's own list keeps within 60 and 80 columns, whatever the student's progress, and says of each puzzle what it
    /// teaches.
    #[test]
    fn lines_fit_and_puzzles_are_outlined() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workbook = Workbook::open(&root).unwrap();
        let entries = contents::entries(&workbook);
        let kept = tempfile::tempdir().unwrap();
        let progress = StudentProgress::kept_in(&workbook, kept.path());
        let fails = Outcome::Fails { passed: 10, total: 23 };
        for (puzzle, other) in
            workbook.puzzles().iter().zip(workbook.puzzles().iter().skip(1)).skip(5)
        {
            progress.record(puzzle, &progress.fingerprint(other).unwrap(), fails);
        }
        assert!(entries.iter().all(|entry| entry.outline.is_some() && entry.part.is_some()));
        for columns in [60, 80] {
            let page = page(&progress, &entries, columns, Style { colour: false, unicode: false });
            let long: Vec<&str> = page.lines().filter(|l| text::width(l) > columns).collect();
            assert!(long.is_empty(), "{long:?}");
            assert!(page.contains("      30 min: threads, blocks, the guard\n"), "{page}");
            assert!(page.contains("then: 10 of 23 tests passed"), "{page}");
        }
    }
}
