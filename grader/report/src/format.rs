//! The output formats of `grader puzzle`: each is a module that implements [`Reporter`], and a row of [`FORMATS`].

pub(crate) mod json;
pub mod junit;
mod text;

pub use json::JsonReporter;
pub use junit::JunitReporter;
pub use text::TextReporter;

use crate::reporter::Reporter;
use crate::style::Style;
use std::io::Write;

/// Creates a reporter that writes to a stream, which has so many columns if it is a terminal.
pub type NewReporter = fn(Box<dyn Write>, Style, Option<usize>) -> Box<dyn Reporter>;

/// An output format of `grader puzzle`.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description in the help.
    pub help: &'static str,
    /// True if its output is one document, which must also hold the failure of a run.
    pub is_document: bool,
    /// Creates a reporter that writes this format.
    pub reporter: NewReporter,
}

/// All output formats; the first one is the default.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        help: "Text for people",
        is_document: false,
        reporter: |to, style, columns| Box::new(TextReporter::new(to, style).within(columns)),
    },
    Format {
        name: "json",
        help: "One JSON document",
        is_document: true,
        reporter: |to, _, _| Box::new(JsonReporter::new(to)),
    },
    Format {
        name: "junit",
        help: "JUnit XML, for CI systems",
        is_document: true,
        reporter: |to, _, _| Box::new(JunitReporter::new(to)),
    },
];
