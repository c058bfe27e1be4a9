//! Checkers: each watches a run through [`crate::hooks::Monitor`].

pub(crate) mod global_race;
mod keys;
pub(crate) mod order;
mod packed;
mod pages;
pub(crate) mod race;
mod release;
mod shared;
mod stamps;
pub(crate) mod trace;
pub(crate) mod watch;
