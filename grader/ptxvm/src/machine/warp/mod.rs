//! A warp: its lanes, their divergence, calls, and how they wait for each other.

pub(crate) mod call_stack;
pub(crate) mod moving;
pub(crate) mod spin;
mod spinning;
pub(crate) mod split;
pub(crate) mod state;
pub(crate) mod subwarp;
mod subwarps;
