//! Global memory: buffers far apart. Words are relaxed atomics, because blocks of a launch run in parallel and may race.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};

use super::heap::{Heap, HeapUse};
use super::host::HostFault;
use super::slot_table::{self, SlotTable};
use crate::lanes::LaneIndices;
use crate::memory::lane_memory::{Fault, LaneMemory, byte_flags, within_word};

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
    /// `len` bytes that a kernel must write before it reads them; filled with 0xFF (a NaN in every float type).
    Undefined {
        /// Length in bytes.
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

/// A buffer of global memory: its words, and which of its bytes are defined.
#[derive(Debug)]
pub struct Buffer {
    len: usize,
    /// Address of its first byte.
    start: u64,
    words: Box<[AtomicU32]>,
    /// One flag for each byte of a word; None: all defined from the start.
    defined: Option<Box<[AtomicU8]>>,
    /// All were defined when the running launch began. What is defined stays so while kernels run.
    whole: bool,
    /// Flags have changed since it was last checked whether all are set.
    changed: AtomicBool,
    read_only: bool,
    /// Freed by the host: it has no bytes any more.
    freed: bool,
}

impl Buffer {
    pub(super) fn new(init: Init, access: Access, start: u64) -> Self {
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
                    freed: false,
                }
            }
            Init::Undefined { len } => Self {
                len,
                start,
                words: (0..len.div_ceil(4)).map(|_| AtomicU32::new(u32::MAX)).collect(),
                defined: Some((0..len.div_ceil(4)).map(|_| AtomicU8::new(0)).collect()),
                whole: false,
                changed: AtomicBool::new(true),
                read_only,
                freed: false,
            },
        }
    }

    fn copy(&self) -> Self {
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
            freed: self.freed,
        }
    }

    /// Checks whether every byte is defined.
    fn settle(&mut self) {
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

    fn flag_bytes(&self) -> usize {
        self.defined.as_ref().map_or(0, |flags| flags.len())
    }

    /// Bytes of a copy.
    pub(crate) fn copy_bytes(&self) -> usize {
        size_of_val(&*self.words) + self.flag_bytes()
    }

    fn copy_from(&self, old: &Self) {
        for (word, old) in self.words.iter().zip(&old.words) {
            word.store(old.load(Relaxed), Relaxed);
        }
        if let (Some(flags), Some(old)) = (&self.defined, &old.defined) {
            for (flag, old) in flags.iter().zip(old) {
                flag.store(old.load(Relaxed), Relaxed);
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
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

    /// The words of all lanes, if those of the mask were all written before.
    #[inline(always)]
    pub fn gather(&self, words: &LaneIndices, mask: u32, values: &mut [u32; 32]) -> bool {
        // A last word that is not whole cannot be read as one.
        let whole = &self.words[..self.len / 4];
        if words.reach == 0 {
            let Some(word) = whole.get(words.first as usize) else { return false };
            *values = [word.load(Relaxed); 32];
        } else {
            for (value, &at) in values.iter_mut().zip(&words.index.0) {
                let Some(word) = whole.get(at as usize) else { return false };
                *value = word.load(Relaxed);
            }
        }
        self.whole
            || self.defined.as_ref().is_none_or(|flags| {
                words
                    .all(mask, |word| flags.get(word).is_some_and(|flag| flag.load(Relaxed) == 0xF))
            })
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

/// Variables of one module, as its launches left them.
#[derive(Debug)]
struct Variables {
    module: u64,
    /// Index of the first one in `Memory::variables`.
    first: usize,
}

/// Global memory of the virtual device: buffers far apart, so that no overflow reaches a neighbour.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) buffers: Vec<Buffer>,
    /// Which of them lie where a process can have them too.
    pub(super) dense: SlotTable,
    /// Numbers of buffers that are not used.
    pub(super) skipped: usize,
    variables: Vec<(String, Buffer)>,
    modules: Vec<Variables>,
    pub(crate) heap: Heap,
    /// For each buffer, those of the variables last, whether the running launch may write it.
    written: Vec<bool>,
}

impl Memory {
    /// Allocates a buffer with these contents and access rights.
    pub fn alloc(&mut self, init: Init, access: Access) -> BufferId {
        self.skip_window();
        let start = BufferId(self.buffers.len()).address();
        self.add(Buffer::new(init, access, start))
    }

    pub(super) fn add(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() - 1)
    }

    /// The buffer, variable or heap allocation whose slot contains an address, if there is one.
    #[inline(always)]
    fn id(&self, address: u64) -> Option<BufferId> {
        if slot_table::holds(address) {
            return self.dense.buffer(address).map(BufferId);
        }
        BufferId::of(address)
    }

    /// The address kernels see. Every buffer has one, aligned to 256 bytes and more.
    pub fn address(&self, id: BufferId) -> u64 {
        self.buffer(id).map_or_else(|| id.address(), |buffer| buffer.start)
    }

    /// Contents; empty for an unknown buffer, and for what was freed.
    pub fn bytes(&self, id: BufferId) -> Vec<u8> {
        match self.buffer(id) {
            Some(buffer) => buffer.bytes(),
            None => self.heap.bytes(id),
        }
    }

    /// What kernels have allocated (`malloc`, `new`) and not freed. It stays there from launch to launch.
    pub fn heap_use(&self) -> HeapUse {
        self.heap.in_use()
    }

    /// One flag for each byte: was it defined, at the start or by a kernel?
    pub fn defined(&self, id: BufferId) -> Vec<bool> {
        let Some(buffer) = self.buffer(id) else { return Vec::new() };
        (0..buffer.len).map(|byte| buffer.byte_is_defined(byte)).collect()
    }

    /// Bytes of a buffer; 0 for an unknown one.
    pub fn size(&self, id: BufferId) -> usize {
        self.buffer(id).map_or_else(|| self.heap.size(id), |buffer| buffer.len)
    }

    /// Name of a module variable, as in the PTX; None for a buffer.
    pub fn variable_name(&self, id: BufferId) -> Option<&str> {
        let index = id.0.checked_sub(BufferId::FIRST_VARIABLE)?;
        self.variables.get(index).map(|(name, _)| name.as_str())
    }

    /// The buffer that an address belongs to, or was meant for, and the offset in bytes from its start.
    pub fn locate(&self, address: u64) -> Option<(BufferId, i64)> {
        let id = self.id(address)?;
        if self.buffer(id).is_none() && !self.heap.knows(id) {
            return None;
        }
        Some((id, address.wrapping_sub(self.address(id)) as i64))
    }

    /// Gets ready for a launch that writes the buffers with one of these addresses alone; None: any.
    pub(crate) fn prepare(&mut self, written: Option<&[u64]>) {
        let variables = self.variables.iter_mut().map(|(_, buffer)| buffer);
        for buffer in self.buffers.iter_mut().chain(variables) {
            buffer.settle();
        }
        let all = self.writable().map(|buffer| written.is_none() && buffer.is_some());
        let mut all: Vec<bool> = all.collect();
        for index in written.into_iter().flatten().filter_map(|&at| self.writable_index(at)) {
            if let Some(flag) = all.get_mut(index) {
                *flag = true;
            }
        }
        self.written = all;
    }

    /// All buffers, then all variables; None for read-only ones.
    fn writable(&self) -> impl Iterator<Item = Option<&Buffer>> {
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        self.buffers.iter().chain(variables).map(|buffer| (!buffer.read_only).then_some(buffer))
    }

    /// The same, and None for those that the running launch does not write either.
    fn written(&self) -> impl Iterator<Item = Option<&Buffer>> {
        let written = self.written.iter().copied().chain(std::iter::repeat(true));
        self.writable().zip(written).map(|(buffer, written)| buffer.filter(|_| written))
    }

    /// Sizes of those buffers.
    pub(crate) fn written_sizes(&self) -> impl Iterator<Item = Option<usize>> {
        self.written().map(|buffer| buffer.map(|buffer| buffer.len))
    }

    /// Whether an address lies in a buffer that the running launch may write.
    #[inline(always)]
    pub(crate) fn is_written(&self, address: u64) -> bool {
        let Some(id) = self.id(address) else { return false };
        match self.buffer(id) {
            Some(buffer) => {
                let flag = self.writable_index(address).and_then(|index| self.written.get(index));
                !buffer.read_only && flag != Some(&false)
            }
            None => self.heap.knows(id),
        }
    }

    /// The value of `bytes` bytes at an offset of a buffer; None if that is outside.
    pub(crate) fn value(&self, id: BufferId, offset: u64, bytes: u32) -> Option<u64> {
        let Some(buffer) = self.buffer(id) else {
            let address = id.address().wrapping_add(offset);
            self.heap.check(address, bytes).ok()?;
            return Some(self.heap.get(address, bytes).0);
        };
        let place = buffer.check(offset, bytes, false).ok()?;
        Some(buffer.get(place, bytes).0)
    }

    /// Index of an address's buffer in that list.
    #[inline(always)]
    pub(crate) fn writable_index(&self, address: u64) -> Option<usize> {
        let BufferId(id) = self.id(address)?;
        Some(match id.checked_sub(BufferId::FIRST_VARIABLE) {
            None => id,
            // Behind all others.
            Some(_) if BufferId(id).is_on_heap() => id,
            Some(variable) => self.buffers.len() + variable,
        })
    }

    /// Bytes of the flags that say what is defined.
    pub(crate) fn flag_bytes(&self) -> usize {
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        self.buffers.iter().chain(variables).map(Buffer::flag_bytes).sum()
    }

    /// Copies of everything that the running launch may write, to go back to.
    pub(crate) fn snapshot(&self) -> Vec<Option<Buffer>> {
        self.written().map(|buffer| buffer.map(Buffer::copy)).collect()
    }

    /// Puts everything back as it was.
    pub(crate) fn restore(&self, snapshot: &[Option<Buffer>]) {
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        for (buffer, old) in self.buffers.iter().chain(variables).zip(snapshot) {
            if let Some(old) = old {
                buffer.copy_from(old);
            }
        }
    }

    /// All buffers that the host allocated, freed ones too.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter()
    }

    /// Drops the contents of a buffer that the host frees.
    pub(crate) fn release(&mut self, id: BufferId) -> Result<(), HostFault> {
        let buffer = self.buffers.get_mut(id.0).ok_or(HostFault::OutOfBounds)?;
        if buffer.freed {
            return Err(HostFault::Freed);
        }
        *buffer = Buffer::new(Init::Undefined { len: 0 }, Access::ReadWrite, buffer.start);
        buffer.freed = true;
        self.dense.release(buffer.start);
        Ok(())
    }

    pub(crate) fn buffer_mut(&mut self, id: BufferId) -> Option<&mut Buffer> {
        match id.0.checked_sub(BufferId::FIRST_VARIABLE) {
            None => self.buffers.get_mut(id.0),
            Some(index) => self.variables.get_mut(index).map(|(_, buffer)| buffer),
        }
    }

    pub(crate) fn buffer(&self, id: BufferId) -> Option<&Buffer> {
        match id.0.checked_sub(BufferId::FIRST_VARIABLE) {
            None => self.buffers.get(id.0),
            Some(index) => self.variables.get(index).map(|(_, buffer)| buffer),
        }
    }

    /// The buffer in whose slot an address lies, and the address of its start.
    #[inline(always)]
    pub(crate) fn slot(&self, address: u64) -> Option<(&Buffer, u64)> {
        let buffer = self.buffer(self.id(address)?)?;
        Some((buffer, buffer.start))
    }

    /// Number of the first variable of a module, if its variables are here already.
    pub(crate) fn module_variables(&self, module: u64) -> Option<BufferId> {
        let found = self.modules.iter().find(|variables| variables.module == module)?;
        Some(BufferId(BufferId::FIRST_VARIABLE + found.first))
    }

    /// Adds the variables of a module: name and contents. Their numbers follow each other.
    pub(crate) fn add_variables(
        &mut self,
        module: u64,
        variables: impl Iterator<Item = (String, Vec<u8>)>,
    ) {
        self.modules.push(Variables { module, first: self.variables.len() });
        for (name, bytes) in variables {
            let start = self.next_variable().address();
            self.variables.push((name, Buffer::new(Init::Bytes(bytes), Access::ReadWrite, start)));
        }
    }

    /// The first variable of a number that no module has, brought there at first need: what the driver keeps beside a kernel.
    pub(crate) fn hidden_variable(&mut self, name: &str, bytes: usize) -> BufferId {
        if let Some(id) = self.module_variables(u64::MAX) {
            return id;
        }
        let id = self.next_variable();
        self.add_variables(u64::MAX, std::iter::once((name.to_owned(), vec![0; bytes])));
        id
    }

    /// The hidden variable, if it is there.
    pub(crate) fn hidden(&self) -> Option<BufferId> {
        self.module_variables(u64::MAX)
    }

    /// The address that the next module's first variable will have.
    pub(crate) fn next_variable(&self) -> BufferId {
        BufferId(BufferId::FIRST_VARIABLE + self.variables.len())
    }
}

/// Lanes' view of global memory.
impl LaneMemory for &Memory {
    fn check(&self, _lane: usize, address: u64, size: u32, write: bool) -> Result<usize, Fault> {
        match self.slot(address) {
            Some((buffer, start)) => {
                buffer.check(address.wrapping_sub(start), size, write)?;
            }
            None => self.heap.check(address, size)?,
        }
        Ok(address as usize)
    }

    fn get(&self, _lane: usize, place: usize, bytes: u32) -> (u64, bool) {
        match self.slot(place as u64) {
            Some((buffer, start)) => buffer.get((place as u64 - start) as usize, bytes),
            None => self.heap.get(place as u64, bytes),
        }
    }

    fn put(&mut self, _lane: usize, place: usize, bytes: u32, value: u64) {
        match self.slot(place as u64) {
            Some((buffer, start)) => buffer.put((place as u64 - start) as usize, bytes, value),
            None => self.heap.put(place as u64, bytes, value),
        }
    }
}
