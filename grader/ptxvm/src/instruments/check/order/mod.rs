//! The happens-before order (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978): the clocks
//! of warps, and what synchronisation adds to them.

pub(crate) mod cluster_phases;
pub(crate) mod happens_before;
pub(crate) mod lane_clocks;
pub(crate) mod object_phases;
pub(crate) mod phases;
pub(crate) mod sync_variables;
pub(crate) mod vector_clock;
