//! The checks of races in shared memory: shadow memory in the sense of Eraser and `ThreadSanitizer`.

pub(crate) mod byte_cells;
pub(crate) mod epochs;
pub(crate) mod last_accesses;
pub(crate) mod race_check;
pub(crate) mod shadow_memory;
