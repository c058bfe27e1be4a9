//! The workbook and its puzzles: from a spec in TOML to cases that are ready to run.
//!
//! ```text
//! workbook ─► spec (TOML, checked) ─► oracle (formula, data, bounds) ─► case
//! ```
//!
//! [`workbook`] finds the files of a puzzle, [`spec`](mod@spec) reads and checks its TOML file (both are the crate `spec`), and [`oracle`] draws the inputs,
//! computes the expected values in `f64` and bounds the rounding error of a correct kernel. What comes out is a
//! [`case::Case`]: sizes, tensors and launches; [`comparison`] says whether elements are right. [`draw`] makes further cases, of sizes and data that no test names.
//!
//! This crate knows no CUDA beyond the names and arguments of kernels: it neither compiles nor runs anything.

pub mod case;
pub mod comparison;
pub mod draw;
pub mod oracle;
pub mod rng;

#[path = "../../spec/src/fixture.rs"]
#[cfg(test)]
mod fixture;

// Who uses puzzles needs what they are made of, too.
pub use spec::{counter, relation, workbook};
pub use {spec, tensor};
