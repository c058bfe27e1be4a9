//! Executes the instructions of one warp.

mod atomics;
pub(crate) mod barrier;
mod calls;
mod copies;
mod heap;
mod matrix;
mod mbarrier;
mod memory;
mod poison;
mod printf;
pub(crate) mod run;
pub(crate) mod state;
mod subwarp_scheduler;
mod warp_sync;
mod warpops;
