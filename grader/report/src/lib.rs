//! Words and prints everything that the grader says of kernels. The only crate that does.
//!
//! A command tells a [`Reporter`] what happens; each format is a module that implements it, and a row of [`FORMATS`]. Beside these
//! stand the pages of [`explain`] and [`profile`], and the [`picture`]s of tensors.
//!
//! This crate decides nothing: it is given verdicts, findings and counts.

mod calls;
mod cause;
mod circumstances;
mod diff;
mod drawn;
mod expansion;
pub mod explain;
mod findings;
mod format;
mod heatmap;
mod inputs;
mod number;
pub mod occupancy;
pub mod picture;
pub mod profile;
mod reporter;
pub mod style;
mod terms;

pub use findings::{page as findings_page, titles as finding_titles};
pub use format::{FORMATS, Format, JsonReporter, JunitReporter, TextReporter, junit};
pub use reporter::{Compile, Reporter, RunInfo, Summary};

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests;
