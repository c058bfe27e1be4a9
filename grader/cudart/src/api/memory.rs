//! Device memory, and memory that host and device share; copies and fills.

use super::c::{Kind, put};
use super::streams::meant;
use super::table::table;
use crate::client::{Client, MAX_PIECE, PER_THREAD, PagesKind, Place, Work, enter};
use crate::device::{AccessedRange, Answer, Awaited, Device, Due, MemoryInfo, OrderStep, Request};
use crate::error::CudaError;
use crate::frame::Bytes;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

table![
    cudaMalloc,
    cudaFree,
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
    cudaMemcpy_ptds,
    cudaMemcpyAsync,
    cudaMemcpyPeer,
    cudaMemcpyPeerAsync,
    cudaMemcpy2D,
    cudaMemcpy2D_ptds,
    cudaMemcpy2DAsync,
    cudaMemset,
    cudaMemset_ptds,
    cudaMemsetAsync,
    cudaMemset2D,
    cudaMemset2D_ptds,
    cudaMemset2DAsync,
    cudaMemGetInfo,
    cudaPointerGetAttributes,
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
    pub(super) fn add_copy_time(&mut self, bytes: u64, inside: bool) {
        self.copied += COPY_NANOSECONDS + bytes / if inside { INSIDE } else { ACROSS };
    }
}

pub(super) fn alloc(client: &mut Client, bytes: u64) -> Result<u64, CudaError> {
    if bytes == 0 {
        return Ok(0);
    }
    let address = Device::alloc(client, bytes)?;
    client.allocations.insert(address, bytes);
    Ok(address)
}

