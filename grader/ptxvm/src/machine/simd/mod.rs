//! Code that is compiled for several SIMD instruction sets, and the choice of one at run time.

pub(crate) mod arith;
pub(crate) mod dispatch;
pub(crate) mod lane_indices;
pub(crate) mod movemask;
pub(crate) mod products;
pub(crate) mod sets;
pub(crate) mod shadow_words;
