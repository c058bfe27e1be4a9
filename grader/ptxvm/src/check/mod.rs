//! Checkers: each watches a run through [`crate::hooks::Monitor`].

pub(crate) mod order;
pub(crate) mod race;
pub(crate) mod trace;
