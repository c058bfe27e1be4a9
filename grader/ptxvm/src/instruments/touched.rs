//! The bytes of global memory that a launch touches, and how: with them a host program's launches can be checked for races
//! with each other.
//!
//! What a kernel allocates itself is left out, since no other launch knows where that lies before it could be told.

use crate::finding::{AccessKind, Log};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::memory::Memory;
use crate::memory::buffer::BufferId;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// How a byte is touched. A strong access is atomic, volatile, or relaxed and stronger: two of them do not race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Touch {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// A strong load.
    StrongRead,
    /// A strong store, or an atomic.
    StrongWrite,
}

impl Touch {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::StrongRead, Self::StrongWrite];

    /// Whether the byte may change.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite)
    }

    /// Whether this access and another one of the same byte race where nothing orders them.
    pub fn conflicts_with(self, other: Self) -> bool {
        let strong = |touch| matches!(touch, Self::StrongRead | Self::StrongWrite);
        (self.writes() || other.writes()) && !(strong(self) && strong(other))
    }
}

/// Bytes of a buffer that a launch touched in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedBytes {
    /// The buffer, or the variable.
    pub buffer: BufferId,
    /// How they were touched.
    pub touch: Touch,
    /// The bytes, counted from the buffer's start: ascending ranges that do not meet.
    pub ranges: Vec<Range<u64>>,
}

/// More ranges of a buffer are not kept, so that a launch that touches every other byte takes no more than its buffers.
const MAX_RANGES: usize = 1 << 16;
/// Bytes that share a page of the map.
const PAGE: usize = 1 << 12;
/// Bytes that share a word of it.
const WORD: usize = u64::BITS as usize;

/// A bit for each byte of a page and each way to touch it.
type Page = [[AtomicU64; PAGE / WORD]; Touch::ALL.len()];

/// The pages of a buffer, each of which is there once something in it was touched.
type Pages = Box<[OnceLock<Box<Page>>]>;

/// A map of all buffers.
#[derive(Debug)]
struct TouchMap(Vec<(BufferId, Pages)>);

impl TouchMap {
    fn mark(&self, index: usize, touch: Touch, word: usize, bits: u64) {
        let page = self.0.get(index).and_then(|(_, pages)| pages.get(word / (PAGE / WORD)));
        let Some(page) = page else { return };
        let empty =
            || Box::new(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))));
        let word = &page.get_or_init(empty)[touch as usize][word % (PAGE / WORD)];
        if word.load(Relaxed) & bits != bits {
            word.fetch_or(bits, Relaxed);
        }
    }
}

/// Marks what the blocks of a launch touch. Its clones share the map.
#[derive(Clone, Debug)]
pub(crate) struct TouchMonitor(Arc<TouchMap>);

impl TouchMonitor {
    /// A monitor of a launch that has touched nothing of this memory.
    pub fn new(memory: &Memory) -> Self {
        let pages = |bytes: usize| (0..bytes.div_ceil(PAGE)).map(|_| OnceLock::new()).collect();
        Self(Arc::new(TouchMap(memory.sizes().map(|(id, bytes)| (id, pages(bytes))).collect())))
    }

    /// What was touched so far, by buffer.
    pub fn touched(&self) -> Vec<TouchedBytes> {
        let mut all = Vec::new();
        for (buffer, pages) in &self.0.0 {
            for touch in Touch::ALL {
                let ranges = ranges(pages, touch);
                if !ranges.is_empty() {
                    all.push(TouchedBytes { buffer: *buffer, touch, ranges });
                }
            }
        }
        all
    }
}

/// The marked bytes of a buffer.
fn ranges(pages: &[OnceLock<Box<Page>>], touch: Touch) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (page, number) in pages.iter().zip(0u64..) {
        let Some(page) = page.get() else { continue };
        for (word, at) in page[touch as usize].iter().zip(0u64..) {
            let mut start = number * PAGE as u64 + at * WORD as u64;
            let mut bits = word.load(Relaxed);
            while bits != 0 {
                start += u64::from(bits.trailing_zeros());
                bits >>= bits.trailing_zeros();
                let end = start + u64::from(bits.trailing_ones());
                bits = bits.checked_shr(bits.trailing_ones()).unwrap_or(0);
                let is_full = ranges.len() == MAX_RANGES;
                match ranges.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ if is_full => return ranges,
                    _ => ranges.push(start..end),
                }
                start = end;
            }
        }
    }
    ranges
}

impl Monitor for TouchMonitor {
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if event.window != Window::Global {
            return;
        }
        let touch = match (event.kind, event.strong) {
            (AccessKind::Read, false) => Touch::Read,
            (AccessKind::Write, false) => Touch::Write,
            (AccessKind::Read, true) => Touch::StrongRead,
            (AccessKind::Write, true) | (AccessKind::Atomic, _) => Touch::StrongWrite,
        };
        // Neighbouring lanes mostly touch neighbouring bytes, which are marked together.
        let mut marked = (0, 0, 0);
        for lane in lanes(event.done) {
            let address = event.addresses[lane];
            let Some((_, start)) = event.memory.slot(address) else { continue };
            let Some(index) = event.memory.writable_index(address) else { continue };
            let mut place = (address - start) as usize;
            let mut left = event.size as usize;
            while left > 0 {
                let (word, bit) = (place / WORD, place % WORD);
                let here = left.min(WORD - bit);
                let bits = u64::MAX >> (WORD - here) << bit;
                if (index, word) != (marked.0, marked.1) {
                    self.0.mark(marked.0, touch, marked.1, marked.2);
                    marked = (index, word, 0);
                }
                marked.2 |= bits;
                place += here;
                left -= here;
            }
        }
        self.0.mark(marked.0, touch, marked.1, marked.2);
    }

    #[inline(always)]
    fn can_skip(&self, reads: &WordReads) -> bool {
        reads.window != Window::Global
    }
}
