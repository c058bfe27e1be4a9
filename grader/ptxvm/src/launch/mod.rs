//! From a kernel and its configuration to results: blocks in parallel, one after another, or taking turns.

mod blocks;
mod cluster_shape;
mod clusters;
pub(crate) mod config;
mod cooperative;
mod driver;
pub(crate) mod entry;
pub(crate) mod footprint;
mod initial_state;
mod interleaved;
mod observers;
pub(crate) mod outcome;
mod parallel;
mod run;
mod sample;
pub(crate) mod schedule;
pub(crate) mod setup;
mod turns;
mod work_limit;

use self::blocks::Grid;
use self::config::Options;
use self::footprint::PeakFootprint;
use self::work_limit::WorkLimit;
use crate::instruments::touched::TouchMonitor;
use std::sync::atomic::AtomicU64;

/// A launch that runs, and how its blocks are limited.
struct Run<'r, 'e> {
    pub grid: &'r Grid<'e>,
    pub options: &'r Options,
    /// Whether the checks are on.
    pub checked: bool,
    pub counted: bool,
    /// The bytes that it touches, if that is asked for.
    pub touched: Option<TouchMonitor>,
    /// Blocks with a higher index need not run.
    pub stop: AtomicU64,
    pub peak: PeakFootprint,
    pub work: WorkLimit,
}
