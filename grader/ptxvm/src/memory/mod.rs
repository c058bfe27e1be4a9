//! The state spaces, as lanes see them.
//!
//! Generic addresses keep the window in their top four bits, so `cvta` adds or subtracts a constant. Inside the global window
//! each buffer has a slot of 2^36 bytes to itself and lies in the middle of it, so that an index that is wrong by any 32-bit
//! amount, up or down, still tells which buffer it was meant for. In the other windows variables lie apart by gaps that
//! belong to nobody.

mod dense;
pub mod flat;
pub mod flights;
pub mod global;
pub mod heap;
pub mod host;
pub mod layout;
pub mod local;

/// A window of the generic address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    Global,
    Shared,
    Local,
    Const,
    /// Parameters of the kernel.
    Param,
}

const WINDOW_SHIFT: u32 = 60;

impl Window {
    /// What `cvta` adds to an address of this window.
    pub fn base(self) -> u64 {
        (match self {
            Self::Global => 0,
            Self::Shared => 1,
            Self::Local => 2,
            Self::Const => 3,
            Self::Param => 4,
        }) << WINDOW_SHIFT
    }

    /// The window that a generic address lies in. Those that lie in none count as global, where they hit nothing.
    pub fn of(address: u64) -> Self {
        match address >> WINDOW_SHIFT {
            1 => Self::Shared,
            2 => Self::Local,
            3 => Self::Const,
            4 => Self::Param,
            _ => Self::Global,
        }
    }
}

/// The address of a function, by its index in the module: in a window of its own, where nothing can be read.
pub(crate) fn code_address(index: usize) -> u64 {
    (5 << WINDOW_SHIFT) | ((index as u64 + 1) << 4)
}

/// Why one lane's access is refused, or suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    OutOfBounds,
    Misaligned,
    ReadOnly,
    /// On the device heap, after `free`.
    Freed,
}

/// Memory that one lane reads and writes; offsets come from `check`.
pub trait LaneMemory {
    /// Whether `size` bytes at `address` may be accessed; the place for `get` and `put`.
    fn check(&self, lane: usize, address: u64, size: u32, write: bool) -> Result<usize, Fault>;
    /// `bytes` (1, 2, 4 or 8) at a checked place, and whether any of them was written before: copies of structures read the
    /// padding between their members too, which nobody writes.
    fn get(&self, lane: usize, place: usize, bytes: u32) -> (u64, bool);
    /// Writes `bytes` at a checked place.
    fn put(&mut self, lane: usize, place: usize, bytes: u32, value: u64);
}

/// The bits of a word that `bytes` (1 or 2) at `place` cover, and how far up they lie.
#[inline(always)]
pub(crate) fn within_word(place: usize, bytes: u32) -> (u32, u32) {
    let shift = (place as u32 & 3) * 8;
    ((if bytes == 1 { 0xFF } else { 0xFFFF }) << shift, shift)
}

/// One flag for each byte of a word that `bytes` (at most 4) at `place` cover.
#[inline(always)]
pub(crate) fn byte_flags(place: usize, bytes: u32) -> u8 {
    ((1u8 << bytes) - 1) << (place & 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_told_by_address() {
        for window in [Window::Global, Window::Shared, Window::Local, Window::Const, Window::Param]
        {
            assert_eq!(Window::of(window.base() + 12), window);
        }
        assert_eq!(Window::of(u64::MAX), Window::Global);
        assert_eq!(byte_flags(2, 2), 0b1100);
        assert_eq!(within_word(5, 1), (0xFF00, 8));
    }
}
