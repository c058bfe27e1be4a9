//! A warp: its lanes, their divergence and reconvergence, their calls, and how they wait for each other.

pub(crate) mod call_stack;
pub(crate) mod poison;
pub(crate) mod simt_stack;
pub(crate) mod spin_detector;
mod spin_probe;
pub(crate) mod state;
pub(crate) mod subwarp;
mod subwarps;
