//! What the host does with global memory between launches: free, read, write, copy.

use super::Memory;
use super::buffer::{Buffer, BufferId, HostFault};

impl Memory {
    /// Gives a buffer back. Its addresses are never used again, so that a later access is always noticed.
    ///
    /// # Errors
    /// The address is not that of a buffer's first byte, or the buffer has been freed before.
    pub fn free(&mut self, address: u64) -> Result<(), HostFault> {
        match self.locate(address) {
            Some((id, 0)) if id.0 < BufferId::FIRST_VARIABLE => self.release(id),
            _ => Err(HostFault::OutOfBounds),
        }
    }

    /// Gives a buffer another length, of whole words. What it keeps has its contents; what is new was never written.
    ///
    /// # Errors
    /// The address is not that of a buffer's first byte, or the buffer has been freed.
    pub fn resize(&mut self, address: u64, bytes: usize) -> Result<(), HostFault> {
        let unwritten = self.unwritten;
        let found = self.locate(address).filter(|&(id, offset)| {
            offset == 0 && id.0 < BufferId::FIRST_VARIABLE && bytes.is_multiple_of(4)
        });
        let buffer = found.and_then(|(id, _)| self.buffer_mut(id)).ok_or(HostFault::OutOfBounds)?;
        if buffer.is_freed() {
            return Err(HostFault::Freed);
        }
        buffer.resize(bytes, unwritten);
        Ok(())
    }

    /// The `bytes` bytes at an address; those that nobody wrote are 0xFF.
    ///
    /// # Errors
    /// They are not inside one buffer.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, HostFault> {
        let (buffer, start) = self.range(address, bytes)?;
        Ok((start..start + bytes).map(|place| buffer.get(place, 1).0 as u8).collect())
    }

    /// Writes bytes at an address. Read-only buffers are read-only for kernels, not for the host.
    ///
    /// # Errors
    /// They are not inside one buffer.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostFault> {
        let (buffer, start) = self.range(address, bytes.len())?;
        if start.is_multiple_of(4) {
            let (words, rest) = bytes.as_chunks::<4>();
            for (i, word) in words.iter().enumerate() {
                buffer.put(start + 4 * i, 4, u32::from_le_bytes(*word).into());
            }
            put_bytes(buffer, start + 4 * words.len(), rest);
        } else {
            put_bytes(buffer, start, bytes);
        }
        Ok(())
    }

    /// Copies within the device. What was never written stays so.
    ///
    /// # Errors
    /// One of the ranges is not inside one buffer.
    pub fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<(), HostFault> {
        let (source, start) = self.range(from, bytes)?;
        let copied: Vec<(u8, bool)> = (start..start + bytes)
            .map(|place| (source.get(place, 1).0 as u8, source.byte_is_defined(place)))
            .collect();
        let (target, start) = self.range(to, bytes)?;
        for (place, &(byte, _)) in (start..).zip(&copied) {
            target.put(place, 1, byte.into());
        }
        let unwritten = (start..).zip(copied).filter(|(_, (_, defined))| !defined);
        let unwritten: Vec<usize> = unwritten.map(|(place, _)| place).collect();
        if let Some((id, _)) = self.locate(to)
            && let Some(target) = self.buffer_mut(id)
        {
            target.forget(&unwritten);
        }
        Ok(())
    }

    /// How many buffers have not been freed, and their bytes.
    pub fn in_use(&self) -> (usize, usize) {
        let live = self.buffers().filter(|buffer| !buffer.is_freed());
        live.fold((0, 0), |(count, bytes), buffer| (count + 1, bytes + buffer.len()))
    }

    /// Gives the device heap another size in bytes (`cudaLimitMallocHeapSize`); false once a kernel has allocated there.
    pub fn resize_heap(&mut self, bytes: u64) -> bool {
        self.heap.resize(bytes)
    }

    fn range(&self, address: u64, bytes: usize) -> Result<(&Buffer, usize), HostFault> {
        let (id, offset) = self.locate(address).ok_or(HostFault::OutOfBounds)?;
        let buffer = self.buffer(id).ok_or(HostFault::OutOfBounds)?;
        if buffer.is_freed() {
            return Err(HostFault::Freed);
        }
        let start = usize::try_from(offset).map_err(|_| HostFault::OutOfBounds)?;
        let inside = start.checked_add(bytes).is_some_and(|end| end <= buffer.len());
        if inside { Ok((buffer, start)) } else { Err(HostFault::OutOfBounds) }
    }
}

