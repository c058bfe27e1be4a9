//! The words of `grader profile` and `grader run --profile`.

mod advice;
mod annotated_source;
mod fit;
mod program;

pub use fit::Fit;
pub use program::{ProgramSubject, program_document, program_page};

use super::explain::Subject;
use super::style::{Style, Tone};
use crate::format::json::SCHEMA_VERSION;
use annotated_source::{AnnotatedSource, legend};
use ptxvm::Counters;
use puzzle::case::Case;
use serde_json::{Map, Value};

fn annotated_source<'a>(
    subject: Subject<'a>,
    case: &'a Case,
    counters: &'a Counters,
    fits: &'a [Fit],
) -> AnnotatedSource<'a> {
    AnnotatedSource { file: subject.file, source: subject.source, counters, fits, case: Some(case) }
}

/// The table for people.
pub fn page(
    subject: Subject,
    case: &Case,
    counters: &Counters,
    fits: &[Fit],
    style: Style,
) -> String {
    let source = annotated_source(subject, case, counters, fits);
    let title = format!("Puzzle {}: {}", subject.puzzle, subject.title);
    let facts = format!("{}; test {}", subject.file.display(), case.test);
    let mut lines =
        vec![style.paint(Tone::Strong, &title), style.paint(Tone::Faint, &facts), String::new()];
    lines.extend(source.lines(style));
    lines.push(String::new());
    lines.extend(legend(style));
    lines.extend(source.end(style));
    lines.join("\n") + "\n"
}

/// The profile as a JSON document.
pub fn document(subject: Subject, case: &Case, counters: &Counters, fits: &[Fit]) -> String {
    let mut document: Map<String, Value> = Map::from_iter([
        ("schema_version".to_owned(), SCHEMA_VERSION.into()),
        ("puzzle".to_owned(), subject.puzzle.into()),
        ("test".to_owned(), case.test.clone().into()),
    ]);
    document.extend(annotated_source(subject, case, counters, fits).document());
    format!("{:#}\n", Value::Object(document))
}
