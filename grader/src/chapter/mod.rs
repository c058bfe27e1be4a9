//! The hints of a puzzle's chapter, for a terminal.
//!
//! A chapter has three, each a `<details>` block whose `<summary>` says "Hint 1 (mild): what it is about". They stay in
//! the chapter, so that the book and the grader cannot disagree.

mod include;
mod markdown;
mod math;

use diagnostic::{Failure, FailureKind, visible};
use puzzle::workbook::{self, Puzzle, Workbook};
use report::style::Style;
use std::path::Path;

/// The number of hints in a chapter.
pub const LEVELS: u8 = 3;

/// A hint of a chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Its strength: 1 is mild, 3 gives nearly everything away.
    pub level: u8,
    /// Its summary, such as "Hint 1 (mild): which loops there are".
    pub title: String,
    /// Its text as Markdown, with the included code in place.
    body: String,
}

impl Hint {
    /// The text in lines of at most `width` characters except for code, with a line break at the end.
    pub fn render(&self, style: Style, width: usize) -> String {
        markdown::render(&self.body, style, width)
    }
}

/// The hint with this level.
///
/// # Errors
/// There is no chapter, or the chapter has no such hint.
pub fn hint(workbook: &Workbook, puzzle: &Puzzle, level: u8) -> Result<Hint, Failure> {
    let shown = workbook.relative(&puzzle.chapter).display();
    let failure = |title, help: &str| Failure::new(FailureKind::Usage, title, help);
    let chapter = workbook::read_text(&puzzle.chapter).map_err(|e| {
        let title = format!("cannot read the chapter `{shown}`: {e}");
        failure(title, "the hints are in the chapter of the puzzle")
    })?;
    let mut found = hints(&chapter).into_iter();
    let Some(mut hint) = found.find(|hint| hint.level == level) else {
        let title = format!("`{shown}` has no hint {level}");
        return Err(failure(
            title,
            "a hint is a <details> block with a <summary>Hint 1: ...</summary>",
        ));
    };
    if let Some(folder) = puzzle.chapter.parent() {
        hint.body = visible(&include::resolve(&hint.body, folder));
    }
    Ok(hint)
}

/// The targets of `{{#include ...}}` in a chapter's text that cannot be read.
pub fn broken_includes(text: &str, chapter: &Path) -> Vec<String> {
    let folder = chapter.parent().unwrap_or(Path::new(""));
    include::targets(text)
        .filter(|target| include::included(target, folder).is_none())
        .map(str::to_owned)
        .collect()
}

fn hints(chapter: &str) -> Vec<Hint> {
    let blocks = chapter.split("<details").skip(1);
    blocks.filter_map(|block| read(block.split("</details>").next()?)).collect()
}

/// Reads a hint from the text between `<details` and `</details>`.
fn read(block: &str) -> Option<Hint> {
    let (_, rest) = block.split_once("<summary>")?;
    let (title, body) = rest.split_once("</summary>")?;
    let number = title.trim().strip_prefix("Hint ")?;
    let level = number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some(Hint { level, title: visible(title.trim()), body: body.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_details_are_hints() {
        let chapter = "\
<details class=\"solution\">\n<summary>Show the solution</summary>\nall\n</details>
<details>\n<summary>Hint 2 (medium): b</summary>\n\nsecond\n\n</details>
text\n<details>\n<summary>Hint 1: a</summary>first</details>\n<details><summary>Hint</summary>";
        let hints: Vec<_> =
            hints(chapter).into_iter().map(|hint| (hint.level, hint.title, hint.body)).collect();
        let expected = [(2, "Hint 2 (medium): b", "second"), (1, "Hint 1: a", "first")];
        assert_eq!(hints, expected.map(|(level, t, b)| (level, t.to_owned(), b.to_owned())));
    }
}
