//! The splits of a warp: lanes that run together.

use crate::isa::names::Pc;

/// Lanes that run together, up to where they meet others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackEntry {
    pub pc: Pc,
    /// Where these lanes stop and the split below goes on; `NO_PC` if they run to the end of their function.
    pub join: Pc,
    pub mask: u32,
}

/// Why a warp does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpStatus {
    Ready,
    /// At the barrier of this number.
    Waiting(u32),
    Done,
}
