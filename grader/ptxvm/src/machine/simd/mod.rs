//! What is compiled for several sets of vector instructions, and the choice of one at run time.

pub(crate) mod arith;
pub(crate) mod dispatch;
pub(crate) mod lane_indices;
pub(crate) mod sets;
pub(crate) mod shadow_words;
