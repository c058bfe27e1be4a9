//! A parser by recursive descent, in layers: each file uses those before it.
//!
//! - [`cursor`]: the tokens, what comes next, and how deep the recursion may go;
//! - [`integer`]: sizes and subscripts;
//! - [`bound`]: the indices of reductions, and their ranges;
//! - [`expression`]: real-valued expressions and conditions;
//! - [`statement`]: the statements of a formula.

pub(crate) mod bound;
pub(crate) mod cursor;
pub(crate) mod expression;
pub(crate) mod integer;
pub mod statement;
