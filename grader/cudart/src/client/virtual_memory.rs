//! What a program does with memory that it maps itself.

use super::context::Client;
use super::mapped::{AllocationProp, GRANULARITY, Mapping, Physical, Range};
use crate::device::{Answer, Awaited, Device};
use crate::error::CudaError;
use std::collections::BTreeMap;

/// The most addresses of one reservation.
const MOST: u64 = 32 << 30;

impl Client {
    /// Reserves addresses.
    pub fn reserve_addresses(&mut self, bytes: u64, alignment: u64) -> Answer<u64> {
        let aligned = alignment == 0 || alignment.is_power_of_two();
        if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) || !aligned {
            return Err(CudaError::INVALID_VALUE);
        }
        if bytes > MOST || alignment > MOST {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let address = self.reserve()?;
        self.mapped.ranges.insert(address, Range { bytes, mappings: BTreeMap::new() });
        Ok(address)
    }

    /// Gives reserved addresses back.
    pub fn free_addresses(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let range = self.mapped.ranges.get(&address).ok_or(CudaError::INVALID_VALUE)?;
        if range.bytes != bytes || !range.mappings.is_empty() {
            return Err(CudaError::INVALID_VALUE);
        }
        self.mapped.ranges.remove(&address);
        self.allocations.remove(&address);
        Device::free(self, address)
    }

    /// Makes memory without addresses; its handle.
    pub fn create_memory(&mut self, bytes: u64, properties: AllocationProp) -> Answer<u64> {
        if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) {
            return Err(CudaError::INVALID_VALUE);
        }
        // What is not accessible yet is not taken from the device yet.
        let waiting = self.mapped.created.values().filter(|other| !other.is_mapped);
        let waiting: u64 = waiting.map(|other| other.bytes).sum();
        if self.memory_info()?.free.saturating_sub(waiting) < bytes {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let handle = self.fresh_number();
        let physical = Physical { bytes, properties, references: 1, is_mapped: false, kept: None };
        self.mapped.created.insert(handle, physical);
        Ok(handle)
    }

    /// Releases a handle. What is mapped stays until it is unmapped.
    pub fn release_memory(&mut self, handle: u64) -> Answer<()> {
        let physical = self.mapped.physical(handle)?;
        physical.references = physical.references.checked_sub(1).ok_or(CudaError::INVALID_VALUE)?;
        self.drop_unused(handle)
    }

    /// Frees memory that is not mapped and has no handle.
    fn drop_unused(&mut self, handle: u64) -> Answer<()> {
        let physical = self.mapped.physical(handle)?;
        if physical.references > 0 || physical.is_mapped {
            return Ok(());
        }
        let kept = physical.kept;
        self.mapped.created.remove(&handle);
        kept.map_or(Ok(()), |address| Device::free(self, address))
    }

    /// Lets the device access all that is mapped in a range, which it must fill.
    pub fn give_access(&mut self, address: u64, bytes: u64) -> Answer<()> {
        let (start, offset) = self.mapped.range(address)?;
        let Some(range) = self.mapped.ranges.get_mut(&start) else { return Ok(()) };
        let filling = range.filling(offset, bytes)?;
        let before = range.mappings.clone();
        for at in &filling {
            if let Some(mapping) = range.mappings.get_mut(at) {
                mapping.accessible = true;
            }
        }
        let end = range.accessible();
        let grown = self.resize_range(start, end);
        if grown.is_err() {
            if let Some(range) = self.mapped.ranges.get_mut(&start) {
                range.mappings = before;
            }
            return grown;
        }
        let new = filling.into_iter().filter(|at| !before[at].accessible);
        for (at, Mapping { bytes, handle, .. }) in new.map(|at| (at, before[&at])) {
            if let Some(kept) = self.mapped.physical(handle)?.kept.take() {
                Device::copy(self, start + at, kept, bytes)?;
                Device::free(self, kept)?;
            }
        }
        Ok(())
    }

    /// Takes memory from its addresses, as far as there is any (as on an H100). Its contents stay with its handle.
    pub fn unmap_memory(&mut self, address: u64, bytes: u64) -> Answer<()> {
        self.synchronise(Awaited::Device)?;
        let (start, offset) = self.mapped.range(address)?;
        let Some(range) = self.mapped.ranges.get_mut(&start) else { return Ok(()) };
        let inside = range.inside(offset, bytes)?;
        let before = range.mappings.clone();
        range.mappings.retain(|at, _| !inside.contains(at));
        let left = range.accessible();
        for (at, mapping) in inside.into_iter().map(|at| (at, before[&at])) {
            let physical = self.mapped.physical(mapping.handle)?;
            physical.is_mapped = false;
            let keeps = physical.references > 0;
            if mapping.accessible && keeps {
                let kept = Device::alloc(self, mapping.bytes)?;
                Device::copy(self, kept, start + at, mapping.bytes)?;
                self.mapped.physical(mapping.handle)?.kept = Some(kept);
            }
            if mapping.accessible && at < left {
                // A gap stays before what is mapped behind it: what was there is not written any more.
                let unwritten = Device::alloc(self, mapping.bytes)?;
                Device::copy(self, start + at, unwritten, mapping.bytes)?;
                Device::free(self, unwritten)?;
            }
            self.drop_unused(mapping.handle)?;
        }
        self.resize_range(start, left)
    }

    /// Gives a reservation so many bytes from its first address on.
    fn resize_range(&mut self, start: u64, bytes: u64) -> Answer<()> {
        self.resize(start, bytes)?;
        if bytes == 0 {
            self.allocations.remove(&start);
        } else {
            self.allocations.insert(start, bytes);
        }
        Ok(())
    }
}
