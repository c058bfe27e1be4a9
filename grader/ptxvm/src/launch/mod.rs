//! From a kernel and its configuration to results: blocks in parallel, one after another, or taking turns.

pub(crate) mod cooperative;
pub(crate) mod counted;
pub(crate) mod grid;
pub(crate) mod reordered;
pub(crate) mod residents;
pub(crate) mod with_provenance;
