//! Executes the instructions of one warp.

mod atomics;
pub(crate) mod barrier;
mod bulk;
mod calls;
mod cluster;
mod copies;
mod heap;
mod launches;
mod matrix;
mod mbarrier;
mod memory;
mod poison;
mod printf;
pub(crate) mod run;
pub(crate) mod state;
mod subwarp_scheduler;
mod textures;
mod warp_sync;
pub(crate) mod warpgroup;
mod warpops;

use self::state::{BlockState, Env};
use crate::machine::warp::Warp;

/// The executor of one warp.
pub(crate) struct Machine<'m, 'e, M> {
    pub env: &'m Env<'e>,
    pub state: &'m mut BlockState<M>,
    pub warp: &'m mut Warp,
}
