//! What instructions refer to: registers, predicates, code addresses, memory addresses, and elements in memory.

use crate::isa::window::Window;

/// Index into the 32-bit register file (which also holds 16-bit values, zero-extended).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg32(pub u32);
/// Index into the 64-bit register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg64(pub u32);
/// Index into the predicate file; each predicate is a mask of 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred(pub u32);

/// Which lanes run an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub predicate: Pred,
    pub negated: bool,
}

/// Address in the code of a kernel.
pub type Pc = u32;

/// No such address: the function's exit.
pub const NO_PC: Pc = Pc::MAX;

/// Base register of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Reg32(Reg32),
    Reg64(Reg64),
}

/// `[base+offset]` in a window.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// The state space that the instruction names; None if the address is generic.
    pub window: Option<Window>,
    pub base: Base,
    pub offset: i64,
    pub marks: Marks,
}

/// What the program says of other threads that access the same memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub strength: Strength,
    /// One of a load and a store of the same place whose value was computed from it, neither of them plain: half of an update
    /// that is not atomic.
    pub half_update: bool,
    /// `.nc`: nobody writes this memory while the kernel runs, the program promises.
    pub read_only: bool,
    /// A plain load whose value is stored, or added by an atomic, though atomics of the kernel may change what it reads.
    pub kept: bool,
}

impl Marks {
    /// Those of an atomic.
    pub const STRONG: Self =
        Self { strength: Strength::Strong, half_update: false, read_only: false, kept: false };
}

/// What an access means to other threads (PTX ISA 8.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strength {
    #[default]
    Plain,
    /// `.volatile`, on memory that no thread waits for: it orders nothing.
    Value,
    /// `.volatile`, `.relaxed` and stronger: meant to be seen by others at once.
    Strong,
}

impl Strength {
    /// Whether it is a strong operation in the sense of the memory model, and orders threads.
    pub fn is_strong(self) -> bool {
        self == Self::Strong
    }

    /// Whether the program says that others may access the same memory.
    pub fn is_marked(self) -> bool {
        self != Self::Plain
    }
}

/// Where a loaded element goes, or a stored one comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    Reg32(Reg32),
    Reg64(Reg64),
    /// The bit bucket, `_`: the value is discarded.
    Sink,
}

/// Width of one element in memory and how it fills its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The size of the access in bytes: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Whether a load sign-extends the element ...
    pub signed: bool,
    /// ... to this many bits: 16, 32 or 64.
    pub register_bits: u32,
}

/// The elements of `ld` and `st`: 1, 2 or 4.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    pub slots: [Slot; 4],
    pub count: u8,
    pub element: Element,
}

impl Elements {
    /// A single value of so many bytes, as unsigned as it is.
    pub fn one(slot: Slot, bytes: u32) -> Self {
        let slots = [slot, Slot::Sink, Slot::Sink, Slot::Sink];
        let element = Element { bytes, signed: false, register_bits: bytes * 8 };
        Self { slots, count: 1, element }
    }

    /// Bytes of the whole access.
    pub fn size(&self) -> u32 {
        self.element.bytes * u32::from(self.count)
    }
}
