//! CUDA arrays, mipmapped arrays, and copies between arrays, the host and pitched memory.

use super::c::{Kind, put};
use super::memory::{self, DEVICE_TO_DEVICE};
use super::streams::meant;
use super::table::table;
use crate::client::{ArrayRecord, Client, MAX_PIECE, Place, enter};
use crate::device::{Answer, Awaited, Device};
use crate::error::CudaError;
use crate::frame::Bytes;
use crate::images::{ArrayShape, ChannelFormat, Region};
use std::ffi::{c_int, c_uint};

table![
    cudaCreateChannelDesc,
    cudaGetChannelDesc,
    cudaMallocArray,
    cudaMalloc3DArray,
    cudaMallocMipmappedArray,
    cudaGetMipmappedArrayLevel,
    cudaFreeArray,
    cudaFreeMipmappedArray,
    cudaArrayGetInfo,
    cudaMalloc3D,
    cudaMemset3D,
    cudaMemset3DAsync,
    cudaMemcpy3D,
    cudaMemcpy3DAsync,
    cudaMemcpy2DToArray,
    cudaMemcpy2DToArrayAsync,
    cudaMemcpy2DFromArray,
    cudaMemcpy2DFromArrayAsync,
    cudaMemcpy2DArrayToArray,
    cudaMemcpyToArray,
    cudaMemcpyToArrayAsync,
    cudaMemcpyFromArray,
    cudaMemcpyFromArrayAsync,
    cudaMemcpyArrayToArray,
];

/// `cudaExtent`, and `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    x: usize,
    y: usize,
    z: usize,
}

impl Extent {
    fn sizes(self) -> [u64; 3] {
        [self.x, self.y, self.z].map(|size| size as u64)
    }
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PitchedPtr {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Copy3D {
    from_array: u64,
    from_position: Extent,
    from: PitchedPtr,
    to_array: u64,
    to_position: Extent,
    to: PitchedPtr,
    extent: Extent,
    kind: Kind,
}

/// One side of a copy: an array from a byte of a row, a row and a slice on, or memory of host or device.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Array { array: u64, origin: [u64; 3] },
    Memory { address: u64, pitches: [u64; 2] },
}

#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_uint,
) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

