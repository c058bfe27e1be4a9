//! Whether blocks that ran in parallel could have produced another result in another order.
//!
//! Each word that kernels may write remembers which block wrote it and which read it. If two blocks touch one word, and at
//! least one of them writes, the launch starts over, block after block, so that its result is the same at every run. Atomics
//! of one kind whose results nobody uses commute, so they do not conflict.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::finding::{AccessKind, Log};
use crate::instruments::check::global::races::GlobalRaces;
use crate::isa::window::Window;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::memory::Memory;

/// Who touched a word: nobody yet, ...
const NOBODY: u32 = 0;
/// ... a block that read it, or several of them, ...
const READ: u32 = 1 << KIND;
const READ_BY_MANY: u32 = READ | (READ - 1);
/// ... one block alone, which wrote it too, ...
const OWNED: u32 = 2 << KIND;
/// ... or atomics of one kind.
const ATOMIC: u32 = 3 << KIND;
/// Below lies the number of the block, or the kind of atomics.
const KIND: u32 = 30;
/// More blocks have no numbers.
pub(crate) const MAX_BLOCKS: u64 = READ as u64 - 2;

/// What a word becomes when a block touches it; None: the order of blocks may matter.
fn touched(word: u32, block: u32, kind: AccessKind, operation: u32) -> Option<u32> {
    let alone = word == NOBODY || word == READ | block || word == OWNED | block;
    match kind {
        AccessKind::Read if word == NOBODY => Some(READ | block),
        AccessKind::Read if alone => Some(word),
        AccessKind::Read => (word >> KIND == READ >> KIND).then_some(READ_BY_MANY),
        AccessKind::Atomic if word == NOBODY || word == ATOMIC | operation => {
            Some(ATOMIC | operation)
        }
        AccessKind::Write | AccessKind::Atomic => alone.then_some(OWNED | block),
    }
}

/// The words that the blocks of a launch may write.
#[derive(Debug)]
pub(crate) struct Conflicts {
    /// By buffer, those of the module's variables last; None for read-only ones.
    buffers: Vec<Option<Box<[AtomicU32]>>>,
    found: AtomicBool,
}

impl Conflicts {
    pub fn new(memory: &Memory) -> Self {
        let words = |bytes: usize| (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(NOBODY)).collect();
        let buffers = memory.written_sizes().map(|size| size.map(words)).collect();
        Self { buffers, found: AtomicBool::new(false) }
    }

    /// Marks what blocks did before others ran in parallel.
    pub fn seed(&self, earlier: &GlobalRaces) {
        earlier.touched(|buffer, offset, block, wrote| {
            let word = self.words(buffer).and_then(|words| words.get(offset as usize / 4));
            if let Some(word) = word {
                let kind = if wrote { AccessKind::Write } else { AccessKind::Read };
                self.touch(word, block, kind, 0);
            }
        });
    }

    /// Whether the order of blocks may have mattered.
    pub fn found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// The words of a buffer by its index, if it may be written.
    fn words(&self, buffer: usize) -> Option<&[AtomicU32]> {
        self.buffers.get(buffer)?.as_deref()
    }

    /// Of two blocks that touch a word, the second one finds the mark of the first.
    fn touch(&self, word: &AtomicU32, block: u32, kind: AccessKind, operation: u32) {
        let mut old = word.load(Ordering::Relaxed);
        loop {
            let Some(new) = touched(old, block, kind, operation) else {
                self.found.store(true, Ordering::Relaxed);
                return;
            };
            if new == old {
                return;
            }
            match word.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Memory that the table takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().flatten().map(|words| size_of_val(&**words)).sum()
    }
}

/// Marks what one block touches.
#[derive(Debug)]
pub(crate) struct BlockConflicts<'c> {
    conflicts: &'c Conflicts,
    /// Number of the block, from 1.
    block: u32,
}

impl<'c> BlockConflicts<'c> {
    /// For the blocks of one host thread; the others have the same table of conflicts.
    pub fn new(conflicts: &'c Conflicts) -> Self {
        Self { conflicts, block: 0 }
    }
}

impl Monitor for BlockConflicts<'_> {
    #[inline(always)]
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if event.window == Window::Global {
            self.global_access(event);
        }
    }

    #[inline(always)]
    fn can_skip(&self, reads: &WordReads) -> bool {
        reads.window != Window::Global || !reads.written
    }

    fn resume(&mut self, block: u64) {
        self.block = block as u32 + 1;
    }
}

impl BlockConflicts<'_> {
    fn global_access(&self, event: &Event) {
        let first = event.addresses[event.mask.trailing_zeros() as usize % 32];
        if event.one_buffer {
            let index = event.memory.writable_index(first);
            if index.is_none_or(|index| self.conflicts.words(index).is_none()) {
                return;
            }
        }
        // Those of the buffer that the lane before hit, and where it starts.
        let (mut start, mut words) = (0, [].as_slice());
        for lane in crate::lanes::lanes(event.done) {
            let address = event.addresses[lane];
            let mut offset = address.wrapping_sub(start);
            if offset / 4 >= words.len() as u64 {
                let Some((_, inside)) = event.memory.locate(address) else { continue };
                let index = event.memory.writable_index(address);
                let Some(found) = index.and_then(|index| self.conflicts.words(index)) else {
                    continue;
                };
                offset = inside as u64;
                (start, words) = (address - offset, found);
            }
            let (from, to) =
                (offset as usize / 4, (offset as usize + event.size as usize).div_ceil(4));
            for word in words.get(from..to).unwrap_or_default() {
                self.conflicts.touch(word, self.block, event.kind, event.operation);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::check::block_conflicts::*;
    use AccessKind::{Atomic, Read, Write};

    /// Whether blocks 1 and 2 may touch a word so, in this order.
    fn harmless(accesses: &[(u32, AccessKind, u32)]) -> bool {
        let end = accesses.iter().try_fold(NOBODY, |word, &(block, kind, operation)| {
            touched(word, block, kind, operation)
        });
        end.is_some()
    }

    #[test]
    fn blocks_may_share_what_they_read_or_add_to() {
        assert!(harmless(&[(1, Read, 0), (2, Read, 0), (1, Read, 0), (3, Read, 0)]));
        assert!(harmless(&[(1, Atomic, 7), (2, Atomic, 7), (1, Atomic, 7)]));
        assert!(harmless(&[
            (1, Read, 0),
            (1, Write, 0),
            (1, Atomic, 7),
            (1, Read, 0),
            (1, Write, 0)
        ]));
        assert!(harmless(&[(1, Read, 0), (1, Atomic, 7), (1, Atomic, 8)]));
        for other in [Read, Write, Atomic] {
            assert!(!harmless(&[(1, Write, 0), (2, other, 7)]), "{other:?}");
            assert!(!harmless(&[(1, Read, 0), (1, Write, 0), (2, other, 7)]), "{other:?}");
            assert!(!harmless(&[(1, Read, 0), (1, Atomic, 7), (2, other, 7)]), "{other:?}");
            assert!(!harmless(&[(1, Atomic, 7), (1, Atomic, 7), (2, other, 8)]), "{other:?}");
        }
        for other in [Write, Atomic] {
            assert!(!harmless(&[(1, Read, 0), (2, other, 7)]), "{other:?}");
            assert!(!harmless(&[(1, Read, 0), (2, Read, 0), (1, other, 7)]), "{other:?}");
        }
    }
}
