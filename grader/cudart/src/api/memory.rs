//! Device memory, and memory that host and device share; copies and fills.

use super::c::{Kind, put};
use super::table::table;
use crate::client::{Client, MAX_PIECE, PagesKind, Place, enter};
use crate::device::{Answer, Device, MemoryInfo, Request};
use crate::error::CudaError;
use crate::frame::Bytes;
use std::ffi::{c_int, c_uint, c_void};

table![
    cudaMalloc,
    cudaFree,
    cudaMallocAsync,
    cudaFreeAsync,
    cudaMallocPitch,
    cudaMallocManaged,
    cudaMallocHost,
    cudaHostAlloc,
    cudaFreeHost,
    cudaHostGetDevicePointer,
    cudaHostGetFlags,
    cudaHostRegister,
    cudaHostUnregister,
    cudaMemcpy,
    cudaMemcpyAsync,
    cudaMemcpy2D,
    cudaMemcpy2DAsync,
    cudaMemset,
    cudaMemsetAsync,
    cudaMemset2D,
    cudaMemset2DAsync,
    cudaMemGetInfo,
    cudaPointerGetAttributes,
    cudaMemPrefetchAsync,
    cudaMemAdvise,
];

/// The rows of `cudaMallocPitch` begin at multiples of this.
const PITCH: u64 = 512;
/// The time of a copy on the simulated clock in nanoseconds, in addition to its bytes.
const COPY_NANOSECONDS: u64 = 2_000;
/// Bytes per simulated nanosecond between host and device, about those of `PCIe` 4.
const ACROSS: u64 = 16;
/// The same inside the device, about those of a mid-range GPU.
const INSIDE: u64 = 256;

impl Client {
    /// Adds the time of a copy to the simulated clock.
    pub(super) fn note_copy(&mut self, bytes: u64, inside: bool) {
        self.copied += COPY_NANOSECONDS + bytes / if inside { INSIDE } else { ACROSS };
    }
}

fn alloc(client: &mut Client, bytes: u64) -> Result<u64, CudaError> {
    if bytes == 0 {
        return Ok(0);
    }
    let address = Device::alloc(client, bytes)?;
    client.allocations.insert(address, bytes);
    Ok(address)
}

