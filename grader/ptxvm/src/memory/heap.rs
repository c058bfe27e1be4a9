//! The device heap: what kernels allocate with `malloc` and `new`.
//!
//! Each allocation has a slot of addresses of its own, as buffers have, and no slot is used again: an access after `free` is
//! always told from one to a newer allocation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::buffer::BufferId;
use crate::memory::lane_memory::{Fault, byte_flags, within_word};
use crate::memory::unwritten::Unwritten;

/// Bytes that kernels may have allocated at a time: `cudaLimitMallocHeapSize` unless a program changes it.
pub const HEAP_SIZE: u64 = 8 << 20;
/// Granularity of allocations in bytes.
const GRANULE: u64 = 16;
/// Most that a packed place is a multiple of.
const PACKED: u64 = 512;

/// Allocations of the device heap that have not been freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapUse {
    /// How many allocations have not been freed.
    pub allocations: usize,
    /// Bytes, as the kernels asked for them.
    pub bytes: u64,
}

/// An allocation that has not been reused.
#[derive(Debug)]
struct Block {
    len: usize,
    /// Where it would lie if allocations followed each other; see [`Heap::packed`].
    packed: u64,
    /// Words with a flag for each written byte; None once it was freed.
    content: Option<Vec<(u32, u8)>>,
}

#[derive(Debug, Default)]
struct State {
    blocks: Vec<Block>,
    /// Bytes that there are, if it is not [`HEAP_SIZE`].
    size: Option<u64>,
    /// Bytes taken, in whole granules.
    taken: u64,
    /// Where the next allocation would lie if they followed each other.
    end: u64,
    in_use: HeapUse,
}

/// The heap of a [`Memory`](crate::Memory). Kernels that allocate run on one host thread, so the lock is free.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    state: Mutex<State>,
    used: AtomicBool,
}

impl Heap {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing was ever allocated.
    pub fn is_unused(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }

    /// Gives it another size; false once something was allocated.
    pub fn resize(&self, bytes: u64) -> bool {
        let unused = self.is_unused();
        if unused {
            self.state().size = Some(bytes);
        }
        unused
    }

    /// The address of a new allocation, which holds `unwritten`; None if there is no room for it.
    pub fn alloc(&self, size: u64, unwritten: Unwritten) -> Option<u64> {
        let len = usize::try_from(size).ok().filter(|&len| len > 0)?;
        let granules = size.checked_next_multiple_of(GRANULE)?;
        let mut state = self.state();
        let id = BufferId(BufferId::FIRST_ON_HEAP + state.blocks.len());
        let all = state.size.unwrap_or(HEAP_SIZE);
        if granules > all - state.taken || id.0 >= BufferId::END {
            return None;
        }
        self.used.store(true, Ordering::Relaxed);
        state.taken += granules;
        state.in_use.allocations += 1;
        state.in_use.bytes += size;
        let packed = state.end.next_multiple_of(granules.next_power_of_two().min(PACKED));
        state.end = packed + granules;
        let words = (0..len.div_ceil(4)).map(|word| (unwritten.word(word), 0));
        let content = Some(words.collect());
        state.blocks.push(Block { len, packed, content });
        Some(id.address())
    }

    /// Frees an allocation; null is accepted. The error says whether it was an allocation that had been freed before.
    pub fn free(&self, address: u64) -> Result<(), bool> {
        if address == 0 {
            return Ok(());
        }
        let mut state = self.state();
        let (index, offset) = place(address).ok_or(false)?;
        let block = state.blocks.get_mut(index).filter(|_| offset == 0).ok_or(false)?;
        let size = block.len as u64;
        block.content.take().ok_or(true)?;
        state.taken -= size.next_multiple_of(GRANULE);
        state.in_use.allocations -= 1;
        state.in_use.bytes -= size;
        Ok(())
    }

    pub fn in_use(&self) -> HeapUse {
        self.state().in_use
    }

    /// Whether the number is that of an allocation, freed or not.
    pub fn knows(&self, id: BufferId) -> bool {
        id.0.checked_sub(BufferId::FIRST_ON_HEAP)
            .is_some_and(|index| index < self.state().blocks.len())
    }

    /// Where an allocation would start if all that ever were followed each other closely: small ones share what is kept for a
    /// stretch of memory.
    pub fn packed(&self, id: BufferId) -> u64 {
        let index = id.0.checked_sub(BufferId::FIRST_ON_HEAP);
        index
            .and_then(|index| self.state().blocks.get(index).map(|block| block.packed))
            .unwrap_or(0)
    }

    /// Bytes of an allocation, freed or not; 0 if there is none.
    pub fn size(&self, id: BufferId) -> usize {
        let index = id.0.checked_sub(BufferId::FIRST_ON_HEAP);
        index.and_then(|index| self.state().blocks.get(index).map(|block| block.len)).unwrap_or(0)
    }

    pub fn bytes(&self, id: BufferId) -> Vec<u8> {
        let Some(index) = id.0.checked_sub(BufferId::FIRST_ON_HEAP) else { return Vec::new() };
        let state = self.state();
        let Some(Block { len, content: Some(words), packed: _ }) = state.blocks.get(index) else {
            return Vec::new();
        };
        words.iter().flat_map(|(word, _)| word.to_le_bytes()).take(*len).collect()
    }

