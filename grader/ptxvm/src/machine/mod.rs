//! The machine that runs a block: warps in lockstep, their registers, divergence, barriers and memory accesses.

pub(crate) mod async_copies;
pub(crate) mod block;
pub mod child_launch;
pub(crate) mod cluster;
pub(crate) mod exec;
pub(crate) mod group_reads;
pub(crate) mod mbarriers;
pub(crate) mod monitor;
pub(crate) mod polled_words;
pub(crate) mod registers;
pub(crate) mod simd;
pub(crate) mod warp;
