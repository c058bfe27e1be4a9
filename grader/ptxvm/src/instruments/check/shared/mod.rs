//! What is known of the shared memory of a block.

pub(crate) mod classes;
pub(crate) mod events;
pub(crate) mod last;
pub(crate) mod shadow_memory;
pub(crate) mod visit;
