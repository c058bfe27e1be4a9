//! The SIMT reconvergence stack of a warp (Fung and others, "Dynamic Warp Formation and Scheduling for Efficient GPU Control
//! Flow", 2007): each entry is a set of lanes that run together, with the instruction where they reconverge with others.

use crate::isa::names::Pc;

/// An entry of the SIMT stack: lanes that run together until they reconverge with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackEntry {
    pub pc: Pc,
    /// The reconvergence point, where these lanes stop and the entry below goes on; `NO_PC` if they run to the end of their
    /// function.
    pub join: Pc,
    pub mask: u32,
}

/// Whether a warp can run, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpStatus {
    Ready,
    /// It waits at the barrier with this number.
    Waiting(u32),
    Done,
}
