//! Executes the instructions of one warp.

mod atomics;
pub(crate) mod barrier;
mod calls;
mod copies;
mod heap;
mod matrix;
mod mbarrier;
mod meet;
mod memory;
mod printf;
mod quiet;
pub(crate) mod run;
pub(crate) mod state;
mod turns;
mod warpops;
