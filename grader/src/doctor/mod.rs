//! What the grader finds on this machine, and how to mend what is missing.

mod check;
mod examine;
mod page;

pub use check::{Check, State};
pub use examine::{examine, healthy};
pub use page::page;
