//! What is known of the shared memory of a block.

pub(crate) mod byte_cells;
pub(crate) mod epochs;
pub(crate) mod last_accesses;
pub(crate) mod race_check;
pub(crate) mod shadow_memory;
