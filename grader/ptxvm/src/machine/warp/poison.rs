//! Values that nobody wrote, on their way from one place to another.

use crate::isa::names::{Pc, Slot};

/// A register that holds what nobody wrote.
#[derive(Clone, Debug)]
pub(crate) struct PoisonedRegister {
    pub slot: Slot,
    /// The lanes whose value it is.
    pub mask: u32,
    /// The load, and where in local memory it found the value.
    pub pc: Pc,
    pub size: u32,
    pub offset: i64,
}
