//! Buffers at addresses that a host process can have too.

use super::Memory;
use super::buffer::{Access, Buffer, BufferId, Init};
use super::slot_table::{MAX_LEN, WINDOW};

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
        Some(self.add(Buffer::new(init, access, start, self.unwritten)))
    }

    /// How many buffers were allocated before this one.
    pub fn ordinal(&self, id: BufferId) -> usize {
        let first_after = BufferId::of(1 << (WINDOW + 1)).map_or(0, |id| id.0);
        if id.0 < first_after { id.0 } else { id.0 - self.skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::super::slot_table::{SLOTS, holds};
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
