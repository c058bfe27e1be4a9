//! What observes a run: the checks, the counters, the provenance of values, the recording of a block, the trace of a
//! thread, and watchpoints.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod provenance;
pub(crate) mod recording;
pub(crate) mod trace;
pub(crate) mod watchpoint;
