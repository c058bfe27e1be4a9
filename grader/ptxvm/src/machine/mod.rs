//! The machine that runs a block: warps in lockstep, their registers, divergence, barriers and memory accesses.

pub(crate) mod block;
pub(crate) mod call_stack;
pub(crate) mod exec;
pub(crate) mod monitor;
pub(crate) mod sets;
pub(crate) mod simd;
pub(crate) mod spin;
pub(crate) mod subwarps;
pub(crate) mod warp;
