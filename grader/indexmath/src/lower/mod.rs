//! Lowering: at fixed sizes, a program becomes loop nests over flat arrays.
//!
//! - [`nest`]: the loop nests and what they are made of. Evaluation reads nothing else;
//! - [`summands`]: the sums of a body that add to the result directly;
//! - [`bounds_check`]: the proof that subscripts stay inside their tensors;
//! - [`statement`]: the nests of a statement;
//! - [`program`]: the layouts of all tensors, the ranges of all indices, and all statements.

pub(crate) mod bounds_check;
pub(crate) mod nest;
pub(crate) mod program;
pub(crate) mod statement;
pub(crate) mod summands;
