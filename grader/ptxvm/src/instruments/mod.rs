//! What observes a run: the checks, the counters, the provenance of values, the recording of a block, the trace of a
//! thread, watchpoints, and the bytes that a launch touches.

pub(crate) mod check;
pub(crate) mod count;
pub(crate) mod provenance;
pub(crate) mod recording;
pub(crate) mod touched;
pub(crate) mod trace;
pub(crate) mod watchpoint;
