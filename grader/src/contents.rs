//! The workbook's table of contents: the title of each puzzle, the part of the book that it belongs to, what it teaches and how
//! long it takes.

use diagnostic::visible;
use puzzle::workbook::{Puzzle, Workbook, read};
use serde::Deserialize;

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The puzzle that the entry leads to.
    pub puzzle: &'a Puzzle,
    /// Its title. If the spec cannot be read, the stem: a list must not fail because of one bad spec.
    pub title: String,
    /// The part of the book, if the book's summary names one.
    pub part: Option<String>,
    /// What the book's map says of it.
    pub outline: Option<Outline>,
}

/// What a reader wants to know before a puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// What the reader will have learnt.
    pub learnt: String,
    /// How long it takes, which says how hard it is: `1½ h`.
    pub time: String,
}

/// The entries of all puzzles of a workbook, sorted by number.
pub fn entries(workbook: &Workbook) -> Vec<Entry<'_>> {
    let page = |name: &str| {
        let path = workbook.root().join("book").join("src").join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let (summary, map) = (page("SUMMARY.md"), page("map.md"));
    let entry = |puzzle| Entry {
        puzzle,
        title: title(puzzle),
        part: part(&summary, puzzle),
        outline: outline(&map, puzzle),
    };
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
            return part.map(visible);
        }
    }
    None
}

/// The puzzle's row in the map's table: puzzle, what is learnt, what it needs, time.
fn outline(map: &str, puzzle: &Puzzle) -> Option<Outline> {
    let link = format!("({}.md)", puzzle.stem);
    let mut rows = map.lines().filter(|line| line.starts_with('|'));
    rows.find_map(|row| {
        let cells: Vec<&str> = row.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [first, learnt, _, time] = cells[..] else { return None };
        let (learnt, time) = (visible(learnt), visible(time));
        first.contains(&link).then_some(Outline { learnt, time })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_from_specs_parts_from_the_summary_and_outlines_from_the_map() {
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
        write(
            "book/src/map.md",
            "| Puzzle | You learn | Needs | Time |\n|---|---|---|---|\n\
             | [02](02_b.md) Second | threads, blocks | – | 30 min |\n| [03](03_c.md) | broken |\n",
        );
        let workbook = Workbook::open(dir.path()).unwrap();
        let outlines: Vec<_> = entries(&workbook).into_iter().map(|entry| entry.outline).collect();
        let second = Outline { learnt: "threads, blocks".to_owned(), time: "30 min".to_owned() };
        assert_eq!(outlines, [Some(second), None, None]);
        let shown: Vec<_> =
            entries(&workbook).into_iter().map(|entry| (entry.title, entry.part)).collect();
        let expected = [("Second", Some("Basics")), ("03_c", None), ("04_d", Some("More"))];
        let expected: Vec<_> =
            expected.map(|(title, part)| (title.to_owned(), part.map(str::to_owned))).into();
        assert_eq!(shown, expected);
    }
}