fn free(client: &mut Client, address: u64) -> Result<(), CudaError> {
    if address == 0 {
        return Ok(());
    }
    if client.allocations.contains_key(&address) {
        // The device knows which of them are variables, and does not free those.
        Device::free(client, address)?;
        client.allocations.remove(&address);
        return Ok(());
    }
    client.free_managed(address, PagesKind::Managed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc(to: *mut u64, bytes: usize) -> u32 {
    enter(|client| {
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = alloc(client, bytes as u64)?;
        // SAFETY: not null; the program says it is a pointer to a pointer.
        unsafe { put(to, address) }
    })
}

/// Frees device memory, after waiting for the device as CUDA does.
#[unsafe(no_mangle)]
extern "C" fn cudaFree(address: u64) -> u32 {
    enter(|client| {
        client.synchronise()?;
        free(client, address)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocAsync(to: *mut u64, bytes: usize, _stream: u64) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaMalloc(to, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeAsync(address: u64, _stream: u64) -> u32 {
    enter(|client| free(client, address))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMallocPitch(
    to: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> u32 {
    enter(|client| {
        if to.is_null() || pitch.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let row = (width as u64).checked_next_multiple_of(PITCH);
        let row = row.ok_or(CudaError::MEMORY_ALLOCATION)?;
        let bytes = row.checked_mul(height as u64).ok_or(CudaError::MEMORY_ALLOCATION)?;
        let address = alloc(client, bytes)?;
        // SAFETY: not null; the program says what they point to.
        unsafe { put(to, address).and_then(|()| put(pitch, row as usize)) }
    })
}

/// Allocates pages that host and device share, and writes their address: 0 for no bytes. An error where the flags are not
/// valid.
///
/// # Safety
/// `to` is null, or valid for an address.
unsafe fn alloc_pages(
    client: &mut Client,
    to: *mut u64,
    bytes: u64,
    flags_are_valid: bool,
    kind: PagesKind,
) -> Result<(), CudaError> {
    if to.is_null() || !flags_are_valid {
        return Err(CudaError::INVALID_VALUE);
    }
    let address = if bytes == 0 { 0 } else { client.alloc_managed(bytes, kind)? };
    // SAFETY: not null; the program says it is a pointer to a pointer.
    unsafe { put(to, address) }
}

/// The flags `cudaMemAttachGlobal` and `cudaMemAttachHost`, exactly one of which must be set.
const ATTACH: [c_uint; 2] = [1, 2];

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: c_uint) -> u32 {
    enter(|client| {
        // Success on an H200 for no bytes, whatever the flags, though the documentation has `cudaErrorInvalidValue`.
        let valid = bytes == 0 || ATTACH.contains(&flags);
        // SAFETY: the same contract.
        unsafe { alloc_pages(client, to, bytes as u64, valid, PagesKind::Managed) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocHost(to: *mut u64, bytes: usize) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaHostAlloc(to, bytes, 0) }
}

/// All of the flags `cudaHostAllocPortable`, `...Mapped` and `...WriteCombined`.
const HOST_ALLOC_FLAGS: c_uint = 7;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: c_uint) -> u32 {
    enter(|client| {
        // SAFETY: the same contract.
        unsafe {
            alloc_pages(client, to, bytes as u64, flags <= HOST_ALLOC_FLAGS, PagesKind::Pinned)
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeHost(address: u64) -> u32 {
    enter(|client| match address {
        0 => Ok(()),
        _ => client.free_managed(address, PagesKind::Pinned),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetDevicePointer(to: *mut u64, host: u64, _flags: c_uint) -> u32 {
    enter(|client| {
        if client.place(host) != Place::Managed {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: null is refused; else the program says it is a pointer to a pointer.
        unsafe { put(to, host) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetFlags(to: *mut c_uint, host: u64) -> u32 {
    enter(|client| {
        if client.place(host) != Place::Managed {
            return Err(CudaError::INVALID_VALUE);
        }
        // `cudaHostAllocMapped`: all of it is.
        // SAFETY: null is refused; else the program says it is an unsigned int.
        unsafe { put(to, 2) }
    })
}

const REGISTER_MAPPED: c_uint = 2;

/// Pins pages for faster copies, which needs nothing here. Mapping them for kernels is not supported.
#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(_host: u64, _bytes: usize, flags: c_uint) -> u32 {
    if flags & REGISTER_MAPPED != 0 {
        return super::unsupported::refuse("cudaHostRegister with cudaHostRegisterMapped");
    }
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(_host: u64) -> u32 {
    enter(|_| Ok(()))
}

/// Values of `cudaMemcpyKind` that name both sides.
const HOST_TO_HOST: Kind = 0;
pub(super) const HOST_TO_DEVICE: Kind = 1;
pub(super) const DEVICE_TO_HOST: Kind = 2;
pub(super) const DEVICE_TO_DEVICE: Kind = 3;
pub(super) const DEFAULT: Kind = 4;

/// Whether a kind of copy leads from the second of two places to the first.
pub(super) fn check_direction(kind: Kind, (to, from): (Place, Place)) -> Answer<()> {
    let fits = |place: Place, device: bool| match place {
        Place::Managed => true,
        Place::Device => device,
        Place::Host => !device,
    };
    let right = match kind {
        HOST_TO_DEVICE => fits(to, true) && fits(from, false),
        DEVICE_TO_HOST => fits(to, false) && fits(from, true),
        DEVICE_TO_DEVICE => fits(to, true) && fits(from, true),
        // An H200 also accepts device memory for a copy between hosts: with unified addressing, the addresses show where it is.
        HOST_TO_HOST | DEFAULT => true,
        _ => return Err(CudaError::INVALID_MEMCPY_DIRECTION),
    };
    if right { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
}

/// Copies `bytes` bytes between any two addresses.
///
/// # Safety
/// An address that is not in device memory is valid for this many bytes of the program.
pub(super) unsafe fn copy(
    client: &mut Client,
    to: u64,
    from: u64,
    bytes: u64,
    kind: Kind,
) -> Result<(), CudaError> {
    // An H200 does not check the other arguments.
    if bytes == 0 {
        return Ok(());
    }
    let sides = (client.place(to), client.place(from));
    check_direction(kind, sides)?;
    if to == 0 || from == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let devices = (sides.0 == Place::Device, sides.1 == Place::Device);
    if sides != (Place::Host, Place::Host) {
        client.note_copy(bytes, devices == (true, true));
    }
    if devices.0 == devices.1 || bytes <= MAX_PIECE {
        // SAFETY: the same contract.
        return unsafe { copy_piece(client, to, from, bytes, devices) };
    }
    let end = |start: u64| start.checked_add(bytes).ok_or(CudaError::INVALID_VALUE);
    end(to)?;
    end(from)?;
    (0..bytes).step_by(MAX_PIECE as usize).try_for_each(|done| {
        let piece = MAX_PIECE.min(bytes - done);
        // SAFETY: the same contract.
        unsafe { copy_piece(client, to + done, from + done, piece, devices) }
    })
}

/// Copies a piece. `devices` says whether `to` and `from` are in device memory.
///
/// # Safety
/// As for `copy`.
unsafe fn copy_piece(
    client: &mut Client,
    to: u64,
    from: u64,
    bytes: u64,
    devices: (bool, bool),
) -> Result<(), CudaError> {
    let length = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
    match devices {
        (true, true) => Device::copy(client, to, from, bytes),
        (true, false) => {
            // SAFETY: the program says that so many bytes lie there.
            let body = unsafe { std::slice::from_raw_parts(from as *const u8, length) };
            client.write(to, Bytes(body))
        }
        (false, true) => {
            let answer = client.ask(&Request::Read { address: from, bytes })?;
            let body: Answer<Bytes<&[u8]>> = answer.value().unwrap_or(Err(CudaError::UNKNOWN));
            let body = body?.0.get(..length).ok_or(CudaError::UNKNOWN)?;
            // SAFETY: the program says that there is room for so many bytes; the source is elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(body.as_ptr(), to as *mut u8, length) };
            Ok(())
        }
        (false, false) => {
            // SAFETY: the program says that so many bytes lie at both places.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, length) };
            Ok(())
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy(to: u64, from: u64, bytes: usize, kind: Kind) -> u32 {
    enter(|client| {
        client.synchronise()?;
        // SAFETY: the same contract.
        unsafe { copy(client, to, from, bytes as u64, kind) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    bytes: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    enter(|client| {
        // SAFETY: the same contract; what a graph copies stays until its last launch.
        client.issue(stream, move |client| unsafe { copy(client, to, from, bytes as u64, kind) })
    })
}

/// The rows of a two-dimensional copy: the place of each.
fn rows(start: u64, pitch: usize, height: usize) -> impl Iterator<Item = u64> {
    (0..height as u64).map(move |row| start.wrapping_add(row.wrapping_mul(pitch as u64)))
}

/// # Safety
/// As for `copy`, for every row.
#[expect(clippy::too_many_arguments, reason = "as in CUDA")]
unsafe fn copy_rows(
    client: &mut Client,
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> Result<(), CudaError> {
    // As an H200 says: of no rows nothing, of a single one something else than of several.
    match height {
        0 => return Ok(()),
        1 if !(HOST_TO_HOST..=DEFAULT).contains(&kind) => {
            return Err(CudaError::INVALID_MEMCPY_DIRECTION);
        }
        1 if width > to_pitch || width > from_pitch => return Err(CudaError::INVALID_VALUE),
        _ if width > to_pitch || width > from_pitch => return Err(CudaError::INVALID_PITCH_VALUE),
        _ => {}
    }
    for (to, from) in rows(to, to_pitch, height).zip(rows(from, from_pitch, height)) {
        // SAFETY: the same contract.
        unsafe { copy(client, to, from, width as u64, kind)? };
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2D(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> u32 {
    enter(|client| {
        client.synchronise()?;
        // SAFETY: the same contract.
        unsafe { copy_rows(client, to, to_pitch, from, from_pitch, width, height, kind) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DAsync(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
    _stream: u64,
) -> u32 {
    enter(|client| {
        // SAFETY: the same contract.
        unsafe { copy_rows(client, to, to_pitch, from, from_pitch, width, height, kind) }
    })
}

/// # Safety
/// An address that is not in device memory is valid for this many bytes of the program.
pub(super) unsafe fn fill(
    client: &mut Client,
    address: u64,
    value: c_int,
    bytes: usize,
) -> Result<(), CudaError> {
    let value = value as u8;
    match client.place(address) {
        _ if bytes == 0 => Ok(()),
        Place::Device => {
            client.copied += COPY_NANOSECONDS + bytes as u64 / INSIDE;
            Device::fill(client, address, bytes as u64, value)
        }
        Place::Managed => {
            // SAFETY: the program says that there is room for so many bytes.
            unsafe { std::ptr::write_bytes(address as *mut u8, value, bytes) };
            Ok(())
        }
        Place::Host => Err(CudaError::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset(address: u64, value: c_int, bytes: usize) -> u32 {
    // SAFETY: the same contract.
    enter(|client| unsafe { fill(client, address, value, bytes) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemsetAsync(address: u64, value: c_int, bytes: usize, stream: u64) -> u32 {
    enter(|client| {
        // SAFETY: the same contract; what a graph fills stays until its last launch.
        client.issue(stream, move |client| unsafe { fill(client, address, value, bytes) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2D(
    address: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> u32 {
    enter(|client| {
        // "Unused if height is 1" (CUDA Runtime API, "cudaMemset2D").
        if width > pitch && height > 1 {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the same contract, for every row.
        rows(address, pitch, height).try_for_each(|row| unsafe { fill(client, row, value, width) })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2DAsync(
    address: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    _stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaMemset2D(address, pitch, value, width, height) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> u32 {
    enter(|client| {
        let all: MemoryInfo = client.memory_info()?;
        // SAFETY: null is refused; else the program says what they point to.
        unsafe { put(free, all.free as usize).and_then(|()| put(total, all.total as usize)) }
    })
}

/// The C type `cudaPointerAttributes` of CUDA 13.
#[repr(C)]
struct PointerAttributes {
    /// The `cudaMemoryType`: 0 unregistered, 1 host, 2 device, 3 managed.
    kind: c_int,
    device: c_int,
    device_pointer: u64,
    host_pointer: u64,
    reserved: [u64; 8],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaPointerGetAttributes(
    to: *mut PointerAttributes,
    pointer: *const c_void,
) -> u32 {
    enter(|client| {
        let address = pointer as u64;
        let (kind, device, device_pointer, host_pointer) = match client.place(address) {
            Place::Host => (0, -2, 0, address),
            Place::Device => (2, 0, address, 0),
            Place::Managed if client.managed.kind(address) == Some(PagesKind::Pinned) => {
                (1, 0, address, address)
            }
            Place::Managed => (3, 0, address, address),
        };
        let attributes =
            PointerAttributes { kind, device, device_pointer, host_pointer, reserved: [0; 8] };
        // SAFETY: null is refused; else the program says that it is such a structure.
        unsafe { put(to, attributes) }
    })
}

/// Accepts advice about the place of pages, which changes no result.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync() -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemAdvise() -> u32 {
    enter(|_| Ok(()))
}
