//! Variables of modules: `__constant__` and `__device__`.

use super::c::{Kind, put};
use super::memory::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE};
use super::table::table;
use crate::client::{Client, complain, enter, registry};
use crate::device::Device;
use crate::error::CudaError;
use crate::frame::Bytes;
use std::ffi::c_void;

table![
    cudaMemcpyToSymbol,
    cudaMemcpyToSymbolAsync,
    cudaMemcpyFromSymbol,
    cudaMemcpyFromSymbolAsync,
    cudaGetSymbolAddress,
    cudaGetSymbolSize,
];

/// The module and the name of a variable that the program names by the address of its host variable.
fn find(client: &mut Client, symbol: *const c_void) -> Result<(u64, String), CudaError> {
    let variable = registry().variables.get(&(symbol as usize)).cloned();
    let variable = variable.ok_or(CudaError::INVALID_SYMBOL)?;
    Ok((client.module(variable.module)?, variable.name))
}

fn one_of(kind: Kind, possible: [Kind; 3]) -> Result<(), CudaError> {
    if possible.contains(&kind) { Ok(()) } else { Err(CudaError::INVALID_MEMCPY_DIRECTION) }
}

/// The bytes at an address of the host or the device.
///
/// # Safety
/// An address that is not in device memory is valid for this many bytes of the program.
///
/// # Safety
/// What is not device memory is valid for so many bytes of the program's.
unsafe fn fetch(client: &mut Client, from: u64, bytes: usize) -> Result<Vec<u8>, CudaError> {
    let mut body = vec![0; bytes];
    // SAFETY: the source by contract, the target is `body`.
    unsafe { super::memory::copy(client, body.as_mut_ptr() as u64, from, bytes as u64, 4)? };
    Ok(body)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    from: u64,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    enter(|client| {
        one_of(kind, [HOST_TO_DEVICE, DEVICE_TO_DEVICE, DEFAULT])?;
        let (module, name) = find(client, symbol)?;
        // SAFETY: the same contract.
        let body = unsafe { fetch(client, from, bytes)? };
        client.write_symbol(module, &name, offset as u64, Bytes(&body))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: u64,
    bytes: usize,
    offset: usize,
    kind: Kind,
    _stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaMemcpyToSymbol(symbol, from, bytes, offset, kind) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbol(
    to: u64,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    enter(|client| {
        one_of(kind, [DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT])?;
        client.synchronise()?;
        let (module, name) = find(client, symbol)?;
        let body = client.read_symbol(module, &name, offset as u64, bytes as u64)?.0;
        // SAFETY: the target by contract, the source is `body`.
        unsafe { super::memory::copy(client, to, body.as_ptr() as u64, body.len() as u64, 4) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    to: u64,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: Kind,
    _stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolAddress(to: *mut u64, symbol: *const c_void) -> u32 {
    enter(|client| {
        let (module, name) = find(client, symbol)?;
        let symbol = client.symbol(module, &name)?;
        let Some(address) = symbol.address else {
            complain("the address of a __constant__ variable is not supported");
            return Err(CudaError::NOT_SUPPORTED);
        };
        // From now on copies may use this address.
        client.allocations.insert(address, symbol.bytes);
        // SAFETY: null is refused; else the program says it is a pointer to a pointer.
        unsafe { put(to, address) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) -> u32 {
    enter(|client| {
        let (module, name) = find(client, symbol)?;
        let bytes = client.symbol(module, &name)?.bytes;
        // SAFETY: null is refused; else the program says it is a size.
        unsafe { put(to, bytes as usize) }
    })
}
