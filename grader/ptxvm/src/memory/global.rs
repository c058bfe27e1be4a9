//! Global memory: the buffers of the host, the variables of modules, and the heap of kernels.

#[cfg(test)]
mod tests;

use super::Memory;
use super::buffer::{Access, Buffer, BufferId, HostFault, Init};
use super::heap::HeapUse;
use super::slot_table;
use super::unwritten::Unwritten;
use crate::memory::lane_memory::{Fault, LaneMemory};

/// Variables of one module, as its launches left them.
#[derive(Debug)]
pub(super) struct Variables {
    module: u64,
    /// Index of the first one in `Memory::variables`.
    first: usize,
}

impl Memory {
    /// Memory without buffers, which holds this until something writes it.
    pub fn holding(unwritten: Unwritten) -> Self {
        Self { unwritten, ..Self::default() }
    }

    /// Allocates a buffer with these contents and access rights.
    pub fn alloc(&mut self, init: Init, access: Access) -> BufferId {
        self.skip_window();
        let start = BufferId(self.buffers.len()).address();
        self.add(Buffer::new(init, access, start, self.unwritten))
    }

    /// Leaves out the numbers of buffers whose own slots lie in the window.
    pub(super) fn skip_window(&mut self) {
        if !slot_table::holds(BufferId(self.buffers.len()).address()) {
            return;
        }
        while slot_table::holds(BufferId(self.buffers.len()).address()) {
            let start = BufferId(self.buffers.len()).address();
            let mut none = Buffer::empty(start);
            none.set_freed();
            self.add(none);
            self.skipped += 1;
        }
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

    /// Allocates memory for a kernel that calls `malloc`; None if there is no room for it.
    pub(crate) fn malloc(&self, size: u64) -> Option<u64> {
        self.heap.alloc(size, self.unwritten)
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

    /// For each element of `size` bytes: was all of it defined, at the start or by a kernel?
    pub fn defined_elements(&self, id: BufferId, size: usize) -> Vec<bool> {
        let defined = self.defined(id);
        // Most often every byte is, which is one look.
        if defined.contains(&false) {
            defined.chunks(size).map(|element| !element.contains(&false)).collect()
        } else {
            vec![true; defined.len().div_ceil(size)]
        }
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
            buffer.target = written.is_none();
        }
        for &address in written.into_iter().flatten() {
            if let Some(buffer) = self.id(address).and_then(|id| self.buffer_mut(id)) {
                buffer.target = true;
            }
        }
    }

    /// All buffers, then all variables; None for those that the running launch does not write.
    fn written(&self) -> impl Iterator<Item = Option<&Buffer>> {
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        self.buffers.iter().chain(variables).map(|buffer| buffer.is_written().then_some(buffer))
    }

    /// Sizes of those buffers.
    pub(crate) fn written_sizes(&self) -> impl Iterator<Item = Option<usize>> {
        self.written().map(|buffer| buffer.map(|buffer| buffer.len))
    }

    /// All buffers and variables with their bytes, in the order of [`Self::writable_index`].
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (BufferId, usize)> {
        let buffers = self.buffers.iter().enumerate();
        let variables = self.variables.iter().map(|(_, buffer)| buffer);
        buffers
            .map(|(id, buffer)| (BufferId(id), buffer.len))
            .chain((BufferId::FIRST_VARIABLE..).zip(variables).map(|(id, v)| (BufferId(id), v.len)))
    }

    /// Whether an address lies in a buffer that the running launch may write.
    #[inline(always)]
    pub(crate) fn is_written(&self, address: u64) -> bool {
        let Some(id) = self.id(address) else { return false };
        match self.buffer(id) {
            Some(buffer) => buffer.is_written(),
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

    /// Where the shadow of an address's buffer begins: the number of the buffer, and bytes. Allocations of the device heap
    /// share numbers.
    #[inline(always)]
    pub(crate) fn shadow_start(&self, address: u64) -> Option<(usize, u64)> {
        /// Bytes of a number, as a power of two.
        const EACH: u32 = 40;
        let index = self.writable_index(address)?;
        if index < BufferId::FIRST_ON_HEAP {
            return Some((index, 0));
        }
        let start = self.heap.packed(BufferId(index));
        Some((BufferId::FIRST_ON_HEAP + (start >> EACH) as usize, start & ((1 << EACH) - 1)))
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
        *buffer = Buffer::empty(buffer.start);
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
            self.variables.push((
                name,
                Buffer::new(Init::Bytes(bytes), Access::ReadWrite, start, self.unwritten),
            ));
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
