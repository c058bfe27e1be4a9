//! The checks of races and of the order of blocks. Each observes a run through [`crate::machine::monitor::Monitor`].

pub(crate) mod block_conflicts;
mod clocks;
mod cluster_memory;
mod epochs;
pub(crate) mod global;
mod order;
pub(crate) mod races;
mod shared;
mod table;
