//! Tells whether blocks that ran in parallel could have left another result in another order.
//!
//! Each word that kernels may write remembers which block wrote it and which read it. Two blocks that touch one word, at
//! least one of them writing, make the launch start over, block after block, so that its result is the same at every run.
//! Atomics of one kind whose results nobody uses commute, so they may meet.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::global_race::GlobalRaces;
use crate::finding::{AccessKind, Log};
use crate::hooks::{Event, Monitor, WordReads};
use crate::memory::Window;
use crate::memory::global::Memory;

/// Nobody yet.
const NOBODY: u32 = 0;
/// More than one block.
const MANY: u32 = u32::MAX;
/// Numbers from here on stand for atomics of one kind.
const ATOMIC: u32 = 1 << 31;

/// Who touched a word.
#[derive(Debug, Default)]
struct Word {
    writer: AtomicU32,
    reader: AtomicU32,
}

/// The words that the blocks of a launch may write.
#[derive(Debug)]
pub(crate) struct Conflicts {
    /// By buffer, those of the module's variables last; None for read-only ones.
    buffers: Vec<Option<Box<[Word]>>>,
    found: AtomicBool,
}

impl Conflicts {
    pub fn new(memory: &Memory) -> Self {
        let words = |bytes: usize| (0..bytes.div_ceil(4)).map(|_| Word::default()).collect();
        let buffers = memory.written_sizes().map(|size| size.map(words)).collect();
        Self { buffers, found: AtomicBool::new(false) }
    }

    /// Marks what blocks did before others ran in parallel.
    pub fn seed(&self, earlier: &GlobalRaces) {
        for (buffer, offset, block, wrote) in earlier.touched() {
            let word = self.words(buffer).and_then(|words| words.get(offset as usize / 4));
            if let Some(word) = word {
                let kind = if wrote { AccessKind::Write } else { AccessKind::Read };
                self.touch(word, block, kind, 0);
            }
        }
    }

    /// Whether the order of blocks may have mattered.
    pub fn found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// The words of a buffer by its index, if it may be written.
    fn words(&self, buffer: usize) -> Option<&[Word]> {
        self.buffers.get(buffer)?.as_deref()
    }

    /// Each side first leaves its mark and then looks for the other's; with sequential consistency one of two sees the other.
    fn touch(&self, word: &Word, block: u32, kind: AccessKind, operation: u32) {
        let conflict = match kind {
            AccessKind::Read => {
                let before = word.reader.load(Ordering::SeqCst);
                if before != block && before != MANY {
                    let now = if before == NOBODY { block } else { MANY };
                    if word.reader.swap(now, Ordering::SeqCst) != before {
                        word.reader.store(MANY, Ordering::SeqCst);
                    }
                }
                let writer = word.writer.load(Ordering::SeqCst);
                writer != NOBODY && writer != block
            }
            AccessKind::Write | AccessKind::Atomic => {
                let tag = if kind == AccessKind::Atomic { ATOMIC | operation } else { block };
                let writer = word.writer.swap(tag, Ordering::SeqCst);
                let reader = word.reader.load(Ordering::SeqCst);
                writer != NOBODY && writer != tag || reader != NOBODY && reader != block
            }
        };
        if conflict {
            self.found.store(true, Ordering::Relaxed);
        }
    }
}

/// Watches one block.
#[derive(Debug)]
pub(crate) struct OrderWatch<'c> {
    pub conflicts: &'c Conflicts,
    /// Number of the block, from 1.
    pub block: u32,
}

impl Monitor for Option<OrderWatch<'_>> {
    #[inline(always)]
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if let Some(watch) = self
            && event.window == Window::Global
        {
            watch.global_access(event);
        }
    }

    #[inline(always)]
    fn knows(&self, reads: &WordReads) -> bool {
        self.is_none() || reads.window != Window::Global || !reads.memory.is_written(reads.address)
    }
}

impl OrderWatch<'_> {
    fn global_access(&self, event: &Event) {
        let first = event.addresses[event.mask.trailing_zeros() as usize % 32];
        if event.one_buffer {
            let index = event.memory.writable_index(first);
            if index.is_none_or(|index| self.conflicts.words(index).is_none()) {
                return;
            }
        }
        for lane in crate::warp::lanes(event.done) {
            let address = event.addresses[lane];
            let Some((_, offset)) = event.memory.locate(address) else { continue };
            let index = event.memory.writable_index(address);
            let Some(words) = index.and_then(|index| self.conflicts.words(index)) else { continue };
            let (from, to) =
                (offset as usize / 4, (offset as usize + event.size as usize).div_ceil(4));
            for word in words.get(from..to).unwrap_or_default() {
                self.conflicts.touch(word, self.block, event.kind, event.operation);
            }
        }
    }
}
