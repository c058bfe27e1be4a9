//! The checks of races in global memory, with their shadow memory.

pub(crate) mod keys;
pub(crate) mod packed;
pub(crate) mod page_slots;
pub(crate) mod pages;
pub(crate) mod races;
mod read_only;
