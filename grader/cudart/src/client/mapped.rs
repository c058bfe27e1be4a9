//! Memory that a program maps itself: addresses that it reserves, memory without addresses, and which lies where.

use super::stdio::complain;
use crate::device::Answer;
use crate::error::CudaError;
use std::collections::BTreeMap;

/// What sizes and places are multiples of, as on an H100.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// The words of a `CUmemAllocationProp`.
pub(crate) type AllocationProp = [u64; 4];

/// All that a program has reserved and created.
#[derive(Debug, Default)]
pub(crate) struct VirtualMemory {
    /// By the first address.
    pub(super) ranges: BTreeMap<u64, Range>,
    /// By their handles.
    pub(super) created: BTreeMap<u64, Physical>,
}

/// Addresses that are reserved.
#[derive(Debug)]
pub(super) struct Range {
    pub bytes: u64,
    /// What is mapped, by the offset of its first byte.
    pub mappings: BTreeMap<u64, Mapping>,
}

/// Memory that is mapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub bytes: u64,
    pub handle: u64,
    /// Whether the device may access it.
    pub accessible: bool,
}

/// Memory that `cuMemCreate` has made.
#[derive(Debug)]
pub(super) struct Physical {
    pub bytes: u64,
    pub properties: AllocationProp,
    /// How often its handle has still to be released.
    pub references: u32,
    pub is_mapped: bool,
    /// Where its contents are while it is not mapped, if it has any.
    pub kept: Option<u64>,
}

impl Range {
    /// Where the last memory ends that may be accessed.
    pub fn accessible(&self) -> u64 {
        let ends = self.mappings.iter().filter(|(_, mapping)| mapping.accessible);
        ends.map(|(offset, mapping)| offset + mapping.bytes).max().unwrap_or(0)
    }

    /// The offsets of the mappings in these bytes, which must not cut any.
    pub fn inside(&self, offset: u64, bytes: u64) -> Answer<Vec<u64>> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes && bytes > 0);
        let end = end.ok_or(CudaError::INVALID_VALUE)?;
        let touched =
            self.mappings.range(..end).filter(|(at, mapping)| *at + mapping.bytes > offset);
        let whole = |(at, mapping): (&u64, &Mapping)| *at >= offset && at + mapping.bytes <= end;
        if touched.clone().all(whole) {
            Ok(touched.map(|(&at, _)| at).collect())
        } else {
            Err(CudaError::INVALID_VALUE)
        }
    }

    /// The offsets of the mappings that fill these bytes exactly.
    pub fn filling(&self, offset: u64, bytes: u64) -> Answer<Vec<u64>> {
        let end = offset.checked_add(bytes).ok_or(CudaError::INVALID_VALUE)?;
        let mut next = offset;
        let mut found = Vec::new();
        while next < end {
            let mapping = self.mappings.get(&next).ok_or(CudaError::INVALID_VALUE)?;
            found.push(next);
            next += mapping.bytes;
        }
        if next == end && bytes > 0 { Ok(found) } else { Err(CudaError::INVALID_VALUE) }
    }
}

impl VirtualMemory {
    /// Whether an address is reserved.
    pub fn is_reserved(&self, address: u64) -> bool {
        self.range(address).is_ok()
    }

    /// Forgets all, and says what is still allocated on the device.
    pub fn into_addresses(self) -> Vec<u64> {
        let kept = self.created.into_values().filter_map(|physical| physical.kept);
        self.ranges.into_keys().chain(kept).collect()
    }

    /// The range that an address is in, and the offset there.
    pub(super) fn range(&self, address: u64) -> Answer<(u64, u64)> {
        let (&start, range) =
            self.ranges.range(..=address).next_back().ok_or(CudaError::INVALID_VALUE)?;
        let offset = address - start;
        if offset < range.bytes { Ok((start, offset)) } else { Err(CudaError::INVALID_VALUE) }
    }

    /// The mapping that an address is in, and its first address.
    fn mapping(&self, address: u64) -> Answer<(u64, Mapping)> {
        let (start, offset) = self.range(address)?;
        let before = self.ranges[&start].mappings.range(..=offset).next_back();
        let (&first, &mapping) = before.ok_or(CudaError::INVALID_VALUE)?;
        let inside = offset - first < mapping.bytes;
        if inside { Ok((start + first, mapping)) } else { Err(CudaError::INVALID_VALUE) }
    }

    pub(super) fn physical(&mut self, handle: u64) -> Answer<&mut Physical> {
        self.created.get_mut(&handle).ok_or(CudaError::INVALID_VALUE)
    }

    /// Where memory that is mapped begins, and how much it is.
    pub fn mapped_at(&self, address: u64) -> Answer<(u64, u64)> {
        self.mapping(address).map(|(start, mapping)| (start, mapping.bytes))
    }

    /// Whether the device may access the memory at an address.
    pub fn is_accessible(&self, address: u64) -> Answer<bool> {
        self.mapping(address).map(|(_, mapping)| mapping.accessible)
    }

    /// The handle of the memory at an address, which has to be released once more.
    pub fn retain(&mut self, address: u64) -> Answer<u64> {
        let (_, mapping) = self.mapping(address)?;
        self.physical(mapping.handle)?.references += 1;
        Ok(mapping.handle)
    }

    /// What memory was made with.
    pub fn properties(&mut self, handle: u64) -> Answer<AllocationProp> {
        self.physical(handle).map(|physical| physical.properties)
    }

    /// Notes that memory is at an address from now on, where the device may not access it yet.
    pub fn map(&mut self, address: u64, bytes: u64, handle: u64) -> Answer<()> {
        let (start, offset) = self.range(address)?;
        let range = &self.ranges[&start];
        let end = offset.checked_add(bytes).filter(|&end| end <= range.bytes);
        let end = end.ok_or(CudaError::INVALID_VALUE)?;
        let overlaps = range
            .mappings
            .range(..end)
            .next_back()
            .is_some_and(|(at, other)| at + other.bytes > offset);
        let physical = self.physical(handle)?;
        let whole = [address, bytes].iter().all(|size| size.is_multiple_of(GRANULARITY));
        if overlaps || !whole || bytes == 0 || physical.references == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        // More than there is, an H100 does not support either.
        if bytes > physical.bytes {
            return Err(CudaError::NOT_SUPPORTED);
        }
        if physical.is_mapped || bytes != physical.bytes {
            complain(
                "cuMemMap: the virtual device maps memory as a whole, and in one place at a time",
            );
            return Err(CudaError::NOT_SUPPORTED);
        }
        physical.is_mapped = true;
        let mapping = Mapping { bytes, handle, accessible: false };
        if let Some(range) = self.ranges.get_mut(&start) {
            range.mappings.insert(offset, mapping);
        }
        Ok(())
    }
}
