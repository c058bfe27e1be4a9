//! The terms of an element: the sum of products of input elements that it is.
//!
//! - [`point`]: the value of an expression at a single iteration;
//! - [`expansion`]: the terms. Where a value decides what an element is made of (a maximum, a `select`, an element that is a
//!   subscript), they are those of the branch that the data take.

pub(crate) mod expansion;
pub(crate) mod point;
