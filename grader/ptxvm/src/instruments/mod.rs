//! What watches a run: the checks, the counters, and the provenance of values.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod provenance;
