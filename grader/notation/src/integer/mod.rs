//! The meaning of integer expressions: their values, and analyses that need no values.
//!
//! - [`arithmetic`]: the operators on 64-bit integers;
//! - [`evaluate`]: the value of an expression, given the sizes and the indices;
//! - [`affine`]: expressions as `constant + Σ coefficient · index`, at fixed sizes;
//! - [`interval`]: an interval that holds all values over ranges of the indices;
//! - [`polynomial`]: normal forms over sizes, which prove two sizes equal at every value.

pub mod affine;
pub mod arithmetic;
pub mod evaluate;
pub mod interval;
pub mod polynomial;
