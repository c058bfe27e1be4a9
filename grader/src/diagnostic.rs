//! A message that points into a text file: specs, kernels, findings. The only file that knows the renderer.

use std::ops::Range;
use std::path::PathBuf;

/// One message with the place it speaks of.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Colour and first word: `error`, `warning`.
    pub severity: Severity,
    /// One line, without a full stop.
    pub title: String,
    /// The text it points into, if any.
    pub source: Option<Source>,
    /// What would be right, or more to know; each a line.
    pub help: Vec<String>,
}

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Makes the command fail.
    Error,
    /// Does not.
    Warning,
}

/// A text and the places in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Shown as it is: make it relative to the workbook.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
    /// At least one; the first is the primary one.
    pub marks: Vec<Mark>,
}

/// A place and what to say there.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// May be empty.
    pub label: String,
}
