//! The display of `grader watch`: one page at a time on a terminal, otherwise lines.

use super::super::console;
use crate::terminal;
use puzzle::workbook::Puzzle;
use report::style::{Style, Tone};

/// Clears the screen, but not what was scrolled away, and moves to the top (ECMA-48: ED 2, CUP).
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// The rows below a page: an empty one, the keys, and the row of the cursor.
const FOOTER: usize = 3;

const KEYS: &str = "h hint   n next   l list   r again   q quit";

pub(super) struct Screen {
    /// True if the terminal sends single keys, and pages replace each other.
    single_keys: bool,
    /// The colours and characters that stdout can show.
    pub style: Style,
    page: String,
    note: String,
}

impl Screen {
    pub fn new(single_keys: bool, style: Style) -> Self {
        Self { single_keys, style, page: String::new(), note: String::new() }
    }

    /// Says that grading has started.
    pub fn grading(&self, puzzle: &Puzzle) {
        if self.single_keys {
            console::print(&format!("\r\u{1b}[Kgrading puzzle {} ...", puzzle.number));
        } else {
            console::print(&format!("--- puzzle {}\n", puzzle.number));
        }
    }

    /// Shows a page in place of the last one, with `note` beside the keys.
    pub fn show(&mut self, page: &str, note: &str) {
        page.clone_into(&mut self.page);
        note.clone_into(&mut self.note);
        self.again();
    }

    /// Shows the page again.
    pub fn again(&self) {
        console::print(&if self.single_keys {
            // If the terminal's size is unknown, everything is shown and scrolls.
            let (rows, columns) = terminal::size().unwrap_or((usize::MAX, 80));
            self.sheet(rows, columns)
        } else if self.note.is_empty() {
            self.page.clone()
        } else {
            format!("{}{}\n", self.page, self.note)
        });
    }

    fn sheet(&self, rows: usize, columns: usize) -> String {
        let mut room = rows.saturating_sub(FOOTER);
        let (mut page, mut more) = terminal::fit(&self.page, room, columns);
        if more > 0 {
            room = room.saturating_sub(1);
            (page, more) = terminal::fit(&self.page, room, columns);
            let note = format!("and {more} more lines: `grader puzzle` shows them");
            page.push_str(&self.style.paint(Tone::Faint, &note));
            page.push('\n');
        }
        let gap = if self.note.is_empty() { "" } else { "   " };
        let footer = format!("{KEYS}{gap}{}", self.note);
        let footer: String = footer.chars().take(columns.saturating_sub(1)).collect();
        format!("{CLEAR}{page}\n{}", self.style.paint(Tone::Faint, &footer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_never_higher_than_the_terminal() {
        let mut screen = Screen::new(true, Style::PLAIN);
        screen.page = (0..40).map(|i| format!("line {i}")).collect::<Vec<_>>().join("\n");
        screen.note = "graded in 0.20 s".into();
        let sheet = screen.sheet(12, 80);
        assert_eq!(sheet.lines().count(), 11);
        assert!(sheet.starts_with(CLEAR) && sheet.contains("line 0\n"));
        assert!(sheet.contains("line 7\nand 32 more lines"), "{sheet}");
        assert!(sheet.ends_with("q quit   graded in 0.20 s"));
        assert!(screen.sheet(60, 80).contains("line 39\n\nh hint"));
        assert!(screen.sheet(1, 10).lines().last().unwrap().len() < 10);
    }
}
