//! The buffers of global memory, far apart. Words are relaxed atomics, because blocks of a launch run in parallel and may race.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use crate::lanes::{HALF, LaneIndices};
use crate::memory::lane_memory::{Fault, byte_flags, within_word};
use crate::memory::unwritten::Unwritten;

/// A global-memory allocation.
///
/// Numbers count up from 0 in the order of allocation. Variables of a module (`__device__`) have numbers from
/// [`BufferId::FIRST_VARIABLE`] on, what kernels allocate (`malloc`) from [`BufferId::FIRST_ON_HEAP`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

impl BufferId {
    /// The first variable of a module; buffers lie below.
    pub const FIRST_VARIABLE: usize = 1 << 20;
    /// The first allocation on the device heap; variables lie below.
    pub const FIRST_ON_HEAP: usize = 1 << 21;
    /// The first number that no address can have.
    pub(crate) const END: usize = (1 << (60 - SLOT_SHIFT)) - 1;

    /// Whether a kernel allocated it itself.
    pub(crate) fn is_on_heap(self) -> bool {
        self.0 >= Self::FIRST_ON_HEAP
    }

    /// The buffer whose slot contains an address.
    #[inline(always)]
    pub(crate) fn of(address: u64) -> Option<Self> {
        usize::try_from(address >> SLOT_SHIFT).ok()?.checked_sub(1).map(Self)
    }

    /// Where its slot begins to be used.
    pub(crate) fn address(self) -> u64 {
        ((self.0 as u64 + 1) << SLOT_SHIFT) + MIDDLE
    }
}

/// How a buffer starts.
#[derive(Clone, Debug)]
pub enum Init {
    /// Every byte is defined and has this value.
    Bytes(Vec<u8>),
    /// `len` bytes that a kernel must write before it reads them; they hold what
    /// the memory's [`Unwritten`] says.
    Undefined {
        /// The length in bytes.
        len: usize,
    },
}

/// May kernels write to a buffer?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A write is a finding.
    ReadOnly,
    /// The kernel may read and write.
    ReadWrite,
}

/// Each buffer has 2^36 bytes of addresses to itself.
const SLOT_SHIFT: u32 = 36;
/// It starts in the middle of them.
const MIDDLE: u64 = 1 << (SLOT_SHIFT - 1);

/// Why the host's access fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFault {
    /// The address is not in a buffer, or the range leaves its buffer.
    OutOfBounds,
    /// The buffer has been freed.
    Freed,
}

/// A buffer of global memory: its words, and which of its bytes are defined.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Buffer {
    pub(super) len: usize,
    /// Address of its first byte.
    pub(super) start: u64,
    words: Box<[AtomicU32]>,
    /// One flag for each byte of a word; None: all defined from the start.
    defined: Option<Box<[AtomicU8]>>,
    /// All were defined when the running launch began. What is defined stays so while kernels run.
    pub(super) whole: bool,
    /// Flags have changed since it was last checked whether all are set.
    changed: AtomicBool,
    pub(super) read_only: bool,
    /// The running launch may write it, as far as its code tells.
    pub(super) target: bool,
    /// Freed by the host: it has no bytes any more.
    pub(super) freed: bool,
}

impl Buffer {
    pub(super) fn new(init: Init, access: Access, start: u64, unwritten: Unwritten) -> Self {
        let read_only = access == Access::ReadOnly;
        match init {
            Init::Bytes(bytes) => {
                let words = bytes.chunks(4).map(|chunk| {
                    let mut word = [0xFF; 4];
                    word[..chunk.len()].copy_from_slice(chunk);
                    AtomicU32::new(u32::from_le_bytes(word))
                });
                Self {
                    len: bytes.len(),
                    start,
                    words: words.collect(),
                    defined: None,
                    whole: false,
                    changed: AtomicBool::new(true),
                    read_only,
                    target: true,
                    freed: false,
                }
            }
            Init::Undefined { len } => Self {
                len,
                start,
                words: (0..len.div_ceil(4)).map(|i| AtomicU32::new(unwritten.word(i))).collect(),
                defined: Some((0..len.div_ceil(4)).map(|_| AtomicU8::new(0)).collect()),
                whole: false,
                changed: AtomicBool::new(true),
                read_only,
                target: true,
                freed: false,
            },
        }
    }

    /// A buffer without a byte.
    pub(super) fn empty(start: u64) -> Self {
        let init = Init::Undefined { len: 0 };
        Self::new(init, Access::ReadWrite, start, Unwritten::default())
    }

