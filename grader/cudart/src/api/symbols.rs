//! Variables of modules: `__constant__` and `__device__`.

use super::c::{Kind, put};
use super::memory::{
    CopyForm, DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, note_copy,
};
use super::streams::meant;
use super::table::table;
use crate::client::{Client, PER_THREAD, complain, enter, registry};
use crate::device::{AccessedRange, Device};
use crate::error::CudaError;
use crate::frame::Bytes;
use std::ffi::c_void;

table![
    cudaMemcpyToSymbol,
    cudaMemcpyToSymbol_ptds,
    cudaMemcpyToSymbolAsync,
    cudaMemcpyFromSymbol,
    cudaMemcpyFromSymbol_ptds,
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
/// What is not device memory is valid for so many bytes of the program's.
unsafe fn fetch(client: &mut Client, from: u64, bytes: usize) -> Result<Vec<u8>, CudaError> {
    let mut body = vec![0; bytes];
    // SAFETY: the source by contract, the target is `body`.
    unsafe { super::memory::copy(client, body.as_mut_ptr() as u64, from, bytes as u64, 4)? };
    Ok(body)
}

/// A copy between memory of the host or the device and a part of a variable.
#[derive(Clone, Copy)]
struct VariableCopy {
    memory: u64,
    /// The address of the variable's host side.
    symbol: usize,
    bytes: usize,
    offset: usize,
    kind: Kind,
    /// Whether it writes the variable.
    writes: bool,
}

impl VariableCopy {
    /// Copies in a stream.
    ///
    /// # Safety
    /// Memory that is not the device's is valid for so many bytes of the program's.
    unsafe fn run(
        self,
        client: &mut Client,
        call: (&str, CopyForm),
        stream: u64,
    ) -> Result<(), CudaError> {
        let Self { memory, symbol, bytes, offset, kind, writes } = self;
        let across = if writes { HOST_TO_DEVICE } else { DEVICE_TO_HOST };
        one_of(kind, [across, DEVICE_TO_DEVICE, DEFAULT])?;
        let (module, name) = find(client, symbol as *const c_void)?;
        let (start, length) = (offset as u64, bytes as u64);
        let size = client.symbol(module, &name)?.bytes;
        // Before as much is fetched as the program says.
        if start.checked_add(length).is_none_or(|end| end > size) {
            return Err(CudaError::INVALID_VALUE);
        }
        if writes {
            // SAFETY: the same contract.
            let body = unsafe { fetch(client, memory, bytes)? };
            client.write_symbol(module, &name, start, Bytes(&body))?;
        } else {
            let body = client.read_symbol(module, &name, start, bytes as u64)?.0;
            let (from, length) = (body.as_ptr() as u64, body.len() as u64);
            // SAFETY: the target by contract, the source is `body`.
            unsafe { super::memory::copy(client, memory, from, length, DEFAULT)? };
        }
        let bytes = bytes as u64;
        // A constant has no address, and cannot be named in a race.
        let variable = client.symbol(module, &name)?;
        let variable = variable.address.map(|address| {
            client.allocations.insert(address, variable.bytes);
            AccessedRange { address: address + start, bytes, writes }
        });
        let memory = AccessedRange { address: memory, bytes, writes: !writes };
        let accesses: Vec<AccessedRange> = variable.into_iter().chain([memory]).collect();
        note_copy(client, call, stream, &accesses);
        Ok(())
    }

    /// Copies in a default stream, and waits for it as CUDA does.
    ///
    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_at_once(self, stream: u64) -> u32 {
        let name = if self.writes { "cudaMemcpyToSymbol" } else { "cudaMemcpyFromSymbol" };
        enter(|client| {
            let stream = client.stream(stream);
            client.in_stream(stream, |client| {
                client.wait()?;
                // SAFETY: the same contract.
                unsafe { self.run(client, (name, CopyForm::Synchronous), stream) }
            })
        })
    }

    /// Copies in a stream, or adds the copy to the graph that it captures.
    ///
    /// # Safety
    /// As for [`Self::run`]; what a graph copies stays until its last launch.
    unsafe fn run_later(self, stream: u64) -> u32 {
        let name =
            if self.writes { "cudaMemcpyToSymbolAsync" } else { "cudaMemcpyFromSymbolAsync" };
        enter(|client| {
            let stream = meant(client, stream)?;
            // SAFETY: the same contract.
            client.issue_copy(stream, move |client, stream| unsafe {
                self.run(client, (name, CopyForm::Asynchronous), stream)
            })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    memory: u64,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: true };
    // SAFETY: the same contract.
    unsafe { copy.run_at_once(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbol_ptds(
    symbol: *const c_void,
    memory: u64,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: true };
    // SAFETY: the same contract.
    unsafe { copy.run_at_once(PER_THREAD) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    memory: u64,
    bytes: usize,
    offset: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: true };
    // SAFETY: the same contract.
    unsafe { copy.run_later(stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbol(
    memory: u64,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: false };
    // SAFETY: the same contract.
    unsafe { copy.run_at_once(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbol_ptds(
    memory: u64,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: Kind,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: false };
    // SAFETY: the same contract.
    unsafe { copy.run_at_once(PER_THREAD) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromSymbolAsync(
    memory: u64,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    let symbol = symbol as usize;
    let copy = VariableCopy { memory, symbol, bytes, offset, kind, writes: false };
    // SAFETY: the same contract.
    unsafe { copy.run_later(stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSymbolAddress(to: *mut u64, symbol: *const c_void) -> u32 {
    enter(|client| {
        let (module, name) = find(client, symbol)?;
        let symbol = client.symbol(module, &name)?;
        let Some(address) = symbol.address.or(symbol.constant_address) else {
            complain(
                "the addresses of __constant__ variables of several modules are not supported",
            );
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
