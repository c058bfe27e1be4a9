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
    /// The command that prints the complete page.
    command: String,
    note: String,
}

impl Screen {
    pub fn new(single_keys: bool, style: Style) -> Self {
        let (page, command, note) = (String::new(), String::new(), String::new());
        Self { single_keys, style, page, command, note }
    }

    /// Says that grading has started.
    pub fn grading(&self, puzzle: &Puzzle) {
        if self.single_keys {
            console::print(&format!("\r\u{1b}[Kgrading puzzle {} ...", puzzle.number));
        } else {
            console::print(&format!("--- puzzle {}\n", puzzle.number));
        }
    }

    /// The width of the terminal in characters.
    pub fn columns(&self) -> usize {
        if self.single_keys { size().1 } else { usize::MAX }
    }

    /// Shows a page in place of the last one, with `note` beside the keys. `command` prints the page outside of `watch`.
    pub fn show(&mut self, page: &str, command: &str, note: &str) {
        page.clone_into(&mut self.page);
        command.clone_into(&mut self.command);
        note.clone_into(&mut self.note);
        self.again();
    }

    /// Shows the page again.
    pub fn again(&self) {
        console::print(&if self.single_keys {
            let (rows, columns) = size();
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
            let note = format!("and {more} more lines: `{}` shows them", self.command);
            page.push_str(&self.style.paint(Tone::Faint, &note));
            page.push('\n');
        }
        let gap = if self.note.is_empty() { "" } else { "   " };
        let footer = format!("{KEYS}{gap}{}", self.note);
        let footer: String = footer.chars().take(columns.saturating_sub(1)).collect();
        format!("{CLEAR}{page}\n{}", self.style.paint(Tone::Faint, &footer))
    }
}

/// The rows and columns of the terminal. If they are unknown, everything is shown and scrolls.
fn size() -> (usize, usize) {
    terminal::size().unwrap_or((usize::MAX, 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_never_higher_than_the_terminal() {
        let mut screen = Screen::new(true, Style::PLAIN);
        screen.page = (0..40).map(|i| format!("line {i}")).collect::<Vec<_>>().join("\n");
        screen.command = "grader puzzle 10".into();
        screen.note = "graded in 0.20 s".into();
        let sheet = screen.sheet(12, 80);
        assert_eq!(sheet.lines().count(), 11);
        assert!(sheet.starts_with(CLEAR) && sheet.contains("line 0\n"));
        assert!(
            sheet.contains("line 7\nand 32 more lines: `grader puzzle 10` shows them"),
            "{sheet}"
        );
        assert!(sheet.ends_with("q quit   graded in 0.20 s"));
        assert!(screen.sheet(60, 80).contains("line 39\n\nh hint"));
        assert!(screen.sheet(1, 10).lines().last().unwrap().len() < 10);
    }
}
