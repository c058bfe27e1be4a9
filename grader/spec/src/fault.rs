//! A mistake in a spec with its places, before the file's name is known.

use super::quoted::inner_span;
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use std::ops::Range;
use std::path::Path;

/// A mistake in a spec with its places in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    title: String,
    /// The places; the first one is the primary one.
    marks: Vec<Mark>,
    help: Vec<String>,
}

/// The result of a function that reads a part of a spec.
pub type Checked<T> = Result<T, Fault>;

impl Fault {
    /// A mistake at `span`; `title` is a lower-case fragment that says what is wrong.
    pub fn at(span: Range<usize>, title: impl Into<String>) -> Self {
        let marks = vec![Mark { span, label: String::new() }];
        Self { title: title.into(), marks, help: Vec::new() }
    }

    /// An error of `indexmath` inside a string of the spec, whose literal with its quotes is at `value` in `text`.
    pub fn math(text: &str, value: &Range<usize>, error: indexmath::Error) -> Self {
        // An error without a place is about the whole text.
        let place = if error.span == indexmath::Span::default() {
            value.clone()
        } else {
            inner_span(text, value, &(error.span.start..error.span.end))
        };
        let fault = Self::at(place, error.message);
        error.help.into_iter().fold(fault, Self::help)
    }

    /// The range of the primary place.
    pub(crate) fn place(&self) -> Option<&Range<usize>> {
        self.marks.first().map(|mark| &mark.span)
    }

    /// Sets the text at the primary place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        if let Some(mark) = self.marks.first_mut() {
            mark.label = label.into();
        }
        self
    }

    /// Adds another place with its own text.
    #[must_use]
    pub fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.marks.push(Mark { span, label: label.into() });
        self
    }

    /// Adds a line that says how to fix the mistake.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Suggests the known name nearest to `name`; if none is near, lists all.
    pub(crate) fn suggest<'a>(
        self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        what: &str,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        if let Some(near) = nearest(name, &known) {
            return self.help(format!("did you mean `{near}`?"));
        }
        let list: Vec<String> = known.iter().take(20).map(|k| format!("`{k}`")).collect();
        match list.len() {
            0 => self,
            1 => self.help(format!("the only {what} is {}", list[0])),
            _ => self.help(format!("the {what}s are {}", list.join(", "))),
        }
    }

    /// Converts the mistake into a failure. A place that spans several lines (a whole table) is cut to the first.
    pub fn in_file(mut self, path: &Path, text: &str) -> Failure {
        for mark in &mut self.marks {
            let end = mark.span.end.min(text.len());
            if let Some(shown) = text.as_bytes().get(mark.span.start..end)
                && let Some(line_end) = shown.iter().position(|&b| b == b'\n' || b == b'\r')
            {
                mark.span.end = mark.span.start + line_end;
            }
        }
        let source = Source { path: path.to_path_buf(), text: text.to_owned(), marks: self.marks };
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            title: self.title,
            source: Some(source),
            help: self.help,
        };
        Failure::at(FailureKind::Usage, diagnostic)
    }
}

/// The known name that `name` may be a misspelling of.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|&k| (if k.eq_ignore_ascii_case(name) { 0 } else { distance(name, k) }, k))
        .filter(|&(d, k)| d <= allowed && d < k.chars().count())
        .min_by_key(|&(d, _)| d)
        .map(|(_, k)| k)
}

/// The number of single-character edits and swaps of neighbours (optimal string alignment) between two short names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().max(b.len()) > 64 {
        return usize::MAX;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("filter", &["input", "filters"]), Some("filters"));
        assert_eq!(nearest("h_out", &["W_out", "H_out"]), Some("H_out"));
        assert_eq!(nearest("titel", &["needs", "title"]), Some("title"));
        assert_eq!(nearest("bias", &["input", "filters"]), None);
        assert_eq!(nearest("K", &["H", "W"]), None);
    }

    #[test]
    fn distances_count_edits_and_swaps() {
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
