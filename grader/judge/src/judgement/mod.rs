//! Decides whether a test passed. Pure functions from (case, run) to a verdict; no words, no printing.

mod cause;
mod compare;
mod details;
mod outputs;
mod repeat;
mod require;
mod trace;

pub use details::{element_to_trace, with_expansion, with_formula, with_provenance};
pub use outputs::{judge, with_causes};
pub use repeat::repeated;
pub use require::pictures;
