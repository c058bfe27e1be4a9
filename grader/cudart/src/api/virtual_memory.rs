//! The driver's functions for memory that a program maps itself: reserved addresses, and memory that comes there.

use super::c::{put, values};
use super::table::table;
use crate::client::{AllocationProp, GRANULARITY, complain, enter};
use crate::device::Answer;
use crate::error::CudaError;
use std::ffi::{c_int, c_void};

/// Defines `TABLE`, as [`table!`] does, and the addresses by name.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        table![$($name),*];
        /// All of them, by name.
        pub(super) const FUNCTIONS: &[(&str, *const ())] = &[$((stringify!($name), $name as *const ())),*];
    };
}

functions![
    cuMemGetAllocationGranularity,
    cuMemAddressReserve,
    cuMemAddressFree,
    cuMemCreate,
    cuMemRelease,
    cuMemMap,
    cuMemUnmap,
    cuMemSetAccess,
    cuMemGetAccess,
    cuMemRetainAllocationHandle,
    cuMemGetAllocationPropertiesFromHandle,
    cuMemGetAddressRange_v2,
];

/// The C type `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    kind: c_int,
    id: c_int,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const ON_DEVICE: c_int = 1;

impl Location {
    /// An error for all but the only device.
    fn check(self) -> Answer<()> {
        match (self.kind, self.id) {
            (ON_DEVICE, 0) => Ok(()),
            (ON_DEVICE, _) => Err(CudaError::INVALID_DEVICE),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}

/// The C type `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AccessDesc {
    location: Location,
    flags: u64,
}

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const READ_AND_WRITE: c_int = 3;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;

/// The properties of memory of the device.
///
/// # Safety
/// `from` is null or such a structure.
unsafe fn properties(from: *const AllocationProp) -> Answer<AllocationProp> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; by contract.
    let words = unsafe { from.read_unaligned() };
    let halves = |word: u64| (word as u32, (word >> 32) as u32);
    let ((kind, exported), (location, id)) = (halves(words[0]), halves(words[1]));
    if kind != PINNED {
        return Err(CudaError::INVALID_VALUE);
    }
    if exported != 0 {
        complain("memory for other processes (requestedHandleTypes) is not supported here");
        return Err(CudaError::NOT_SUPPORTED);
    }
    Location { kind: location as c_int, id: id as c_int }.check().map(|()| words)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAllocationGranularity(
    to: *mut usize,
    of: *const AllocationProp,
    _option: c_int,
) -> u32 {
    // SAFETY: the program passes properties, and null or the place of a size.
    enter(|_| unsafe { properties(of).and_then(|_| put(to, GRANULARITY as usize)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAddressReserve(
    to: *mut u64,
    bytes: usize,
    alignment: usize,
    _wish: u64,
    flags: u64,
) -> u32 {
    enter(|client| {
        if to.is_null() || flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = client.reserve_addresses(bytes as u64, alignment as u64)?;
        // SAFETY: not null; the program says it is an address.
        unsafe { put(to, address) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemAddressFree(address: u64, bytes: usize) -> u32 {
    enter(|client| client.free_addresses(address, bytes as u64))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemCreate(
    to: *mut u64,
    bytes: usize,
    of: *const AllocationProp,
    flags: u64,
) -> u32 {
    enter(|client| {
        if to.is_null() || flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program passes properties.
        let properties = unsafe { properties(of)? };
        let handle = client.create_memory(bytes as u64, properties)?;
        // SAFETY: not null; the program says it is a handle.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemRelease(handle: u64) -> u32 {
    enter(|client| client.release_memory(handle))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> u32 {
    enter(|client| {
        if flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        // "Currently must be zero" (CUDA Driver API, "cuMemMap"), which an H100 answers so.
        if offset != 0 {
            return Err(CudaError::NOT_SUPPORTED);
        }
        client.mapped.map(address, bytes as u64, handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> u32 {
    enter(|client| client.unmap_memory(address, bytes as u64))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemSetAccess(
    address: u64,
    bytes: usize,
    list: *const AccessDesc,
    count: usize,
) -> u32 {
    enter(|client| {
        // SAFETY: the program says that so many descriptions lie there.
        let list = unsafe { values(list, count) };
        if list.is_empty() {
            return Err(CudaError::INVALID_VALUE);
        }
        for access in &list {
            access.location.check()?;
            if access.flags as c_int != READ_AND_WRITE {
                complain("cuMemSetAccess: the virtual device maps memory to read and write");
                return Err(CudaError::NOT_SUPPORTED);
            }
        }
        client.give_access(address, bytes as u64)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAccess(to: *mut u64, location: *const Location, address: u64) -> u32 {
    enter(|client| {
        if location.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is a location.
        unsafe { location.read_unaligned() }.check()?;
        let accessible = client.mapped.is_accessible(address)?;
        // SAFETY: null is refused; else the program says they are flags.
        unsafe { put(to, if accessible { READ_AND_WRITE as u64 } else { 0 }) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemRetainAllocationHandle(to: *mut u64, address: *const c_void) -> u32 {
    enter(|client| {
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let handle = client.mapped.retain(address as u64)?;
        // SAFETY: not null; the program says it is a handle.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAllocationPropertiesFromHandle(
    to: *mut AllocationProp,
    handle: u64,
) -> u32 {
    // SAFETY: null is refused; else the program says they are properties.
    enter(|client| unsafe { put(to, client.mapped.properties(handle)?) })
}

/// The memory that an address is in. Both results may be null.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetAddressRange_v2(
    start: *mut u64,
    bytes: *mut usize,
    address: u64,
) -> u32 {
    enter(|client| {
        let shared = client.managed.holding(address).map(|(start, pages)| (start, pages.bytes));
        let allocated = shared.or_else(|| client.allocation(address));
        let (first, size) = match client.mapped.mapped_at(address) {
            Ok(mapped) => mapped,
            // The address behind an allocation is not in it.
            Err(_) => allocated
                .filter(|&(start, bytes)| address - start < bytes)
                .ok_or(CudaError::SYMBOL_NOT_FOUND)?,
        };
        // SAFETY: each is null, or what the program says.
        unsafe {
            put(start, first).ok();
            put(bytes, size as usize).ok();
        }
        Ok(())
    })
}
