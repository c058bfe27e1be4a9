//! From a kernel and its configuration to results: blocks in parallel, one after another, or taking turns.

mod blocks;
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
mod work_limit;
