//! Times the kernels of a puzzle or of a ladder on a GPU, beside the solution, the puzzle that it improves on and the vendor's
//! library. Without a GPU the virtual machine counts what they cost, and a model bounds the time from below.
//!
//! ```text
//! subject (spec, files) ─► plan ─► job ──socket──► gpu: child ─► samples, outputs
//!                            └──► check (formula) ◄────────────────────┘
//! subject ─► counters (virtual machine)
//!           both ─► outcome ─► report, roofline, JSON, compare
//! ```
//!
//! A kernel is right before it has a time: it passes the tests, and its outputs are compared with the formula in the very runs that
//! are timed. Every run has new data, at the same addresses, so that results kept from an earlier run are wrong.

mod check;
mod compare;
mod counters;
#[cfg(test)]
mod examples;
mod gate;
mod gpu;
mod job;
mod model;
mod outcome;
mod plan;
mod report;
mod roofline;
mod run;
mod statistics;
mod subject;
mod values;

pub use compare::compare;
pub use gpu::{CHILD_COMMAND, child_main};
pub use outcome::{GateVerdict, Outcome, SizeOutcome};
pub use report::{changes, page, points};
pub use roofline::svg;
pub use run::{Settings, run};
pub use subject::{Subject, ladders};
