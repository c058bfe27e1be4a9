//! Registers that hold uninitialised values on their way from one place to another.

use crate::isa::names::{Pc, Slot};

/// A register that holds an uninitialised value.
#[derive(Clone, Debug)]
pub(crate) struct PoisonedRegister {
    pub slot: Slot,
    /// The lanes that hold such a value.
    pub mask: u32,
    /// The load, and the offset in local memory where it found the value.
    pub pc: Pc,
    pub size: u32,
    pub offset: i64,
}
