//! The words of `grader explain`.

use super::diff::should_be;
use super::expansion::{self, Most};
use super::number::{count, number};
use super::style::{Style, Tone};
use crate::findings;
use crate::format::json;
use judge::explain::{Comparison, Explanation};
use serde_json::json;
use std::path::Path;

/// Products that are listed.
const MOST: Most = Most { wrong: 40, correct: 40 };

/// The kernel that is explained.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Number of the puzzle.
    pub puzzle: u32,
    /// The puzzle's title.
    pub title: &'a str,
    /// The file, as it shall be shown.
    pub file: &'a Path,
    /// The contents of the file.
    pub source: &'a str,
}

/// The explanation for people.
pub fn page(subject: Subject, explanation: &Explanation, style: Style) -> String {
    let title = format!("Puzzle {}: {}", subject.puzzle, subject.title);
    let facts =
        format!("{}; test {}; seed {}", subject.file.display(), explanation.test, explanation.seed);
    let mut lines =
        vec![style.paint(Tone::Strong, &title), style.paint(Tone::Faint, &facts), String::new()];
    for finding in &explanation.findings {
        let worded = findings::diagnostic(finding, subject.file, subject.source);
        lines.push(format!("{} {}", style.paint(Tone::Bad, "also:"), worded.title));
    }
    lines.extend(element_lines(subject, explanation, style));
    lines.push(String::new());
    lines.push(whole(&explanation.all, style));
    lines.join("\n") + "\n"
}

fn element_lines(subject: Subject, explanation: &Explanation, style: Style) -> Vec<String> {
    let element = explanation.tensor.element_name(explanation.flat);
    let values = match explanation.got {
        Some(got) if explanation.correct => {
            let chance = explanation.terms.as_ref().is_some_and(|terms| !terms.equal());
            let how = if chance {
                "the expected value, but from other products"
            } else {
                "which is correct"
            };
            format!("{element} is {}, {how}", number(got))
        }
        got => should_be(&element, explanation.expected, got),
    };
    let Some(terms) = &explanation.terms else {
        let why = if explanation.got.is_some() {
            vec![
                "    its terms are unknown: it is not a sum of products, it has too many of them,"
                    .into(),
                "    or the kernel does something that the grader cannot follow".into(),
            ]
        } else {
            Vec::new()
        };
        return [vec![values], why].concat();
    };
    let by = format!("written by {}", terms.writer);
    let mut lines = vec![values, style.paint(Tone::Faint, &format!("    {by}"))];
    lines.extend(expansion::lines(terms, style, MOST));
    lines.extend(expansion::place(terms, subject.source, style));
    lines
}

/// What the comparison of all elements says.
fn whole(all: &Comparison, style: Style) -> String {
    let Comparison { equal, different, unknown, general } = *all;
    let total = equal + different + unknown;
    if all.proves() {
        let which = match total {
            1 => "the element of this test is".into(),
            _ => format!("all {total} elements of this test are"),
        };
        let text = format!(
            "{which} equal as polynomials to the formula:\n\
             correct for every input of these sizes, up to rounding"
        );
        return style.paint(Tone::Good, &text);
    }
    if different == 0 && unknown == 0 {
        debug_assert!(!general);
        return format!(
            "{} equal to the formula for these inputs; with other values, the kernel or the \
             formula may take another path",
            count(total, "element")
        );
    }
    if unknown == total {
        return "no element of this test could be compared with the formula".into();
    }
    let rest =
        if unknown == 0 { String::new() } else { format!(", {unknown} could not be compared") };
    format!(
        "{different} of {} differ from the formula as polynomials{rest}",
        count(total, "element")
    )
}

/// The explanation as JSON.
pub fn document(subject: Subject, explanation: &Explanation) -> String {
    let Comparison { equal, different, unknown, .. } = explanation.all;
    let document = json!({
        "schema_version": json::SCHEMA_VERSION,
        "puzzle": subject.puzzle,
        "file": subject.file.display().to_string(),
        "test": explanation.test,
        "seed": explanation.seed,
        "tensor": explanation.tensor.name,
        "element": explanation.tensor.coords(explanation.flat),
        "expected": json::Number(explanation.expected),
        "got": explanation.got.map(json::Number),
        "comparison": explanation.terms.as_ref().map(json::compared),
        "elements": {
            "equal": equal,
            "different": different,
            "unknown": unknown,
            "equal_for_every_input": explanation.all.proves(),
        },
    });
    format!("{document:#}\n")
}
