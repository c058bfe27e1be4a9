//! Stream-ordered memory: allocations in a stream, and the pools that they come from.

use super::c::{put, values};
use super::memory::{alloc, free};
use super::streams::meant;
use super::table::table;
use crate::client::{Client, Work, enter};
use crate::device::Answer;
use crate::error::CudaError;
use std::ffi::{c_int, c_void};

table![
    cudaMallocAsync,
    cudaMallocFromPoolAsync,
    cudaFreeAsync,
    cudaMemPoolCreate,
    cudaMemPoolDestroy,
    cudaMemPoolTrimTo,
    cudaMemPoolSetAttribute,
    cudaMemPoolGetAttribute,
    cudaMemPoolSetAccess,
    cudaMemPoolGetAccess,
    cudaDeviceGetDefaultMemPool,
    cudaDeviceGetMemPool,
    cudaDeviceSetMemPool,
];

/// # Safety
/// `to` is null, or valid for an address.
unsafe fn alloc_from(
    client: &mut Client,
    to: *mut u64,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> Answer<()> {
    let stream = meant(client, stream)?;
    if to.is_null() || !client.pools.all.contains_key(&pool) {
        return Err(CudaError::INVALID_VALUE);
    }
    let address = alloc(client, bytes as u64)?;
    if client.capture(stream, Work::Allocate(address))? {
        client.graphs.memory.insert(address);
    } else {
        client.allocated_from(pool, address, bytes as u64);
        client.note_whole("cudaMallocAsync", stream, address);
    }
    // SAFETY: not null; the program says it is a pointer to a pointer.
    unsafe { put(to, address) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocAsync(to: *mut u64, bytes: usize, stream: u64) -> u32 {
    enter(|client| {
        let pool = client.current_pool();
        // SAFETY: the same contract.
        unsafe { alloc_from(client, to, bytes, pool, stream) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocFromPoolAsync(
    to: *mut u64,
    bytes: usize,
    pool: u64,
    stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    enter(|client| unsafe { alloc_from(client, to, bytes, pool, stream) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeAsync(address: u64, stream: u64) -> u32 {
    enter(|client| {
        let stream = meant(client, stream)?;
        if client.capture(stream, Work::Free(address))? {
            return Ok(());
        }
        client.in_stream(stream, |client| {
            client.note_whole("cudaFreeAsync", stream, address);
            free(client, address)
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolCreate(to: *mut u64, properties: *const c_void) -> u32 {
    enter(|client| {
        if to.is_null() || properties.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let pool = client.new_pool();
        // SAFETY: not null; the program says it is a pool.
        unsafe { put(to, pool) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolDestroy(pool: u64) -> u32 {
    enter(|client| {
        if pool == client.default_pool() {
            return Err(CudaError::INVALID_VALUE);
        }
        client.pools.all.remove(&pool).ok_or(CudaError::INVALID_VALUE)?;
        client.pools.current = client.pools.current.filter(|&current| current != pool);
        Ok(())
    })
}

/// Freed memory goes back at once, so that there is nothing to trim.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolTrimTo(pool: u64, _bytes: usize) -> u32 {
    enter(|client| client.pools.all.get(&pool).map(|_| ()).ok_or(CudaError::INVALID_VALUE))
}

/// The codes of attributes: 1 to 3 are ints, the others 64 bits; from 5 on they tell about memory: reserved now and at most, used
/// now and at most.
const THRESHOLD: c_int = 4;
const RESERVED: c_int = 5;
const RESERVED_MOST: c_int = 6;
const USED: c_int = 7;
const USED_MOST: c_int = 8;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolSetAttribute(
    pool: u64,
    attribute: c_int,
    value: *const c_void,
) -> u32 {
    enter(|client| {
        let pool = client.pools.all.get_mut(&pool).ok_or(CudaError::INVALID_VALUE)?;
        if value.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is a value of the attribute's type.
        let value = unsafe {
            match attribute {
                1..THRESHOLD => u64::from(*value.cast::<u32>()),
                _ => *value.cast::<u64>(),
            }
        };
        match attribute {
            1..=THRESHOLD => {
                pool.attributes.insert(attribute.cast_unsigned(), value);
            }
            RESERVED_MOST | USED_MOST if value == 0 => pool.most = pool.used,
            _ => return Err(CudaError::INVALID_VALUE),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolGetAttribute(pool: u64, attribute: c_int, to: *mut c_void) -> u32 {
    enter(|client| {
        let pool = client.pools.all.get(&pool).ok_or(CudaError::INVALID_VALUE)?;
        let set = pool.attributes.get(&attribute.cast_unsigned()).copied();
        // SAFETY: null is refused; else the program says it is a value of the attribute's type.
        unsafe {
            match attribute {
                // All kinds of reuse are permitted at first.
                1..THRESHOLD => put(to.cast::<u32>(), set.unwrap_or(1) as u32),
                THRESHOLD => put(to.cast::<u64>(), set.unwrap_or(0)),
                RESERVED | USED => put(to.cast::<u64>(), pool.used),
                RESERVED_MOST | USED_MOST => put(to.cast::<u64>(), pool.most),
                _ => Err(CudaError::INVALID_VALUE),
            }
        }
    })
}

/// The C type `cudaMemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Location {
    kind: c_int,
    id: c_int,
}

impl Location {
    /// The only device: `cudaMemLocationTypeDevice` and its number.
    fn is_the_device(self) -> bool {
        (self.kind, self.id) == (1, 0)
    }
}

/// The C type `cudaMemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Access {
    location: Location,
    flags: c_int,
}

/// `cudaMemAccessFlagsProtReadWrite`.
const READ_AND_WRITE: c_int = 3;

/// Gives devices access to a pool. The pool's own device, which is the only one, has it and keeps it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolSetAccess(pool: u64, list: *const Access, count: usize) -> u32 {
    enter(|client| {
        if !client.pools.all.contains_key(&pool) || (list.is_null() && count > 0) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program says that so many descriptions lie there.
        let list = unsafe { values(list, count) };
        let keeps =
            |access: &Access| access.location.is_the_device() && access.flags == READ_AND_WRITE;
        if list.iter().all(keeps) { Ok(()) } else { Err(CudaError::INVALID_DEVICE) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemPoolGetAccess(
    to: *mut c_int,
    pool: u64,
    location: *const Location,
) -> u32 {
    enter(|client| {
        if !client.pools.all.contains_key(&pool) || location.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is a location.
        if !unsafe { *location }.is_the_device() {
            return Err(CudaError::INVALID_DEVICE);
        }
        // SAFETY: null is refused; else the program says it is such a flag.
        unsafe { put(to, READ_AND_WRITE) }
    })
}

/// # Safety
/// `to` is null, or valid for a pool.
unsafe fn tell_pool(to: *mut u64, device: c_int, pool: impl FnOnce(&mut Client) -> u64) -> u32 {
    enter(|client| {
        if device != 0 {
            return Err(CudaError::INVALID_DEVICE);
        }
        // SAFETY: null is refused.
        unsafe { put(to, pool(client)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetDefaultMemPool(to: *mut u64, device: c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { tell_pool(to, device, Client::default_pool) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetMemPool(to: *mut u64, device: c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { tell_pool(to, device, Client::current_pool) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetMemPool(device: c_int, pool: u64) -> u32 {
    enter(|client| {
        if device != 0 {
            return Err(CudaError::INVALID_DEVICE);
        }
        if !client.pools.all.contains_key(&pool) {
            return Err(CudaError::INVALID_VALUE);
        }
        client.pools.current = Some(pool);
        Ok(())
    })
}