    /// Gives it another length. What it keeps has its contents; what is new was never written.
    pub(super) fn resize(&mut self, len: usize, unwritten: Unwritten) {
        let words = len.div_ceil(4);
        let mut all = std::mem::take(&mut self.words).into_vec();
        all.truncate(words);
        all.extend((all.len()..words).map(|word| AtomicU32::new(unwritten.word(word))));
        let (had, flags) = (self.len, self.defined.take());
        let mut flags = flags.map_or_else(
            || (0..had).step_by(4).map(|_| AtomicU8::new(0xF)).collect(),
            <[AtomicU8]>::into_vec,
        );
        flags.resize_with(words, || AtomicU8::new(0));
        self.words = all.into_boxed_slice();
        self.defined = Some(flags.into_boxed_slice());
        self.len = len;
        self.whole = false;
        self.changed = AtomicBool::new(true);
    }

    /// A copy of the contents, with the same address and rights.
    pub(super) fn copy(&self) -> Self {
        let words = self.words.iter().map(|word| AtomicU32::new(word.load(Relaxed))).collect();
        let defined = self
            .defined
            .as_ref()
            .map(|flags| flags.iter().map(|flag| AtomicU8::new(flag.load(Relaxed))).collect());
        Self {
            len: self.len,
            start: self.start,
            words,
            defined,
            whole: self.whole,
            changed: AtomicBool::new(true),
            read_only: self.read_only,
            target: self.target,
            freed: self.freed,
        }
    }

    /// Checks whether every byte is defined.
    pub(super) fn settle(&mut self) {
        if self.whole || !std::mem::take(self.changed.get_mut()) {
            return;
        }
        let len = self.len;
        self.whole = self.defined.as_mut().is_none_or(|flags| {
            let (whole, rest) = flags.split_at_mut(len / 4);
            let all = whole.iter_mut().fold(0xF, |all, flags| all & *flags.get_mut());
            all == 0xF && rest.iter_mut().all(|flags| *flags.get_mut() == (1 << (len % 4)) - 1)
        });
    }

    /// The flags of what a launch writes, unless all are set.
    #[inline(always)]
    fn open_flags(&self) -> Option<&[AtomicU8]> {
        if self.whole {
            return None;
        }
        // Host threads share the place, and most of them find it as they want it.
        if !self.changed.load(Relaxed) {
            self.changed.store(true, Relaxed);
        }
        self.defined.as_deref()
    }

    /// Whether the running launch may write it.
    #[inline(always)]
    pub(crate) fn is_written(&self) -> bool {
        self.target && !self.read_only
    }

    /// Bytes of the flags that say what is defined.
    pub(super) fn flag_bytes(&self) -> usize {
        self.defined.as_ref().map_or(0, |flags| flags.len())
    }

    /// Bytes of a copy.
    pub(crate) fn copy_bytes(&self) -> usize {
        size_of_val(&*self.words) + self.flag_bytes()
    }

    /// Takes the contents of a copy.
    pub(super) fn copy_from(&self, old: &Self) {
        for (word, old) in self.words.iter().zip(&old.words) {
            word.store(old.load(Relaxed), Relaxed);
        }
        if let (Some(flags), Some(old)) = (&self.defined, &old.defined) {
            for (flag, old) in flags.iter().zip(old) {
                flag.store(old.load(Relaxed), Relaxed);
            }
        }
    }

