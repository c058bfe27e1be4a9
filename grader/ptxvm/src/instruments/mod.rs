//! What observes a run: the checks, the counters, the provenance of values, the trace of a thread, and watchpoints.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod provenance;
pub(crate) mod trace;
pub(crate) mod watchpoint;
