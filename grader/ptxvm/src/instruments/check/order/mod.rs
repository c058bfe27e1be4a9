//! What lies before what: the clocks of warps, and all that threads learn from each other.

pub(crate) mod happens_before;
pub(crate) mod phases;
pub(crate) mod sync_variables;
pub(crate) mod vector_clock;
