//! Checks the chapter: it exists, is in the book's summary, its includes resolve, and it has three hints.

use super::item::Item;
use crate::chapter;
use puzzle::workbook::{Puzzle, Workbook};

pub fn check(workbook: &Workbook, puzzle: &Puzzle) -> Item {
    let shown = workbook.relative(&puzzle.chapter).display();
    let mut problems = Vec::new();
    match std::fs::read_to_string(&puzzle.chapter) {
        Err(e) => problems.push(format!("cannot read {shown}: {e}")),
        Ok(text) => {
            for level in 1..=chapter::LEVELS {
                if let Err(failure) = chapter::hint(workbook, puzzle, level) {
                    problems.push(failure.render(false));
                }
            }
            for target in chapter::broken_includes(&text, &puzzle.chapter) {
                problems.push(format!("{shown} includes {target}, which does not exist"));
            }
        }
    }
    let summary = workbook.root().join("book").join("src").join("SUMMARY.md");
    let listed = std::fs::read_to_string(summary)
        .is_ok_and(|text| text.contains(&format!("({}.md)", puzzle.stem)));
    if !listed {
        problems.push(format!("book/src/SUMMARY.md has no line for {}.md", puzzle.stem));
    }
    Item::new(
        "chapter",
        format!("in the summary, {} hints, includes resolve", chapter::LEVELS),
        problems,
    )
}
