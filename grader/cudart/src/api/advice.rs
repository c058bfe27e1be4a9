//! Advice about the place of managed memory, which changes no result: it is kept for programs that ask for it.

use super::c::{HandleValue, put};
use super::streams::meant;
use super::table::table;
use crate::client::{Advice, Client, DEVICE, HOST, Location, NOWHERE, Place, enter};
use crate::error::CudaError;
use std::ffi::{c_int, c_uint, c_void};

table![
    cudaMemAdvise,
    cudaMemPrefetchAsync,
    cudaMemPrefetchAsync_ptsz,
    cudaMemRangeGetAttribute,
    cudaMemRangeGetAttributes,
    cudaStreamAttachMemAsync,
    cudaStreamAttachMemAsync_ptsz,
];

/// Whether the machine has such a place.
fn check(place: Location) -> Result<(), CudaError> {
    match place.kind {
        DEVICE => super::device::only(place.id),
        HOST..=4 => Ok(()),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// The range, if it is managed memory.
fn managed(client: &Client, address: u64, bytes: usize) -> Result<(u64, u64), CudaError> {
    let end = address.checked_add(bytes as u64).filter(|&end| end > address);
    let end = end.ok_or(CudaError::INVALID_VALUE)?;
    let is_managed = |address| client.place(address) == Place::Managed;
    if is_managed(address) && is_managed(end - 1) {
        Ok((address, end))
    } else {
        Err(CudaError::INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemAdvise(address: u64, bytes: usize, advice: c_int, of: Location) -> u32 {
    enter(|client| {
        let (start, end) = managed(client, address, bytes)?;
        let set = advice % 2 == 1;
        let accessor = usize::from(of.kind != DEVICE);
        match advice {
            // The location is ignored.
            1 | 2 | 4 => {}
            3 | 5 | 6 => check(of)?,
            _ => return Err(CudaError::INVALID_VALUE),
        }
        client.advice.change(start, end, |all| match advice {
            1 | 2 => all.mostly_read = set,
            3 | 4 => all.preferred = if set { of } else { NOWHERE },
            _ => all.accessed[accessor] = set,
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync(
    address: u64,
    bytes: usize,
    to: Location,
    _flags: c_uint,
    stream: HandleValue,
) -> u32 {
    enter(|client| {
        meant(client, stream)?;
        let (start, end) = managed(client, address, bytes)?;
        check(to)?;
        client.advice.change(start, end, |all| all.prefetched = to);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync_ptsz(
    address: u64,
    bytes: usize,
    to: Location,
    flags: c_uint,
    stream: HandleValue,
) -> u32 {
    cudaMemPrefetchAsync(address, bytes, to, flags, stream)
}

/// Which stream works with managed memory changes no result.
#[unsafe(no_mangle)]
extern "C" fn cudaStreamAttachMemAsync() -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamAttachMemAsync_ptsz() -> u32 {
    cudaStreamAttachMemAsync()
}

/// Writes an attribute of a range.
///
/// # Safety
/// `to` is null or has so many bytes.
unsafe fn tell(
    client: &Client,
    to: *mut c_void,
    size: usize,
    attribute: c_int,
    (start, end): (u64, u64),
) -> Result<(), CudaError> {
    let advice = &client.advice;
    let place = |what: fn(&Advice) -> Location| advice.of(start, end, what).unwrap_or(NOWHERE);
    let value = match attribute {
        1 => c_int::from(advice.of(start, end, |all| all.mostly_read) == Some(true)),
        2 => place(|all| all.preferred).number(),
        3 => {
            // A list, filled up with `cudaInvalidDeviceId`.
            let accessed = advice.of(start, end, |all| all.accessed).unwrap_or_default();
            let by = [(accessed[0], 0), (accessed[1], -1)];
            let mut by = by.iter().filter(|(is, _)| *is).map(|&(_, number)| number);
            if size == 0 || !size.is_multiple_of(4) {
                return Err(CudaError::INVALID_VALUE);
            }
            for index in 0..size / 4 {
                // SAFETY: by contract.
                unsafe { put(to.cast::<c_int>().wrapping_add(index), by.next().unwrap_or(-2))? };
            }
            return Ok(());
        }
        4 => place(|all| all.prefetched).number(),
        5 => place(|all| all.preferred).kind,
        6 => place(|all| all.preferred).number(),
        7 => place(|all| all.prefetched).kind,
        8 => place(|all| all.prefetched).number(),
        _ => return Err(CudaError::INVALID_VALUE),
    };
    if size != 4 {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: by contract.
    unsafe { put(to.cast(), value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemRangeGetAttribute(
    to: *mut c_void,
    size: usize,
    attribute: c_int,
    address: u64,
    bytes: usize,
) -> u32 {
    enter(|client| {
        let range = managed(client, address, bytes)?;
        // SAFETY: the program says that so many bytes are there; null is refused.
        unsafe { tell(client, to, size, attribute, range) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemRangeGetAttributes(
    to: *const *mut c_void,
    sizes: *const usize,
    attributes: *const c_int,
    count: usize,
    address: u64,
    bytes: usize,
) -> u32 {
    enter(|client| {
        let range = managed(client, address, bytes)?;
        if to.is_null() || sizes.is_null() || attributes.is_null() || count == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        for index in 0..count {
            // SAFETY: the program says that each array has so many values.
            unsafe {
                let (to, size) = (*to.add(index), *sizes.add(index));
                tell(client, to, size, *attributes.add(index), range)?;
            }
        }
        Ok(())
    })
}