pub(super) fn free(client: &mut Client, address: u64) -> Result<(), CudaError> {
    if address == 0 || client.graphs.memory.contains(&address) {
        return Ok(());
    }
    if client.mapped.is_reserved(address) {
        return Err(CudaError::INVALID_VALUE);
    }
    if client.allocations.contains_key(&address) {
        // The device knows which of them are variables, and does not free those.
        Device::free(client, address)?;
        client.allocations.remove(&address);
        client.freed(address);
        return Ok(());
    }
    client.free_managed(address, PagesKind::Managed)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMalloc(to: *mut u64, bytes: usize) -> u32 {
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
pub(super) extern "C" fn cudaFree(address: u64) -> u32 {
    enter(|client| {
        // "If devPtr is 0, no operation is performed" (CUDA Runtime API, "cudaFree").
        if address == 0 {
            return client.wait();
        }
        client.synchronise(Awaited::Device)?;
        free(client, address)
    })
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
pub(super) unsafe extern "C" fn cudaMallocManaged(
    to: *mut u64,
    bytes: usize,
    flags: c_uint,
) -> u32 {
    enter(|client| {
        // Success on an H200 for no bytes, whatever the flags, though the documentation has `cudaErrorInvalidValue`.
        let valid = bytes == 0 || ATTACH.contains(&flags);
        // SAFETY: the same contract.
        unsafe { alloc_pages(client, to, bytes as u64, valid, PagesKind::Managed) }
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMallocHost(to: *mut u64, bytes: usize) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaHostAlloc(to, bytes, 0) }
}

/// All of the flags `cudaHostAllocPortable`, `...Mapped` and `...WriteCombined`.
const HOST_ALLOC_FLAGS: c_uint = 7;
const HOST_ALLOC_PORTABLE: c_uint = 1;
const HOST_ALLOC_MAPPED: c_uint = 2;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: c_uint) -> u32 {
    enter(|client| {
        // SAFETY: the same contract; what was allocated is there.
        unsafe {
            let is_valid = flags <= HOST_ALLOC_FLAGS;
            alloc_pages(client, to, bytes as u64, is_valid, PagesKind::Pinned)?;
            client.note_flags(*to, flags);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaFreeHost(address: u64) -> u32 {
    enter(|client| {
        if address == 0 {
            return Ok(());
        }
        client.note(OrderStep::Synchronise(Awaited::Device));
        client.catch_up(Due::Host)?;
        client.free_managed(address, PagesKind::Pinned)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaHostGetDevicePointer(
    to: *mut u64,
    host: u64,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        client.map_registered(host)?;
        let (start, pages) = client.managed.holding(host).ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: null is refused; else the program says it is a pointer to a pointer.
        unsafe { put(to, pages.device + (host - start)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaHostGetFlags(to: *mut c_uint, host: u64) -> u32 {
    enter(|client| {
        let (_, pages) = client.managed.holding(host).ok_or(CudaError::INVALID_VALUE)?;
        // All of it is mapped, and what is portable is so without saying it, as on an H100.
        let flags = pages.flags & !HOST_ALLOC_PORTABLE | HOST_ALLOC_MAPPED;
        // SAFETY: null is refused; else the program says it is an unsigned int.
        unsafe { put(to, flags) }
    })
}

const REGISTER_MAPPED: c_uint = 2;

/// Pins pages for faster copies, which needs nothing here. Kernels can use them ("all host memory registered is mapped", CUDA Runtime
/// API, "cudaHostRegister"), but at another address than the program, so they are mapped once it asks for that address.
#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(host: u64, bytes: usize, flags: c_uint) -> u32 {
    enter(|client| {
        client.register(host, bytes as u64)?;
        if flags & REGISTER_MAPPED == 0 {
            return Ok(());
        }
        client.map_registered(host)?;
        client.note_flags(host, flags);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(host: u64) -> u32 {
    enter(|client| {
        client.note(OrderStep::Synchronise(Awaited::Device));
        client.catch_up(Due::Host)?;
        client.unregister(host)
    })
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
    // Before the program's memory is touched: a wrong size is no reason to crash, nor to copy a part.
    if !client.has_room(to, bytes) || !client.has_room(from, bytes) {
        return Err(CudaError::INVALID_VALUE);
    }
    let devices = (sides.0 == Place::Device, sides.1 == Place::Device);
    if sides != (Place::Host, Place::Host) {
        client.add_copy_time(bytes, devices == (true, true));
    }
    if devices.0 == devices.1 || bytes <= MAX_PIECE {
        // SAFETY: the same contract.
        return unsafe { copy_piece(client, to, from, bytes, devices) };
    }
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

/// The two sides of a copy of rows: where each starts, and the bytes from one row to the next.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    pub to: u64,
    pub to_pitch: usize,
    pub from: u64,
    pub from_pitch: usize,
}

/// How far a copy is awaited by the host, in the words of the CUDA Runtime API ("API synchronization behavior").
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyForm {
    /// Only "for transfers from device memory to device memory, no host-side synchronization is performed". From pageable memory, the
    /// last part of the copy may be under way when the call returns; that is not followed here.
    Synchronous,
    /// "For all other transfers, the function should be fully asynchronous": all but those of pageable memory, which "might be
    /// synchronous". From the host, the driver stages the copy; to the host, a program that relies on it is not reported here.
    Asynchronous,
}

/// Tells which memory a copy accesses that was issued in a stream, and whether the host has waited for it.
pub(super) fn note_copy(
    client: &mut Client,
    (call, form): (&str, CopyForm),
    stream: u64,
    accesses: &[AccessedRange],
) {
    let places = |writes: bool| {
        let mut of = accesses.iter().filter(move |access| access.writes == writes);
        of.next().map(|access| client.place(access.address))
    };
    let waits = match form {
        CopyForm::Synchronous => {
            (places(true), places(false)) != (Some(Place::Device), Some(Place::Device))
        }
        CopyForm::Asynchronous => places(true) == Some(Place::Host),
    };
    client.note_work(stream, call, accesses.iter().copied());
    if waits {
        client.note(OrderStep::Synchronise(Awaited::Stream(stream)));
    }
}

impl Sides {
    /// What a copy of so many rows of this width accesses.
    fn accesses(self, width: usize, height: usize) -> Vec<AccessedRange> {
        let side = |start, pitch, writes| {
            // Rows without a gap are one range.
            let (bytes, height) =
                if pitch == width { (width * height, 1) } else { (width, height) };
            let bytes = bytes as u64;
            rows(start, pitch, height).map(move |address| AccessedRange { address, bytes, writes })
        };
        let Self { to, to_pitch, from, from_pitch } = self;
        side(to, to_pitch, true).chain(side(from, from_pitch, false)).collect()
    }
}

/// A copy of consecutive bytes in a stream.
///
/// # Safety
/// As for `copy`.
pub(super) unsafe fn copy_in(
    client: &mut Client,
    call: (&str, CopyForm),
    stream: u64,
    (to, from, bytes, kind): (u64, u64, usize, Kind),
) -> Result<(), CudaError> {
    // SAFETY: the same contract.
    unsafe { copy(client, to, from, bytes as u64, kind)? };
    let sides = Sides { to, to_pitch: bytes, from, from_pitch: bytes };
    note_copy(client, call, stream, &sides.accesses(bytes, 1));
    Ok(())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpy(to: u64, from: u64, bytes: usize, kind: Kind) -> u32 {
    // SAFETY: the same contract.
    unsafe { memcpy(to, from, bytes, kind, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy_ptds(to: u64, from: u64, bytes: usize, kind: Kind) -> u32 {
    // SAFETY: the same contract.
    unsafe { memcpy(to, from, bytes, kind, PER_THREAD) }
}

/// # Safety
/// As for `copy`.
unsafe fn memcpy(to: u64, from: u64, bytes: usize, kind: Kind, stream: u64) -> u32 {
    enter(|client| {
        let stream = client.stream(stream);
        let call = ("cudaMemcpy", CopyForm::Synchronous);
        client.in_stream(stream, |client| {
            client.wait()?;
            // SAFETY: the same contract.
            unsafe { copy_in(client, call, stream, (to, from, bytes, kind)) }
        })
    })
}

/// Copies between devices, of which there is one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeer(
    to: u64,
    to_device: c_int,
    from: u64,
    from_device: c_int,
    bytes: usize,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyPeerAsync(
    to: u64,
    to_device: c_int,
    from: u64,
    from_device: c_int,
    bytes: usize,
    stream: u64,
) -> u32 {
    if (to_device, from_device) != (0, 0) {
        return enter(|_| Err(CudaError::INVALID_DEVICE));
    }
    // SAFETY: the same contract.
    unsafe { cudaMemcpyAsync(to, from, bytes, DEVICE_TO_DEVICE, stream) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyAsync(
    to: u64,
    from: u64,
    bytes: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    enter(|client| {
        let stream = meant(client, stream)?;
        let call = ("cudaMemcpyAsync", CopyForm::Asynchronous);
        // SAFETY: the same contract; what a graph copies stays until its last launch, what waits until the program waits for it.
        let copy = Work::Copy(Arc::new(move |client: &mut Client, stream| unsafe {
            copy_in(client, call, stream, (to, from, bytes, kind))
        }));
        let sides = Sides { to, to_pitch: bytes, from, from_pitch: bytes };
        let places = (client.place(to), client.place(from));
        match check_direction(kind, places) {
            Ok(()) if bytes > 0 => {
                client.issue_later(stream, call.0, sides.accesses(bytes, 1), copy)
            }
            _ => client.issue(stream, copy),
        }
    })
}

/// The rows of a two-dimensional copy: the place of each.
fn rows(start: u64, pitch: usize, height: usize) -> impl Iterator<Item = u64> {
    (0..height as u64).map(move |row| start.wrapping_add(row.wrapping_mul(pitch as u64)))
}

/// # Safety
/// As for `copy`, for every row.
pub(super) unsafe fn copy_rows(
    client: &mut Client,
    call: (&str, CopyForm),
    stream: u64,
    sides: Sides,
    (width, height): (usize, usize),
    kind: Kind,
) -> Result<(), CudaError> {
    let Sides { to, to_pitch, from, from_pitch } = sides;
    // As an H200 says: of no rows nothing, of a single one something else than of several.
    match height {
        0 => return Ok(()),
        1 if !(HOST_TO_HOST..=DEFAULT).contains(&kind) => {
            return Err(CudaError::INVALID_MEMCPY_DIRECTION);
        }
        1 if width > to_pitch || width > from_pitch => return Err(CudaError::INVALID_VALUE),
        _ if width > to_pitch || width > from_pitch => return Err(CudaError::INVALID_PITCH_VALUE),
        // However many there are, nothing is in them.
        _ if width == 0 => return Ok(()),
        _ => {}
    }
    for (to, from) in rows(to, to_pitch, height).zip(rows(from, from_pitch, height)) {
        // SAFETY: the same contract.
        unsafe { copy(client, to, from, width as u64, kind)? };
    }
    note_copy(client, call, stream, &sides.accesses(width, height));
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
    let sides = Sides { to, to_pitch, from, from_pitch };
    // SAFETY: the same contract.
    unsafe { memcpy_2d(sides, (width, height), kind, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2D_ptds(
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> u32 {
    let sides = Sides { to, to_pitch, from, from_pitch };
    // SAFETY: the same contract.
    unsafe { memcpy_2d(sides, (width, height), kind, PER_THREAD) }
}

/// # Safety
/// As for `copy_rows`.
unsafe fn memcpy_2d(sides: Sides, size: (usize, usize), kind: Kind, stream: u64) -> u32 {
    enter(|client| {
        let stream = client.stream(stream);
        let call = ("cudaMemcpy2D", CopyForm::Synchronous);
        client.in_stream(stream, |client| {
            client.wait()?;
            // SAFETY: the same contract.
            unsafe { copy_rows(client, call, stream, sides, size, kind) }
        })
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
    stream: u64,
) -> u32 {
    enter(|client| {
        let stream = meant(client, stream)?;
        let call = ("cudaMemcpy2DAsync", CopyForm::Asynchronous);
        let sides = Sides { to, to_pitch, from, from_pitch };
        // SAFETY: the same contract; what a graph copies stays until its last launch.
        client.issue_copy(stream, move |client, stream| unsafe {
            copy_rows(client, call, stream, sides, (width, height), kind)
        })
    })
}

/// A fill of rows with elements of 1, 2 or 4 bytes.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub address: u64,
    pub pitch: usize,
    pub value: c_uint,
    /// Bytes of an element.
    pub element: usize,
    /// Elements of a row.
    pub width: usize,
    pub height: usize,
}

impl Fill {
    /// A fill with a byte.
    fn bytes(address: u64, pitch: usize, value: c_int, width: usize, height: usize) -> Self {
        Self { address, pitch, value: value.cast_unsigned(), element: 1, width, height }
    }

    /// What it writes.
    fn accesses(self) -> impl Iterator<Item = AccessedRange> {
        let bytes = self.width.saturating_mul(self.element) as u64;
        let all = rows(self.address, self.pitch, self.height);
        all.map(move |address| AccessedRange { address, bytes, writes: true })
    }

    /// "Unused if height is 1" (CUDA Runtime API, "cudaMemset2D").
    fn fits_its_pitch(self) -> Answer<()> {
        let fits = self.width <= self.pitch || self.height <= 1;
        if fits { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    }
}

/// A fill of more rows, which need not be there, is done when it is asked for.
const MANY_ROWS: usize = 1 << 20;

/// Elements of several bytes that are filled at a time.
const FILL_PIECE: usize = 1 << 18;

/// Fills device memory, or memory that both sides have.
///
/// # Safety
/// An address that is not in device memory is valid for every row of the program.
pub(super) unsafe fn fill_elements(
    client: &mut Client,
    call: &str,
    stream: u64,
    fill: Fill,
) -> Result<(), CudaError> {
    let Fill { address, pitch, value, element, width, height } = fill;
    let bytes = width.checked_mul(element).ok_or(CudaError::INVALID_VALUE)?;
    if bytes == 0 {
        return Ok(());
    }
    let piece = value.to_le_bytes()[..element].repeat(width.min(FILL_PIECE));
    for place in rows(address, pitch, height) {
        match client.place(place) {
            Place::Host => return Err(CudaError::INVALID_VALUE),
            // SAFETY: the same contract.
            _ if element == 1 => unsafe { fill_bytes(client, place, value as u8, width)? },
            _ => {
                for done in (0..bytes).step_by(piece.len()) {
                    let (to, length) = (place.wrapping_add(done as u64), bytes - done);
                    let length = piece.len().min(length) as u64;
                    // SAFETY: the same contract, and `piece` has so many bytes.
                    unsafe { copy(client, to, piece.as_ptr() as u64, length, DEFAULT)? };
                }
            }
        }
    }
    client.note_work(stream, call, fill.accesses());
    Ok(())
}

/// # Safety
/// An address that is not in device memory is valid for this many bytes of the program.
pub(super) unsafe fn fill_bytes(
    client: &mut Client,
    address: u64,
    value: u8,
    bytes: usize,
) -> Result<(), CudaError> {
    match client.place(address) {
        _ if bytes == 0 => Ok(()),
        Place::Device => {
            client.add_copy_time(bytes as u64, true);
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

/// "The cudaMemset functions are asynchronous with respect to the host except when the target memory is pinned host memory" (CUDA
/// Runtime API, "API synchronization behavior").
///
/// # Safety
/// As for `fill_elements`.
unsafe fn memset(call: &str, fill: Fill, stream: u64) -> u32 {
    enter(|client| {
        fill.fits_its_pitch()?;
        let stream = client.stream(stream);
        // SAFETY: the same contract.
        client.in_stream(stream, |client| unsafe { fill_elements(client, call, stream, fill) })?;
        if client.place(fill.address) == Place::Managed {
            client.note(OrderStep::Synchronise(Awaited::Stream(stream)));
        }
        Ok(())
    })
}

/// As `memset`, in a stream, or in the graph that it captures.
///
/// # Safety
/// As for `fill_elements`; what a graph fills stays until its last launch.
unsafe fn memset_async(call: &'static str, fill: Fill, stream: u64) -> u32 {
    enter(|client| {
        let stream = meant(client, stream)?;
        fill.fits_its_pitch()?;
        // SAFETY: the same contract; what waits stays until the program waits for it.
        let work = Work::Fill(Arc::new(move |client: &mut Client, stream| unsafe {
            fill_elements(client, call, stream, fill)
        }));
        if fill.width == 0 || fill.height > MANY_ROWS {
            return client.issue(stream, work);
        }
        client.issue_later(stream, call, fill.accesses().collect(), work)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemset(address: u64, value: c_int, bytes: usize) -> u32 {
    // SAFETY: the same contract.
    unsafe { memset("cudaMemset", Fill::bytes(address, bytes, value, bytes, 1), 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset_ptds(address: u64, value: c_int, bytes: usize) -> u32 {
    // SAFETY: the same contract.
    unsafe { memset("cudaMemset", Fill::bytes(address, bytes, value, bytes, 1), PER_THREAD) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemsetAsync(
    address: u64,
    value: c_int,
    bytes: usize,
    stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { memset_async("cudaMemsetAsync", Fill::bytes(address, bytes, value, bytes, 1), stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2D(
    address: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { memset("cudaMemset2D", Fill::bytes(address, pitch, value, width, height), 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2D_ptds(
    address: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { memset("cudaMemset2D", Fill::bytes(address, pitch, value, width, height), PER_THREAD) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset2DAsync(
    address: u64,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe {
        memset_async("cudaMemset2DAsync", Fill::bytes(address, pitch, value, width, height), stream)
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> u32 {
    enter(|client| {
        let all: MemoryInfo = client.memory_info()?;
        // An H100 leaves out what is not asked for.
        for (to, bytes) in [(free, all.free), (total, all.total)] {
            if !to.is_null() {
                // SAFETY: it is not null, and the program says what it points to.
                unsafe { put(to, bytes as usize)? };
            }
        }
        Ok(())
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
        client.map_registered(address)?;
        let (kind, device, device_pointer, host_pointer) = match client.place(address) {
            Place::Host => (0, -2, 0, address),
            Place::Device => (2, 0, address, 0),
            Place::Managed => match client.managed.holding(address) {
                Some((start, pages)) if pages.kind == PagesKind::Registered => {
                    (1, 0, pages.device + (address - start), address)
                }
                Some((_, pages)) if pages.kind == PagesKind::Pinned => (1, 0, address, address),
                _ => (3, 0, address, address),
            },
        };
        let attributes =
            PointerAttributes { kind, device, device_pointer, host_pointer, reserved: [0; 8] };
        // SAFETY: null is refused; else the program says that it is such a structure.
        unsafe { put(to, attributes) }
    })
}
