//! Words and prints everything that the grader says of kernels. The only crate that does.
//!
//! A command tells a [`Reporter`] what happens; each format (text, JSON, `JUnit`) is one file that implements it. Beside these
//! stand the pages of [`explain`] and [`profile`], and the [`picture`]s of tensors.
//!
//! This crate decides nothing: it is given verdicts, findings and counts.

mod cause;
mod diff;
mod expansion;
pub mod explain;
mod findings;
mod heatmap;
mod host;
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

pub use findings::page as findings_page;
pub use json::JsonReporter;
pub use junit::JunitReporter;
pub use reporter::{Compile, Reporter, RunInfo, Summary};
pub use text::TextReporter;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;
