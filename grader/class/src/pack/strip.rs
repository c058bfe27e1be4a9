//! Takes the solutions out of chapters.

use super::read;
use diagnostic::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What stands where a part of a solution was.
const LEFT_OUT: &str = "// left out of this workbook";

/// The pages that explain the machine and the tools, for every class.
const PAGES: [&str; 5] = ["machine_", "getting_started", "glossary", "profiling", "programs"];

/// The chapters of these puzzles, the pages for everybody, their figures, and a summary that lists them: by their paths in the
/// workbook.
pub(super) fn chapters<'a>(
    book: &Path,
    stems: impl Iterator<Item = &'a String>,
) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let summary = String::from_utf8_lossy(&read(&book.join("SUMMARY.md"))?).into_owned();
    let mut pages: BTreeSet<String> = stems.map(|stem| format!("{stem}.md")).collect();
    let everybody = |page: &&str| PAGES.iter().any(|start| page.starts_with(start));
    pages.extend(links(&summary).filter(everybody).map(str::to_owned));
    let mut files = BTreeMap::new();
    for page in &pages {
        let text = String::from_utf8_lossy(&read(&book.join(page))?).into_owned();
        let text = without_solutions(&text);
        for figure in figures(&text) {
            if let Ok(bytes) = read(&book.join(&figure)) {
                files.insert(format!("book/src/{figure}"), bytes);
            }
        }
        files.insert(format!("book/src/{page}"), text.into_bytes());
    }
    let listed = |line: &&str| links(line).next().is_none_or(|page| pages.contains(page));
    let summary: Vec<&str> = summary.lines().filter(listed).collect();
    files.insert("book/src/SUMMARY.md".to_owned(), (summary.join("\n") + "\n").into_bytes());
    Ok(files)
}

/// The pages that a text links to.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|page| Path::new(page).extension().is_some_and(|end| end == "md"))
}

/// The figures that a page shows, which are plain names in the folder of figures.
fn figures(text: &str) -> Vec<String> {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    let name = |rest: &str| rest.chars().take_while(plain).collect::<String>();
    let names = text.split("figures/").skip(1).map(name);
    names
        .filter(|name| name.contains('.') && !name.starts_with('.'))
        .map(|name| format!("figures/{name}"))
        .collect()
}

/// A chapter without the section of the solution, and without what its hints quote of solutions.
fn without_solutions(text: &str) -> String {
    let mut out = String::new();
    let mut inside = 0;
    for line in text.lines() {
        let opens = line.matches("<details").count();
        if inside == 0 && line.contains("<details class=\"solution\"") {
            inside = 1;
            out.push_str("It is left out of this workbook.\n");
            continue;
        }
        if inside > 0 {
            inside = (inside + opens).saturating_sub(line.matches("</details>").count());
            continue;
        }
        let quotes = line.contains("solutions/") && line.contains("{{#");
        out.push_str(if quotes { LEFT_OUT } else { line });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_solution_stays() {
        let text = "# T\n<details>\nHint\n```cuda\n{{#include ../../solutions/10_a.cu:sum}}\n```\n</details>\n\
                    <details class=\"solution\">\n<details>\ninner\n</details>\nsecret\n</details>\nend\n";
        let students = without_solutions(text);
        assert_eq!(
            students,
            format!(
                "# T\n<details>\nHint\n```cuda\n{LEFT_OUT}\n```\n</details>\nIt is left out of this workbook.\nend\n"
            )
        );
    }

    #[test]
    fn figures_are_found_by_their_names() {
        let text = "![a](figures/a_b.svg) {{#include figures/c-1.svg}} figures/../../x";
        assert_eq!(figures(text), ["figures/a_b.svg", "figures/c-1.svg"]);
    }
}