/// Makes an array, and writes its handle.
///
/// # Safety
/// The pointers are null or valid.
pub(super) unsafe fn make_array(
    to: *mut u64,
    format: *const ChannelFormat,
    extent: [u64; 3],
    levels: u32,
    flags: c_uint,
) -> u32 {
    enter(|client| {
        if to.is_null() || format.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says that it is such a structure.
        let format = unsafe { format.read_unaligned() };
        let shape = ArrayShape { format, extent, levels, flags };
        format.format().ok_or(CudaError::INVALID_CHANNEL_DESCRIPTOR)?;
        if !shape.is_valid() {
            return Err(CudaError::INVALID_VALUE);
        }
        let array = client.create_array(shape)?;
        client.images.arrays.insert(array, ArrayRecord { shape, parent: None });
        // SAFETY: not null; the program says it is a pointer to a handle.
        unsafe { put(to, array) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocArray(
    to: *mut u64,
    format: *const ChannelFormat,
    width: usize,
    height: usize,
    flags: c_uint,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { make_array(to, format, [width as u64, height as u64, 0], 1, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc3DArray(
    to: *mut u64,
    format: *const ChannelFormat,
    extent: Extent,
    flags: c_uint,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { make_array(to, format, extent.sizes(), 1, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMallocMipmappedArray(
    to: *mut u64,
    format: *const ChannelFormat,
    extent: Extent,
    levels: c_uint,
    flags: c_uint,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { make_mipmapped_array(to, format, extent.sizes(), levels, flags) }
}

/// Makes an array with levels, as many as there can be at most (CUDA Runtime API, "cudaMallocMipmappedArray").
///
/// # Safety
/// The pointers are null or valid.
pub(super) unsafe fn make_mipmapped_array(
    to: *mut u64,
    format: *const ChannelFormat,
    extent: [u64; 3],
    levels: u32,
    flags: c_uint,
) -> u32 {
    let [width, height, depth] = extent;
    let depth =
        if flags & (crate::images::LAYERED | crate::images::CUBEMAP) != 0 { 0 } else { depth };
    let most = 64 - width.max(height).max(depth).leading_zeros();
    // SAFETY: the same contract.
    unsafe { make_array(to, format, extent, levels.clamp(1, most.max(1)), flags) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetMipmappedArrayLevel(
    to: *mut u64,
    array: u64,
    level: c_uint,
) -> u32 {
    enter(|client| {
        let shape = record(client, array)?.shape;
        if to.is_null() || level >= shape.levels {
            return Err(CudaError::INVALID_VALUE);
        }
        let number = client.array_level(array, level)?;
        let [width, height, depth] = shape.level_extent(level);
        // A dimension that the array does not have, its levels do not have either.
        let own = |size: u64, of: u64| if of == 0 { 0 } else { size };
        let extent = [width, own(height, shape.extent[1]), own(depth, shape.extent[2])];
        let shape = ArrayShape { extent, levels: 1, ..shape };
        client.images.arrays.insert(number, ArrayRecord { shape, parent: Some(array) });
        // SAFETY: not null; the program says it is a pointer to a handle.
        unsafe { put(to, number) }
    })
}

pub(super) fn record(client: &Client, array: u64) -> Answer<ArrayRecord> {
    client.images.arrays.get(&array).copied().ok_or(CudaError::INVALID_RESOURCE_HANDLE)
}

/// Frees an array, after waiting for the device.
fn free_array(array: u64) -> u32 {
    enter(|client| {
        if array == 0 {
            return Ok(());
        }
        client.synchronise(Awaited::Stream(0))?;
        record(client, array)?;
        client.free_array(array)?;
        let others =
            |&other: &u64, record: &mut ArrayRecord| other != array && record.parent != Some(array);
        client.images.arrays.retain(others);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaFreeArray(array: u64) -> u32 {
    free_array(array)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaFreeMipmappedArray(array: u64) -> u32 {
    free_array(array)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaArrayGetInfo(
    format: *mut ChannelFormat,
    extent: *mut Extent,
    flags: *mut c_uint,
    array: u64,
) -> u32 {
    enter(|client| {
        let shape = record(client, array)?.shape;
        let [x, y, z] = shape.extent.map(|size| size as usize);
        // Each may be null.
        // SAFETY: else the program says what they point to.
        unsafe {
            put(format, shape.format).ok();
            put(extent, Extent { x, y, z }).ok();
            put(flags, shape.flags).ok();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetChannelDesc(to: *mut ChannelFormat, array: u64) -> u32 {
    enter(|client| {
        let shape = record(client, array)?.shape;
        // SAFETY: null is refused; else the program says that it is such a structure.
        unsafe { put(to, shape.format) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMalloc3D(to: *mut PitchedPtr, extent: Extent) -> u32 {
    let rows = extent.y.saturating_mul(extent.z);
    let (mut address, mut pitch) = (0, 0);
    if to.is_null() {
        return enter(|_| Err(CudaError::INVALID_VALUE));
    }
    // SAFETY: the addresses of variables.
    let code = unsafe { memory::cudaMallocPitch(&raw mut address, &raw mut pitch, extent.x, rows) };
    if code == 0 {
        let pitched = PitchedPtr { address, pitch, width: extent.x, height: extent.y };
        // SAFETY: not null; the program says that it is such a structure.
        unsafe { to.write_unaligned(pitched) };
    }
    code
}

/// # Safety
/// As for `cudaMemset`, for every row.
unsafe fn fill(client: &mut Client, to: PitchedPtr, value: c_int, extent: Extent) -> Answer<()> {
    let rows = extent.y as u64;
    if extent.x > to.pitch && rows * extent.z as u64 > 1 || extent.y > to.height && extent.z > 1 {
        return Err(CudaError::INVALID_VALUE);
    }
    for slice in 0..extent.z as u64 {
        for row in 0..rows {
            let row = slice.wrapping_mul(to.height as u64).wrapping_add(row);
            let address = to.address.wrapping_add(row.wrapping_mul(to.pitch as u64));
            // SAFETY: the same contract.
            unsafe { memory::fill_bytes(client, address, value as u8, extent.x)? };
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset3D(to: PitchedPtr, value: c_int, extent: Extent) -> u32 {
    // SAFETY: the same contract.
    enter(|client| unsafe { fill(client, to, value, extent) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemset3DAsync(
    to: PitchedPtr,
    value: c_int,
    extent: Extent,
    stream: u64,
) -> u32 {
    enter(|client| {
        // SAFETY: the same contract; what a graph fills stays until its last launch.
        let stream = meant(client, stream)?;
        client.issue_fill(stream, move |client, _| unsafe { fill(client, to, value, extent) })
    })
}

impl Copy3D {
    /// Copies.
    ///
    /// # Safety
    /// An address that is not in device memory is valid for what is copied.
    unsafe fn run(&self, client: &mut Client) -> Answer<()> {
        if (self.from_array == 0) == (self.from.address == 0)
            || (self.to_array == 0) == (self.to.address == 0)
        {
            return Err(CudaError::INVALID_VALUE);
        }
        let arrays = [self.from_array, self.to_array].into_iter().filter(|&array| array != 0);
        let texels = arrays.map(|array| texel_bytes(client, array)).collect::<Answer<Vec<_>>>()?;
        if texels.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(CudaError::INVALID_VALUE);
        }
        // Where an array takes part, positions and extents count texels, also those in memory; else they count bytes.
        let unit = texels.into_iter().max().unwrap_or(1);
        let side = |array: u64, position: Extent, pointer: PitchedPtr| {
            let [x, y, z] = position.sizes();
            let x = x.wrapping_mul(unit);
            if array != 0 {
                return Side::Array { array, origin: [x, y, z] };
            }
            let row = pointer.pitch as u64;
            let pitches = [row, row.wrapping_mul(pointer.height as u64)];
            let offset =
                x.wrapping_add(y.wrapping_mul(pitches[0])).wrapping_add(z.wrapping_mul(pitches[1]));
            Side::Memory { address: pointer.address.wrapping_add(offset), pitches }
        };
        let from = side(self.from_array, self.from_position, self.from);
        let to = side(self.to_array, self.to_position, self.to);
        let [width, height, depth] = self.extent.sizes();
        let bytes = width.checked_mul(unit).ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: the same contract.
        unsafe { copy(client, to, from, [bytes, height, depth], self.kind) }
    }
}

fn texel_bytes(client: &Client, array: u64) -> Answer<u64> {
    let format = record(client, array)?.shape.format.format();
    format.map(|format| format.texel_bytes().into()).ok_or(CudaError::INVALID_VALUE)
}

/// Copies a box: bytes of a row, rows, slices.
///
/// # Safety
/// An address that is not in device memory is valid for what is copied.
pub(super) unsafe fn copy(
    client: &mut Client,
    to: Side,
    from: Side,
    extent: [u64; 3],
    kind: Kind,
) -> Answer<()> {
    let [bytes, rows, slices] = extent;
    if extent.contains(&0) {
        return Ok(());
    }
    let place = |side: Side| match side {
        Side::Array { .. } => Place::Device,
        Side::Memory { address, .. } => client.place(address),
    };
    let places = (place(to), place(from));
    memory::check_direction(kind, places)?;
    for side in [to, from] {
        match side {
            Side::Memory { pitches: [row, _], .. } if row < bytes && rows > 1 => {
                return Err(CudaError::INVALID_PITCH_VALUE);
            }
            Side::Memory { pitches: [_, slice], .. } if slice < bytes && slices > 1 => {
                return Err(CudaError::INVALID_VALUE);
            }
            _ => {}
        }
    }
    let devices = (places.0 == Place::Device, places.1 == Place::Device);
    let total = bytes.checked_mul(rows).and_then(|all| all.checked_mul(slices));
    client.add_copy_time(total.ok_or(CudaError::INVALID_VALUE)?, devices == (true, true));
    if devices == (true, true) {
        return client.copy_region(to.at(0, 0), from.at(0, 0), extent);
    }
    // In pieces of some rows, so that no request is too large.
    let most = (MAX_PIECE / bytes).max(1);
    for slice in 0..slices {
        for row in (0..rows).step_by(most as usize) {
            let count = most.min(rows - row);
            let (to, from) = (to.at(slice, row), from.at(slice, row));
            // SAFETY: the same contract.
            unsafe { copy_rows(client, to, from, [bytes, count], devices)? };
        }
    }
    Ok(())
}

impl Side {
    /// The region that begins at this side's slice and row.
    fn at(self, slice: u64, row: u64) -> Region {
        match self {
            Self::Array { array, origin: [x, y, z] } => {
                Region::Array { array, origin: [x, y.wrapping_add(row), z.wrapping_add(slice)] }
            }
            Self::Memory { address, pitches } => {
                let offset =
                    row.wrapping_mul(pitches[0]).wrapping_add(slice.wrapping_mul(pitches[1]));
                Region::Linear { address: address.wrapping_add(offset), pitches }
            }
        }
    }
}

/// Copies rows of one slice where the host has a part in it. `devices` says whether `to` and `from` are in device memory.
///
/// # Safety
/// As for `copy`.
unsafe fn copy_rows(
    client: &mut Client,
    to: Region,
    from: Region,
    [bytes, rows]: [u64; 2],
    devices: (bool, bool),
) -> Answer<()> {
    let length = usize::try_from(bytes).map_err(|_| CudaError::INVALID_VALUE)?;
    let host_rows = |region: Region| {
        let (start, pitch) = match region {
            Region::Linear { address, pitches: [pitch, _] } => (address, pitch),
            // An array is never on the host.
            Region::Array { .. } => (0, 0),
        };
        (0..rows).map(move |row| start.wrapping_add(row.wrapping_mul(pitch)))
    };
    let mut packed = Vec::new();
    if devices.1 {
        packed = client.read_region(from, [bytes, rows, 1])?.0;
    } else {
        for row in host_rows(from) {
            // SAFETY: the program says that so many bytes lie there.
            packed
                .extend_from_slice(unsafe { std::slice::from_raw_parts(row as *const u8, length) });
        }
    }
    if devices.0 {
        return client.write_region(to, [bytes, rows, 1], Bytes(&packed));
    }
    for (row, bytes) in host_rows(to).zip(packed.chunks_exact(length)) {
        // SAFETY: the program says that there is room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), row as *mut u8, length) };
    }
    Ok(())
}

/// # Safety
/// The parameters are null or valid, and so is what they point to.
unsafe fn parameters(of: *const Copy3D) -> Answer<Copy3D> {
    if of.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; the program says that it is such a structure.
    Ok(unsafe { of.read_unaligned() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy3D(of: *const Copy3D) -> u32 {
    enter(|client| {
        client.synchronise(Awaited::Stream(0))?;
        // SAFETY: the same contract.
        unsafe { parameters(of)?.run(client) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy3DAsync(of: *const Copy3D, stream: u64) -> u32 {
    enter(|client| {
        // SAFETY: the same contract; what a graph copies stays until its last launch.
        let copy = unsafe { parameters(of)? };
        let stream = meant(client, stream)?;
        client.issue_copy(stream, move |client, _| unsafe { copy.run(client) })
    })
}

/// Copies in a stream, or in the graph that it captures; without a stream at once, after the work of the default stream.
pub(super) fn in_order(
    stream: Option<u64>,
    copy: impl Fn(&mut Client) -> Answer<()> + Send + Sync + 'static,
) -> u32 {
    enter(|client| {
        let Some(stream) = stream else {
            client.synchronise(Awaited::Stream(0))?;
            return copy(client);
        };
        let stream = meant(client, stream)?;
        client.issue_copy(stream, move |client, _| copy(client))
    })
}

/// A copy of rows between arrays and memory, on a stream or at once.
#[derive(Clone, Copy)]
struct Rows {
    to: Side,
    from: Side,
    width: usize,
    height: usize,
    kind: Kind,
}

impl Rows {
    /// # Safety
    /// An address that is not in device memory is valid for what is copied.
    unsafe fn run(self, stream: Option<u64>) -> u32 {
        let extent = [self.width as u64, self.height as u64, 1];
        // SAFETY: the same contract; what a graph copies stays until its last launch.
        in_order(stream, move |client| unsafe {
            copy(client, self.to, self.from, extent, self.kind)
        })
    }
}

fn in_array(array: u64, x: usize, y: usize) -> Side {
    Side::Array { array, origin: [x as u64, y as u64, 0] }
}

fn in_memory(address: u64, pitch: usize) -> Side {
    Side::Memory { address, pitches: [pitch as u64, 0] }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DToArray(
    array: u64,
    x: usize,
    y: usize,
    from: u64,
    pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> u32 {
    let (to, from) = (in_array(array, x, y), in_memory(from, pitch));
    // SAFETY: the same contract.
    unsafe { Rows { to, from, width, height, kind }.run(None) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DToArrayAsync(
    array: u64,
    x: usize,
    y: usize,
    from: u64,
    pitch: usize,
    width: usize,
    height: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    let (to, from) = (in_array(array, x, y), in_memory(from, pitch));
    // SAFETY: the same contract.
    unsafe { Rows { to, from, width, height, kind }.run(Some(stream)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DFromArray(
    to: u64,
    pitch: usize,
    array: u64,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> u32 {
    let (to, from) = (in_memory(to, pitch), in_array(array, x, y));
    // SAFETY: the same contract.
    unsafe { Rows { to, from, width, height, kind }.run(None) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpy2DFromArrayAsync(
    to: u64,
    pitch: usize,
    array: u64,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    let (to, from) = (in_memory(to, pitch), in_array(array, x, y));
    // SAFETY: the same contract.
    unsafe { Rows { to, from, width, height, kind }.run(Some(stream)) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy2DArrayToArray(
    to: u64,
    to_x: usize,
    to_y: usize,
    from: u64,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    kind: Kind,
) -> u32 {
    let (to, from) = (in_array(to, to_x, to_y), in_array(from, from_x, from_y));
    // SAFETY: no address of the program is in it.
    unsafe { Rows { to, from, width, height, kind }.run(None) }
}

/// The runs of bytes of an array that `bytes` bytes from a place on take, with the offset of each: the rest of the first row, whole rows,
/// the beginning of the last one.
fn runs(
    client: &Client,
    array: u64,
    x: u64,
    y: u64,
    bytes: u64,
) -> Answer<Vec<(u64, u64, u64, u64)>> {
    let width = record(client, array)?.shape.extent[0] * texel_bytes(client, array)?;
    let (mut runs, mut done) = (Vec::new(), 0);
    let (mut x, mut y) = (x, y);
    if x >= width {
        return Err(CudaError::INVALID_VALUE);
    }
    while done < bytes {
        let length = (width - x).min(bytes - done);
        runs.push((done, x, y, length));
        (done, x, y) = (done + length, 0, y + 1);
    }
    Ok(runs)
}

/// Copies bytes that fill an array row by row, to it or from it.
///
/// # Safety
/// An address that is not in device memory is valid for so many bytes.
unsafe fn copy_flat(
    client: &mut Client,
    (array, x, y): (u64, usize, usize),
    address: u64,
    bytes: usize,
    (kind, to_array): (Kind, bool),
) -> Answer<()> {
    for (offset, x, y, length) in runs(client, array, x as u64, y as u64, bytes as u64)? {
        let inside = Side::Array { array, origin: [x, y, 0] };
        let outside = Side::Memory { address: address.wrapping_add(offset), pitches: [length, 0] };
        let (to, from) = if to_array { (inside, outside) } else { (outside, inside) };
        // SAFETY: the same contract.
        unsafe { copy(client, to, from, [length, 1, 1], kind)? };
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyToArray(
    array: u64,
    x: usize,
    y: usize,
    from: u64,
    bytes: usize,
    kind: Kind,
) -> u32 {
    // SAFETY: the same contract; what a graph copies stays until its last launch.
    in_order(None, move |client| unsafe {
        copy_flat(client, (array, x, y), from, bytes, (kind, true))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyToArrayAsync(
    array: u64,
    x: usize,
    y: usize,
    from: u64,
    bytes: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    // SAFETY: the same contract; what a graph copies stays until its last launch.
    in_order(Some(stream), move |client| unsafe {
        copy_flat(client, (array, x, y), from, bytes, (kind, true))
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaMemcpyFromArray(
    to: u64,
    array: u64,
    x: usize,
    y: usize,
    bytes: usize,
    kind: Kind,
) -> u32 {
    // SAFETY: the same contract; what a graph copies stays until its last launch.
    in_order(None, move |client| unsafe {
        copy_flat(client, (array, x, y), to, bytes, (kind, false))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaMemcpyFromArrayAsync(
    to: u64,
    array: u64,
    x: usize,
    y: usize,
    bytes: usize,
    kind: Kind,
    stream: u64,
) -> u32 {
    // SAFETY: the same contract; what a graph copies stays until its last launch.
    in_order(Some(stream), move |client| unsafe {
        copy_flat(client, (array, x, y), to, bytes, (kind, false))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyArrayToArray(
    to: u64,
    to_x: usize,
    to_y: usize,
    from: u64,
    from_x: usize,
    from_y: usize,
    bytes: usize,
    kind: Kind,
) -> u32 {
    enter(|client| {
        client.synchronise(Awaited::Stream(0))?;
        if kind != DEVICE_TO_DEVICE && kind != memory::DEFAULT {
            return Err(CudaError::INVALID_MEMCPY_DIRECTION);
        }
        // Rows of the two may break at different places.
        let targets = runs(client, to, to_x as u64, to_y as u64, bytes as u64)?;
        let sources = runs(client, from, from_x as u64, from_y as u64, bytes as u64)?;
        let (mut targets, mut sources) = (targets.into_iter(), sources.into_iter());
        let (mut target, mut source) = (targets.next(), sources.next());
        while let (Some((_, x, y, room)), Some((_, u, v, left))) = (target, source) {
            let length = room.min(left);
            let sides =
                (in_array(to, x as usize, y as usize), in_array(from, u as usize, v as usize));
            // SAFETY: no address of the program is in it.
            unsafe { copy(client, sides.0, sides.1, [length, 1, 1], kind)? };
            target = if room > length {
                Some((0, x + length, y, room - length))
            } else {
                targets.next()
            };
            source = if left > length {
                Some((0, u + length, v, left - length))
            } else {
                sources.next()
            };
        }
        Ok(())
    })
}
