//! What is known of global memory.

pub(crate) mod keys;
pub(crate) mod packed;
pub(crate) mod page_slots;
pub(crate) mod pages;
pub(crate) mod races;
