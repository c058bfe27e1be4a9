//! Evaluation: loop nests are run over data, with the error analysis of every element.
//!
//! - [`data`]: tensors, and sums under construction;
//! - [`iteration_space`]: the iterations of a nest, walked row by row;
//! - [`address`]: from subscripts to flat addresses, along a row;
//! - [`lanes`]: a stack machine that evaluates a body for many iterations at once;
//! - [`extremum`]: reductions that one iteration decides;
//! - [`fold`]: all reductions that are not sums;
//! - [`guards`]: which iterations of a row take part, where data decide it;
//! - [`nest_run`]: a nest with all that it reads;
//! - [`analysis`]: what is known of a nest's values beforehand;
//! - [`products`] and [`interpreter`]: the two ways to run a nest: a quick one for sums of products of exact data, and one for
//!   all nests;
//! - [`nest`]: which way, and in which order of the loops;
//! - [`parallel`]: the parts of a large statement, on all cores;
//! - [`slices`]: a tensor that is computed slice by slice;
//! - [`statement`], [`program`]: all nests of a statement, and all statements that a result needs;
//! - [`demand`]: which elements of intermediate tensors some elements of a result need;
//! - [`sampling`]: how far errors of intermediate tensors move a result, all paths together;
//! - [`cost`]: how much an evaluation takes, before it is done.

pub(crate) mod address;
pub(crate) mod analysis;
pub(crate) mod cost;
pub(crate) mod data;
pub(crate) mod demand;
pub(crate) mod extremum;
pub(crate) mod fold;
pub(crate) mod guards;
pub(crate) mod interpreter;
pub(crate) mod iteration_space;
pub(crate) mod lanes;
pub(crate) mod nest;
pub(crate) mod nest_run;
pub(crate) mod parallel;
pub(crate) mod products;
pub(crate) mod program;
pub(crate) mod sampling;
pub(crate) mod slices;
pub(crate) mod statement;
