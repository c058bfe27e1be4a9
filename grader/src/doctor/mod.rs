//! Checks what the grader needs on this machine, and says how to fix what is missing.

mod check;
mod examine;
mod page;

pub use check::{Check, State};
pub use examine::{examine, healthy};
pub use page::page;