fn put_bytes(buffer: &Buffer, start: usize, bytes: &[u8]) {
    for (place, &byte) in (start..).zip(bytes) {
        buffer.put(place, 1, byte.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Init};

    #[test]
    fn the_host_reads_writes_and_frees() {
        let mut memory = Memory::default();
        let id = memory.alloc(Init::Undefined { len: 11 }, Access::ReadWrite);
        let start = memory.address(id);
        assert_eq!(memory.write(start + 1, &[1, 2, 3, 4, 5, 6]), Ok(()));
        assert_eq!(memory.write(start + 8, &[9]), Ok(()));
        let bytes = [255, 1, 2, 3, 4, 5, 6, 255, 9, 255, 255];
        assert_eq!(memory.read(start, 11), Ok(bytes.to_vec()));
        assert_eq!(memory.read(start + 1, 11), Err(HostFault::OutOfBounds));
        assert_eq!(memory.write(start - 1, &[0]), Err(HostFault::OutOfBounds));

        let other = memory.alloc(Init::Bytes(vec![0; 11]), Access::ReadWrite);
        let second = memory.address(other);
        assert_eq!(memory.copy(second, start, 11), Ok(()));
        assert_eq!(memory.bytes(other), bytes);
        // What has no flags was defined from the start, and stays so.
        assert!(memory.defined(other).iter().all(|&d| d));
        assert_eq!(memory.copy(start + 2, start + 6, 3), Ok(()));
        let defined = [false, true, true, false, true, true, true, false, true, false, false];
        assert_eq!(memory.defined(id), defined);

        assert_eq!(memory.in_use(), (2, 22));
        assert_eq!(memory.free(start + 4), Err(HostFault::OutOfBounds));
        assert_eq!(memory.free(start), Ok(()));
        assert_eq!(memory.free(start), Err(HostFault::Freed));
        assert_eq!(memory.read(start, 1), Err(HostFault::Freed));
        assert_eq!(memory.in_use(), (1, 11));
        assert_eq!(memory.locate(start + 4), Some((id, 4)));
    }

    #[test]
    fn a_buffer_grows_and_shrinks() {
        let mut memory = Memory::default();
        let id = memory.alloc(Init::Undefined { len: 0 }, Access::ReadWrite);
        let start = memory.address(id);
        assert_eq!(memory.read(start, 1), Err(HostFault::OutOfBounds));
        assert_eq!(memory.resize(start, 8), Ok(()));
        assert_eq!(memory.write(start, &[1, 2, 3, 4, 5, 6, 7, 8]), Ok(()));
        assert_eq!(memory.resize(start, 12), Ok(()));
        assert_eq!(memory.read(start + 6, 4), Ok(vec![7, 8, 255, 255]));
        assert!(memory.defined(id)[..8].iter().all(|&defined| defined));
        assert!(memory.defined(id)[8..].iter().all(|&defined| !defined));
        assert_eq!(memory.resize(start, 4), Ok(()));
        assert_eq!(memory.read(start, 4), Ok(vec![1, 2, 3, 4]));
        assert_eq!(memory.read(start, 5), Err(HostFault::OutOfBounds));
        // What comes back was never written.
        assert_eq!(memory.resize(start, 8), Ok(()));
        assert_eq!(memory.read(start + 4, 4), Ok(vec![255; 4]));
        assert_eq!(memory.defined(id), [true, true, true, true, false, false, false, false]);
        assert_eq!(memory.resize(start + 4, 8), Err(HostFault::OutOfBounds));
        assert_eq!(memory.resize(start, 6), Err(HostFault::OutOfBounds));
        let given = memory.alloc(Init::Bytes(vec![9; 4]), Access::ReadWrite);
        let given = memory.address(given);
        assert_eq!(memory.resize(given, 8), Ok(()));
        assert_eq!(memory.read(given, 8), Ok(vec![9, 9, 9, 9, 255, 255, 255, 255]));
        assert_eq!(memory.free(start), Ok(()));
        assert_eq!(memory.resize(start, 8), Err(HostFault::Freed));
    }
}
