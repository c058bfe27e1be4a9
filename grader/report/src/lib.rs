//! Words and prints everything that the grader says of kernels. The only crate that does.
//!
//! A command tells a [`Reporter`] what happens; each format is one file that implements it, and a row of [`FORMATS`]. Beside these
//! stand the pages of [`explain`] and [`profile`], and the [`picture`]s of tensors.
//!
//! This crate decides nothing: it is given verdicts, findings and counts.

mod cause;
mod diff;
mod drawn;
mod expansion;
pub mod explain;
mod findings;
mod heatmap;
mod json;
pub mod junit;
mod number;
pub mod occupancy;
pub mod picture;
pub mod profile;
mod reporter;
pub mod style;
mod terms;
mod text;

pub use findings::{page as findings_page, titles as finding_titles};
pub use json::JsonReporter;
pub use junit::JunitReporter;
pub use reporter::{Compile, Reporter, RunInfo, Summary};
pub use text::TextReporter;

use std::io::Write;
use style::Style;

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
    pub reporter: fn(Box<dyn Write>, Style) -> Box<dyn Reporter>,
}

/// All output formats; the first one is the default.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        help: "Text for people",
        is_document: false,
        reporter: |to, style| Box::new(TextReporter::new(to, style)),
    },
    Format {
        name: "json",
        help: "One JSON document",
        is_document: true,
        reporter: |to, _| Box::new(JsonReporter::new(to)),
    },
    Format {
        name: "junit",
        help: "JUnit XML, for CI systems",
        is_document: true,
        reporter: |to, _| Box::new(JunitReporter::new(to)),
    },
];

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;
