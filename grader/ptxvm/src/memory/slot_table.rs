//! Addresses that a host process can have too.
//!
//! A buffer of [`Memory::alloc`] has 2^36 bytes of addresses to itself, so that an index that is wrong by any 32-bit amount
//! still tells its buffer. A process has 2^47 bytes of addresses, and some of them are taken: that is room for few such buffers.
//! Those that a process shares with its kernels therefore have 2^30 bytes each, in a window that processes leave alone: above
//! what they are loaded to with fixed addresses, below where Linux puts programs, libraries and stacks.

use std::collections::VecDeque;

use super::buffer::{Access, Buffer, BufferId, Init};
use super::global::Memory;

/// The window begins at this power of two, and ends at the next.
const WINDOW: u32 = 45;
/// Bytes of a slot, as a power of two.
const SLOT: u32 = 30;
/// A buffer starts in the middle of its slot.
const MIDDLE: u64 = 1 << (SLOT - 1);
/// How many slots there are: 32,768.
const SLOTS: usize = 1 << (WINDOW - SLOT);
/// A larger buffer does not fit.
const MAX_LEN: usize = MIDDLE as usize - (1 << 20);

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
    fn place(&mut self, buffer: usize) -> Option<u64> {
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

impl Memory {
    /// As [`Memory::alloc`], at an address that a process of 47-bit addresses can map as well; None if there is none left, or
    /// for more than half a GiB.
    pub fn alloc_shared(&mut self, init: Init, access: Access) -> Option<BufferId> {
        let len = match &init {
            Init::Bytes(bytes) => bytes.len(),
            Init::Undefined { len } => *len,
        };
        if len > MAX_LEN {
            return None;
        }
        self.skip_window();
        let start = self.dense.place(self.buffers.len())?;
        Some(self.add(Buffer::new(init, access, start)))
    }

    /// Leaves out the numbers of buffers whose own slots lie in the window.
    pub(super) fn skip_window(&mut self) {
        if !holds(BufferId(self.buffers.len()).address()) {
            return;
        }
        while holds(BufferId(self.buffers.len()).address()) {
            let start = BufferId(self.buffers.len()).address();
            let mut none = Buffer::new(Init::Undefined { len: 0 }, Access::ReadWrite, start);
            none.set_freed();
            self.add(none);
            self.skipped += 1;
        }
    }

    /// How many buffers were allocated before this one.
    pub fn ordinal(&self, id: BufferId) -> usize {
        let first_after = BufferId::of(1 << (WINDOW + 1)).map_or(0, |id| id.0);
        if id.0 < first_after { id.0 } else { id.0 - self.skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostFault;

    fn four() -> Init {
        Init::Bytes(vec![1, 2, 3, 4])
    }

    #[test]
    fn many_buffers_lie_in_the_window_and_none_other_does() {
        let mut memory = Memory::default();
        let mut shared = Vec::new();
        for number in 0..1500 {
            let id = memory.alloc(four(), Access::ReadWrite);
            assert!(!holds(memory.address(id)));
            assert_eq!(memory.ordinal(id), 2 * number);
            let id = memory.alloc_shared(four(), Access::ReadWrite).unwrap();
            assert!(holds(memory.address(id)) && memory.address(id) < 1 << 47);
            assert_eq!(memory.ordinal(id), 2 * number + 1);
            shared.push(id);
        }
        assert_eq!(memory.in_use(), (3000, 12_000));
        for &id in &shared {
            let start = memory.address(id);
            for offset in [-(1 << 29), -1, 0, 3, 4, (1 << 29) - 1] {
                let found = memory.locate(start.wrapping_add_signed(offset));
                assert_eq!(found, Some((id, offset)));
            }
            assert_eq!(memory.read(start + 1, 3), Ok(vec![2, 3, 4]));
            assert_eq!(memory.read(start + 1, 4), Err(HostFault::OutOfBounds));
        }
    }

    #[test]
    fn slots_are_used_again_when_none_is_left() {
        let mut memory = Memory::default();
        let mut alloc =
            || memory.alloc_shared(four(), Access::ReadWrite).map(|id| memory.address(id));
        let all: Vec<u64> = (0..SLOTS).map(|_| alloc().unwrap()).collect();
        assert!(all.is_sorted() && *all.last().unwrap() < 1 << (WINDOW + 1));
        assert_eq!(alloc(), None);
        for place in [7, 5] {
            memory.free(all[place]).unwrap();
            assert_eq!(memory.free(all[place]), Err(HostFault::Freed));
        }
        let mut alloc =
            || memory.alloc_shared(four(), Access::ReadWrite).map(|id| memory.address(id));
        assert_eq!((alloc(), alloc(), alloc()), (Some(all[7]), Some(all[5]), None));
        assert_eq!(memory.read(all[7], 4), Ok(vec![1, 2, 3, 4]));
        assert_eq!(memory.in_use().0, SLOTS);
        let large = Init::Undefined { len: MAX_LEN + 1 };
        assert!(memory.alloc_shared(large, Access::ReadWrite).is_none());
    }
}