    /// Returns the contents.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let words = self.words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes());
        words.take(self.len).collect()
    }

    /// Length of the buffer in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// It has no bytes from the start.
    pub(super) fn set_freed(&mut self) {
        self.freed = true;
    }

    /// Has the host given it back?
    pub fn is_freed(&self) -> bool {
        self.freed
    }

    /// Marks bytes as never written, unless all were defined from the start.
    pub fn forget(&mut self, places: &[usize]) {
        let Some(flags) = self.defined.as_mut().filter(|_| !places.is_empty()) else { return };
        for &place in places {
            *flags[place / 4].get_mut() &= !(1 << (place & 3));
        }
        self.whole = false;
        *self.changed.get_mut() = true;
    }

    /// Was this byte written, or defined from the start?
    pub fn byte_is_defined(&self, byte: usize) -> bool {
        self.defined
            .as_ref()
            .is_none_or(|flags| flags[byte / 4].load(Relaxed) >> (byte & 3) & 1 == 1)
    }

    /// All words, if those of the lanes of a mask were all written before.
    #[inline(always)]
    pub fn written(&self, words: &LaneIndices, mask: u32) -> Option<&[AtomicU32]> {
        // A last word that is not whole cannot be read as one.
        let whole = &self.words[..self.len / 4];
        let is_written = self.whole
            || self.defined.as_ref().is_none_or(|flags| {
                let is_whole = |flag: &AtomicU8| flag.load(Relaxed) == 0xF;
                let row = |first| flags.get(first..first + HALF);
                words.all_halves(
                    mask,
                    |word| flags.get(word).is_some_and(is_whole),
                    |first| row(first).is_some_and(|row| row.iter().all(is_whole)),
                )
            });
        is_written.then_some(whole)
    }

    /// Stores a row of whole aligned words; false, and nothing done, where that is not simply possible.
    #[inline(always)]
    pub fn set_row(&self, offset: u64, values: &[u32; HALF]) -> bool {
        let first = (offset >> 2) as usize;
        let whole = &self.words[..self.len / 4];
        let Some(row) = whole.get(first..).and_then(<[AtomicU32]>::first_chunk::<HALF>) else {
            return false;
        };
        if offset & 3 != 0 || self.read_only {
            return false;
        }
        for (word, &value) in row.iter().zip(values) {
            word.store(value, Relaxed);
        }
        if let Some(flags) = self.open_flags() {
            for flag in &flags[first..first + HALF] {
                flag.store(0xF, Relaxed);
            }
        }
        true
    }

    /// Stores a whole aligned word; false where that is not simply possible.
    #[inline(always)]
    pub fn set_word(&self, offset: u64, value: u32) -> bool {
        let whole = &self.words[..self.len / 4];
        let Some(word) = whole.get((offset >> 2) as usize) else { return false };
        if offset & 3 != 0 || self.read_only {
            return false;
        }
        word.store(value, Relaxed);
        if let Some(flags) = self.open_flags() {
            flags[(offset >> 2) as usize].store(0xF, Relaxed);
        }
        true
    }

    /// Whether `size` bytes at `offset` may be accessed.
    pub fn check(&self, offset: u64, size: u32, write: bool) -> Result<usize, Fault> {
        let len = self.len as u64;
        if self.freed {
            Err(Fault::Freed)
        } else if offset >= len || len - offset < u64::from(size) {
            Err(Fault::OutOfBounds)
        } else if !offset.is_multiple_of(size.into()) {
            Err(Fault::Misaligned)
        } else if write && self.read_only {
            Err(Fault::ReadOnly)
        } else {
            Ok(offset as usize)
        }
    }

    /// 1, 2, 4 or 8 bytes at a checked place, and whether any was written before.
    pub fn get(&self, place: usize, bytes: u32) -> (u64, bool) {
        if bytes == 8 {
            let (low, first) = self.get(place, 4);
            let (high, second) = self.get(place + 4, 4);
            return (low | high << 32, first || second);
        }
        let word = self.words[place / 4].load(Relaxed);
        let flags = byte_flags(place, bytes);
        let defined =
            self.defined.as_ref().is_none_or(|all| all[place / 4].load(Relaxed) & flags != 0);
        if bytes == 4 {
            return (word.into(), defined);
        }
        let (mask, shift) = within_word(place, bytes);
        (((word & mask) >> shift).into(), defined)
    }

    /// Writes 1, 2, 4 or 8 bytes at a checked place. Neighbouring bytes are safe from a racing write.
    pub fn put(&self, place: usize, bytes: u32, value: u64) {
        if bytes == 8 {
            self.put(place, 4, value);
            self.put(place + 4, 4, value >> 32);
            return;
        }
        if bytes == 4 {
            self.words[place / 4].store(value as u32, Relaxed);
        } else {
            let (mask, shift) = within_word(place, bytes);
            let new = (value as u32) << shift & mask;
            self.update(place / 4, |word| (word & !mask) | new);
        }
        self.define(place, bytes);
    }

    /// Replaces a word by a function of it, as one step; the old word. `new` may run more than once.
    pub fn update(&self, index: usize, new: impl Fn(u32) -> u32) -> u32 {
        let word = &self.words[index];
        let mut old = word.load(Relaxed);
        loop {
            match word.compare_exchange_weak(old, new(old), Relaxed, Relaxed) {
                Ok(old) => return old,
                Err(now) => old = now,
            }
        }
    }

    /// Marks at most 4 bytes of one word as written.
    pub fn define(&self, place: usize, bytes: u32) {
        if let Some(flags) = self.open_flags() {
            flags[place / 4].fetch_or(byte_flags(place, bytes), Relaxed);
        }
    }
}
