//! Findings beside the lines that made them. What a check of the virtual machine found has its words in `ptxvm::finding`; of
//! what other crates find, this module's files have them.

mod arrays;
mod gates;
mod gpu;
mod host;
mod refusal;
mod results;
mod streams;

use super::number::{count, number};
use super::style::Style;
use cpptext::statements;
use device::finding::{Check, Finding, Problem, SourceLoc};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use ptxvm::finding::Words;
use std::ops::Range;
use std::path::Path;

/// All findings of a program, one after another, each with a line of the program or of what it includes.
pub fn page(findings: &[Finding], file: &Path, source: &str, style: Style) -> String {
    let one = |finding: &Finding| {
        let included = finding.line.as_ref().filter(|line| !same_file(&line.file, file));
        let header = included.and_then(|line| {
            let path = Path::new(&*line.file);
            Some((path, std::fs::read_to_string(path).ok()?))
        });
        let diagnostic = match &header {
            Some((path, text)) => diagnostic(finding, path, text),
            None => diagnostic(finding, file, source),
        };
        diagnostic.render(style.colour) + "\n"
    };
    findings.iter().map(one).collect()
}

/// What each finding is, in one line. The source tells the sizes of arrays in shared memory.
pub fn titles(findings: &[Finding], source: &str) -> Vec<String> {
    findings.iter().map(|finding| words(finding, source).title).collect()
}

/// Title, the source line where it is in the judged file, and help.
pub(super) fn diagnostic(finding: &Finding, file: &Path, source: &str) -> Diagnostic {
    let Words { title, label, other, mut help } = words(finding, source);
    let mut marks = Vec::new();
    let place =
        |line: &SourceLoc| same_file(&line.file, file).then(|| span(source, line)).flatten();
    if let Some(line) = &finding.line {
        match place(line) {
            Some(span) => marks.push(Mark { span, label }),
            None => help.push(format!("at {}:{}", shown_file(&line.file), line.line)),
        }
    }
    if let Some((line, label)) = other {
        match place(&line) {
            Some(span) if !marks.is_empty() => marks.push(Mark { span, label }),
            _ => help.push(format!("{label}: {}:{}", shown_file(&line.file), line.line)),
        }
    }
    if let Some(thread) = finding.thread {
        let others = match finding.count {
            0 | 1 => String::new(),
            n => format!("; {} more such at this line", n - 1),
        };
        help.push(format!("first in {thread} of {}{others}", finding.kernel));
    }
    if let (Some(others), 2..) = (results::of_elements(&finding.problem), finding.count) {
        help.push(format!("{} {others}", count(finding.count as usize, "element")));
    }
    let source = (!marks.is_empty()).then(|| Source {
        path: file.to_path_buf(),
        text: source.to_owned(),
        marks,
    });
    Diagnostic { severity: Severity::Error, title, source, help }
}

/// What is said of a finding in a program of this source.
fn words(finding: &Finding, source: &str) -> Words {
    match &finding.problem {
        Problem::Check(kind) => {
            let mut kind = kind.clone();
            if let Some(array) = kind.shared_array() {
                (array.sizes, array.element) =
                    arrays::declared(source, &array.name, u64::from(array.bytes));
            }
            kind.words(&finding.site())
        }
        Problem::Host(fault) => host::words(fault),
        Problem::StreamRace(race) => streams::race(race),
        Problem::Refused(refusal) => refusal::words(*refusal, &finding.kernel),
        Problem::GuardOverwritten { place } => gpu::guard_overwritten(place),
        Problem::InputChanged { place } => gpu::input_changed(place),
        Problem::TimeOut { seconds } => gpu::time_out(*seconds),
        Problem::Driver { code, meaning } => gpu::driver(code, meaning),
        Problem::NotRepeatable { place, values } => results::not_repeatable(place, *values),
        Problem::Unwritten { place } => results::unwritten(place),
        Problem::UnmetRequirement { place, value, relation, bound, about, same } => {
            let title = results::unmet(place, *value, *relation, *bound);
            let words = with_about(title, about.as_ref());
            same.iter().fold(words, |words, (part, value)| {
                words.help(format!("all elements of {part} are {}", number(*value)))
            })
        }
        Problem::NotMeasurable { tensor, message } => results::not_measurable(tensor, message),
        Problem::OverGate { counter, tensor, spent, bound, relation, of_line, about } => {
            let words = gates::over(*counter, tensor.as_deref(), *spent, *bound, *relation);
            with_about(words, about.as_ref()).label(gates::at_line(*of_line))
        }
        Problem::Grader { message } => {
            Words::new(format!("the grader contradicts itself: {message}"))
                .help("this is a mistake of the grader, not yours: please report it")
        }
    }
}

/// Adds what the spec says about a bound.
fn with_about(words: Words, about: Option<&String>) -> Words {
    match about {
        Some(about) => words.help(about),
        None => words,
    }
}

/// Compilers see other paths than people do: the file's name decides.
fn same_file(seen: &str, judged: &Path) -> bool {
    Path::new(seen).file_name() == judged.file_name()
}

fn shown_file(seen: &str) -> String {
    let name = Path::new(seen).file_name();
    name.map_or_else(|| seen.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// From the column to the end of the expression that starts there. The whole line where the column is unknown.
fn span(source: &str, place: &SourceLoc) -> Option<Range<usize>> {
    let index = (place.line as usize).checked_sub(1)?;
    let line = source.split_inclusive('\n').nth(index)?;
    let start: usize = source.split_inclusive('\n').take(index).map(str::len).sum();
    let code = statements::without_comment(line).trim_end().trim_end_matches(';');
    let column = (place.column as usize)
        .checked_sub(1)
        .filter(|&column| code.is_char_boundary(column) && column < code.len());
    let Some(column) = column else {
        let text = line.trim_end();
        let indent = text.len() - text.trim_start().len();
        return Some(start + indent..start + text.len());
    };
    Some(start + column..start + column + statements::expression(&code[column..]))
}

#[cfg(test)]
mod tests;
