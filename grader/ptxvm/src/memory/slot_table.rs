//! Addresses that a host process can have too.
//!
//! A buffer of [`Memory::alloc`](crate::Memory::alloc) has 2^36 bytes of addresses to itself, so that an index that is wrong
//! by any 32-bit amount still tells its buffer. A process has 2^47 bytes of addresses, and some of them are taken: that is room
//! for few such buffers. Those that a process shares with its kernels therefore have 2^30 bytes each, in a window that processes
//! leave alone: above what they are loaded to with fixed addresses, below where Linux puts programs, libraries and stacks.

use std::collections::VecDeque;

/// The window begins at this power of two, and ends at the next.
pub(super) const WINDOW: u32 = 45;
/// Bytes of a slot, as a power of two.
const SLOT: u32 = 30;
/// A buffer starts in the middle of its slot.
const MIDDLE: u64 = 1 << (SLOT - 1);
/// How many slots there are: 32,768.
pub(super) const SLOTS: usize = 1 << (WINDOW - SLOT);
/// A larger buffer does not fit.
pub(super) const MAX_LEN: usize = MIDDLE as usize - (1 << 20);

/// Numbers of the buffers in the window.
#[derive(Debug, Default)]
pub(super) struct SlotTable {
    /// For each slot the number of its buffer.
    buffers: Vec<usize>,
    /// Slots whose buffers were freed, in the order in which that happened.
    free: VecDeque<usize>,
}

/// Does an address lie in the window?
#[inline(always)]
pub(super) fn holds(address: u64) -> bool {
    address >> WINDOW == 1
}

/// Slot of an address in the window.
fn slot(address: u64) -> usize {
    (address >> SLOT) as usize - SLOTS
}

impl SlotTable {
    /// Number of the buffer in whose slot an address of the window lies.
    pub fn buffer(&self, address: u64) -> Option<usize> {
        self.buffers.get(slot(address)).copied()
    }

    /// The address of a new buffer; None if all slots are taken.
    pub fn place(&mut self, buffer: usize) -> Option<u64> {
        let slot = if self.buffers.len() < SLOTS {
            self.buffers.push(buffer);
            self.buffers.len() - 1
        } else {
            // The one that was freed longest ago: an access through an old pointer is not noticed any more.
            let slot = self.free.pop_front()?;
            self.buffers[slot] = buffer;
            slot
        };
        Some((((SLOTS + slot) as u64) << SLOT) + MIDDLE)
    }

    /// A buffer that started there was freed.
    pub fn release(&mut self, start: u64) {
        if holds(start) {
            self.free.push_back(slot(start));
        }
    }
}
