//! The provenance of values: a launch is run with each value carrying the sum of products that made it.

mod arena;
mod cells;
mod expand;
pub(crate) mod expansion;
mod follow;
mod narrow;
pub(crate) mod number;
mod registers;
pub(crate) mod replace;
pub(crate) mod rules;
pub(crate) mod tracker;
