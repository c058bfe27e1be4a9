//! Checkers: each watches a run through [`crate::machine::monitor::Monitor`].

pub(crate) mod global_race;
mod keys;
mod know;
pub(crate) mod order;
mod packed;
mod pages;
mod phases;
pub(crate) mod race;
pub(crate) mod shared;
mod slots;
mod stamps;
mod sync;
pub(crate) mod trace;
pub(crate) mod watch;
mod words;
