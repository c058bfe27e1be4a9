//! The workbook's table of contents: the title of each puzzle, and the part of the book that it belongs to.

use diagnostic::visible;
use puzzle::workbook::{Puzzle, Workbook, read};
use serde::Deserialize;

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The puzzle.
    pub puzzle: &'a Puzzle,
    /// Its title. If the spec cannot be read, the stem: a list must not fail because of one bad spec.
    pub title: String,
    /// The part of the book, if the book's summary names one.
    pub part: Option<String>,
}

/// The entries of all puzzles of a workbook, sorted by number.
pub fn entries(workbook: &Workbook) -> Vec<Entry<'_>> {
    let summary = workbook.root().join("book").join("src").join("SUMMARY.md");
    let summary = std::fs::read_to_string(summary).unwrap_or_default();
    let entry = |puzzle| Entry { puzzle, title: title(puzzle), part: part(&summary, puzzle) };
    workbook.puzzles().iter().map(entry).collect()
}

/// The title in the puzzle's spec; the stem if the spec cannot be read.
pub fn title(puzzle: &Puzzle) -> String {
    #[derive(Deserialize)]
    struct Titled {
        title: String,
    }
    let text = String::from_utf8(read(&puzzle.spec).unwrap_or_default()).unwrap_or_default();
    let titled = toml::from_str::<Titled>(&text).ok();
    let title = titled.map(|titled| visible(titled.title.trim())).filter(|title| !title.is_empty());
    title.unwrap_or_else(|| puzzle.stem.clone())
}

/// The heading above the puzzle's chapter in the book's summary. The summary's own heading, the first one, does not
/// count.
fn part(summary: &str, puzzle: &Puzzle) -> Option<String> {
    let link = format!("({}.md)", puzzle.stem);
    let mut part = None;
    for line in summary.lines() {
        if let Some(heading) = line.strip_prefix("# ") {
            part = Some(heading.trim()).filter(|heading| *heading != "Summary");
        } else if line.contains(&link) {
            return part.map(str::to_owned);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_from_specs_and_parts_from_the_summary() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("solutions/notes", "");
        write("puzzles/02_b.toml", "title = \"Second\"\nmore = 1\n");
        write("puzzles/03_c.toml", "title = \n");
        write("puzzles/04_d.toml", "title = \" \"\n");
        write(
            "book/src/SUMMARY.md",
            "# Summary\n[Intro](i.md)\n# Basics\n- [02](02_b.md)\n\n# More\n- [04](04_d.md)\n",
        );
        let workbook = Workbook::open(dir.path()).unwrap();
        let shown: Vec<_> =
            entries(&workbook).into_iter().map(|entry| (entry.title, entry.part)).collect();
        let expected = [("Second", Some("Basics")), ("03_c", None), ("04_d", Some("More"))];
        let expected: Vec<_> =
            expected.map(|(title, part)| (title.to_owned(), part.map(str::to_owned))).into();
        assert_eq!(shown, expected);
    }
}
