//! The clocks of the warps of a block: a vector clock of each, of the warps of that block.

/// Warps of a block at most.
pub(crate) const WARPS: usize = 32;

/// What each warp knows of the others' clocks, and its own.
pub(crate) type Clocks = [[u32; WARPS]; WARPS];