    /// Whether `size` bytes may be accessed.
    pub fn check(&self, address: u64, size: u32) -> Result<(), Fault> {
        if self.is_unused() {
            return Err(Fault::OutOfBounds);
        }
        let (index, offset) = place(address).ok_or(Fault::OutOfBounds)?;
        let state = self.state();
        let block = state.blocks.get(index).ok_or(Fault::OutOfBounds)?;
        let len = block.len as u64;
        if offset >= len || len - offset < u64::from(size) {
            Err(Fault::OutOfBounds)
        } else if block.content.is_none() {
            Err(Fault::Freed)
        } else if !offset.is_multiple_of(size.into()) {
            Err(Fault::Misaligned)
        } else {
            Ok(())
        }
    }

    /// 1, 2, 4 or 8 bytes at a checked address, and whether any was written before.
    pub fn get(&self, address: u64, bytes: u32) -> (u64, bool) {
        let nothing = (u64::MAX >> (64 - bytes * 8), true);
        let state = self.state();
        let found = place(address).and_then(|(index, offset)| {
            Some((state.blocks.get(index)?.content.as_ref()?, offset as usize))
        });
        let Some((words, offset)) = found else { return nothing };
        let word = |index: usize| words.get(index).copied().unwrap_or((u32::MAX, 0));
        let (value, flags) = word(offset / 4);
        match bytes {
            8 => {
                let (high, more) = word(offset / 4 + 1);
                (u64::from(high) << 32 | u64::from(value), flags | more != 0)
            }
            4 => (value.into(), flags != 0),
            _ => {
                let (mask, shift) = within_word(offset, bytes);
                (u64::from((value & mask) >> shift), flags & byte_flags(offset, bytes) != 0)
            }
        }
    }

    /// Writes at a checked address.
    pub fn put(&self, address: u64, bytes: u32, value: u64) {
        if bytes == 8 {
            self.put(address, 4, value);
            self.put(address + 4, 4, value >> 32);
            return;
        }
        let mut state = self.state();
        let Some((index, offset)) = place(address) else { return };
        let offset = offset as usize;
        let words = state.blocks.get_mut(index).and_then(|block| block.content.as_mut());
        let Some((word, flags)) = words.and_then(|words| words.get_mut(offset / 4)) else { return };
        let (mask, shift) = if bytes == 4 { (u32::MAX, 0) } else { within_word(offset, bytes) };
        *word = (*word & !mask) | ((value as u32) << shift & mask);
        *flags |= byte_flags(offset, bytes);
    }
}

/// Index of an allocation and the offset in it; an offset before its start comes out huge.
fn place(address: u64) -> Option<(usize, u64)> {
    let id = BufferId::of(address)?;
    let index = id.0.checked_sub(BufferId::FIRST_ON_HEAP)?;
    Some((index, address.wrapping_sub(id.address())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_gone() {
        let heap = Heap::default();
        assert_eq!(
            heap.check(BufferId(BufferId::FIRST_ON_HEAP).address(), 4),
            Err(Fault::OutOfBounds)
        );
        let first = heap.alloc(10, Unwritten::Ones).unwrap();
        let second = heap.alloc(4, Unwritten::Ones).unwrap();
        heap.put(first + 4, 4, 7);
        assert_eq!(heap.get(first + 4, 4), (7, true));
        assert_eq!(heap.get(first, 8), (0x7_FFFF_FFFF, true));
        assert!(!heap.get(first, 4).1);
        assert_eq!(heap.check(first + 8, 4), Err(Fault::OutOfBounds));
        assert_eq!(heap.check(first.wrapping_sub(4), 4), Err(Fault::OutOfBounds));
        assert_eq!(heap.check(first + 2, 4), Err(Fault::Misaligned));
        assert_eq!(heap.in_use(), HeapUse { allocations: 2, bytes: 14 });
        assert_eq!(heap.free(first + 4), Err(false));
        assert_eq!(heap.free(first), Ok(()));
        assert_eq!(heap.free(first), Err(true));
        assert_eq!(heap.free(0), Ok(()));
        assert_eq!(heap.check(first, 4), Err(Fault::Freed));
        assert_eq!(heap.check(second, 4), Ok(()));
        assert_eq!(heap.in_use(), HeapUse { allocations: 1, bytes: 4 });
    }

    #[test]
    fn a_full_heap_gives_nothing() {
        let heap = Heap::default();
        assert_eq!(heap.alloc(HEAP_SIZE + 1, Unwritten::Ones), None);
        assert_eq!(heap.alloc(u64::MAX, Unwritten::Ones), None);
        assert_eq!(heap.alloc(0, Unwritten::Ones), None);
        let all = heap.alloc(HEAP_SIZE, Unwritten::Ones).unwrap();
        assert_eq!(heap.alloc(1, Unwritten::Ones), None);
        heap.free(all).unwrap();
        assert!(heap.alloc(1, Unwritten::Ones).is_some());
    }

    #[test]
    fn its_size_can_be_chosen_before_its_first_use() {
        let heap = Heap::default();
        assert!(heap.resize(32) && heap.resize(4 * HEAP_SIZE));
        let large = heap.alloc(3 * HEAP_SIZE, Unwritten::Ones).unwrap();
        assert_eq!(heap.alloc(HEAP_SIZE + 1, Unwritten::Ones), None);
        heap.free(large).unwrap();
        assert!(!heap.resize(HEAP_SIZE));
        assert!(heap.alloc(4 * HEAP_SIZE, Unwritten::Ones).is_some());
    }
}
