//! The driver's functions for arrays, textures and surfaces: those of the runtime, with structures of their own.

use super::arrays::{
    Side, copy, cudaFreeArray, cudaFreeMipmappedArray, cudaGetMipmappedArrayLevel,
    cudaMemcpyFromArray, cudaMemcpyToArray, in_order, make_array, make_mipmapped_array, record,
};
use super::c::put;
use super::memory::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE};
use super::table::table;
use super::textures::{ResourceDesc, create, cudaDestroySurfaceObject, cudaDestroyTextureObject};
use crate::client::{RESOURCE_WORDS, enter};
use crate::device::Answer;
use crate::error::CudaError;
use crate::images::{ArrayShape, ChannelFormat, TextureDesc};
use std::ffi::{c_uint, c_void};

/// Defines `TABLE`, as [`table!`] does, and the addresses by name.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        table![$($name),*];
        /// All of them, by name.
        pub(super) const FUNCTIONS: &[(&str, *const ())] = &[$((stringify!($name), $name as *const ())),*];
    };
}

functions![
    cuArrayCreate_v2,
    cuArray3DCreate_v2,
    cuArrayGetDescriptor_v2,
    cuArray3DGetDescriptor_v2,
    cuArrayDestroy,
    cuMipmappedArrayCreate,
    cuMipmappedArrayGetLevel,
    cuMipmappedArrayDestroy,
    cuMemcpyHtoA_v2,
    cuMemcpyAtoH_v2,
    cuMemcpyDtoA_v2,
    cuMemcpyAtoD_v2,
    cuMemcpy2D_v2,
    cuMemcpy2DUnaligned_v2,
    cuMemcpy2DAsync_v2,
    cuMemcpy3D_v2,
    cuMemcpy3DAsync_v2,
    cuTexObjectCreate,
    cuTexObjectDestroy,
    cuSurfObjectCreate,
    cuSurfObjectDestroy,
];

/// The formats of channels: the driver's code, the runtime's kind, and the bits.
const FORMATS: [(c_uint, u32, i32); 8] = [
    (0x01, 1, 8),
    (0x02, 1, 16),
    (0x03, 1, 32),
    (0x08, 0, 8),
    (0x09, 0, 16),
    (0x0A, 0, 32),
    (0x10, 2, 16),
    (0x20, 2, 32),
];

/// A format as the runtime has it.
fn channels(code: c_uint, count: c_uint) -> Answer<ChannelFormat> {
    let found = FORMATS.iter().find(|(known, ..)| *known == code);
    let &(_, kind, bits) = found.ok_or(CudaError::INVALID_VALUE)?;
    if !matches!(count, 1 | 2 | 4) {
        return Err(CudaError::INVALID_VALUE);
    }
    let bits = std::array::from_fn(|channel| if channel < count as usize { bits } else { 0 });
    Ok(ChannelFormat { bits, kind })
}

/// The driver's code of a format, and the number of its channels.
fn code(format: ChannelFormat) -> (c_uint, c_uint) {
    let found =
        FORMATS.iter().find(|&&(_, kind, bits)| (kind, bits) == (format.kind, format.bits[0]));
    let count = format.bits.iter().filter(|&&bits| bits != 0).count();
    (found.map_or(0, |(code, ..)| *code), count as c_uint)
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArrayDesc {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`. Its flags are those of the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
struct Array3DDesc {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// Makes an array, with levels if a number of them is given.
///
/// # Safety
/// `to` is null, or the place of a handle.
unsafe fn make(to: *mut u64, of: Array3DDesc, levels: Option<c_uint>) -> u32 {
    let format = match channels(of.format, of.channels) {
        Ok(format) => format,
        Err(error) => return enter(|_| Err(error)),
    };
    let extent = [of.width, of.height, of.depth].map(|size| size as u64);
    // SAFETY: by contract; the format is a variable.
    unsafe {
        match levels {
            None => make_array(to, &raw const format, extent, 1, of.flags),
            Some(levels) => make_mipmapped_array(to, &raw const format, extent, levels, of.flags),
        }
    }
}

/// What a program's pointer points to.
///
/// # Safety
/// It is null, or points to such a value.
unsafe fn given<T: Copy>(from: *const T) -> Answer<T> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; by contract.
    Ok(unsafe { from.read_unaligned() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuArrayCreate_v2(to: *mut u64, of: *const ArrayDesc) -> u32 {
    // SAFETY: the program passes a description, and null or the place of a handle.
    match unsafe { given(of) } {
        Ok(ArrayDesc { width, height, format, channels }) => {
            let of = Array3DDesc { width, height, depth: 0, format, channels, flags: 0 };
            // SAFETY: as above.
            unsafe { make(to, of, None) }
        }
        Err(error) => enter(|_| Err(error)),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuArray3DCreate_v2(to: *mut u64, of: *const Array3DDesc) -> u32 {
    // SAFETY: the program passes a description, and null or the place of a handle.
    match unsafe { given(of) } {
        // SAFETY: as above.
        Ok(of) => unsafe { make(to, of, None) },
        Err(error) => enter(|_| Err(error)),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMipmappedArrayCreate(
    to: *mut u64,
    of: *const Array3DDesc,
    levels: c_uint,
) -> u32 {
    // SAFETY: the program passes a description, and null or the place of a handle.
    match unsafe { given(of) } {
        // SAFETY: as above.
        Ok(of) => unsafe { make(to, of, Some(levels)) },
        Err(error) => enter(|_| Err(error)),
    }
}

/// The description of an array.
fn described(shape: ArrayShape) -> Array3DDesc {
    let [width, height, depth] = shape.extent.map(|size| size as usize);
    let (format, channels) = code(shape.format);
    Array3DDesc { width, height, depth, format, channels, flags: shape.flags }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuArray3DGetDescriptor_v2(to: *mut Array3DDesc, array: u64) -> u32 {
    // SAFETY: null is refused; else the program says that it is a description.
    enter(|client| unsafe { put(to, described(record(client, array)?.shape)) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuArrayGetDescriptor_v2(to: *mut ArrayDesc, array: u64) -> u32 {
    enter(|client| {
        let Array3DDesc { width, height, format, channels, .. } =
            described(record(client, array)?.shape);
        // SAFETY: null is refused; else the program says that it is a description.
        unsafe { put(to, ArrayDesc { width, height, format, channels }) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMipmappedArrayGetLevel(to: *mut u64, array: u64, level: c_uint) -> u32 {
    // SAFETY: the driver asks the same of the program as the runtime.
    unsafe { cudaGetMipmappedArrayLevel(to, array, level) }
}

#[unsafe(no_mangle)]
extern "C" fn cuArrayDestroy(array: u64) -> u32 {
    cudaFreeArray(array)
}

#[unsafe(no_mangle)]
extern "C" fn cuMipmappedArrayDestroy(array: u64) -> u32 {
    cudaFreeMipmappedArray(array)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoA_v2(array: u64, offset: usize, from: u64, bytes: usize) -> u32 {
    // SAFETY: the driver asks the same of the program as the runtime.
    unsafe { cudaMemcpyToArray(array, offset, 0, from, bytes, HOST_TO_DEVICE) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoA_v2(array: u64, offset: usize, from: u64, bytes: usize) -> u32 {
    // SAFETY: the driver asks the same of the program as the runtime.
    unsafe { cudaMemcpyToArray(array, offset, 0, from, bytes, DEVICE_TO_DEVICE) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyAtoH_v2(to: u64, array: u64, offset: usize, bytes: usize) -> u32 {
    // SAFETY: the driver asks the same of the program as the runtime.
    unsafe { cudaMemcpyFromArray(to, array, offset, 0, bytes, DEVICE_TO_HOST) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyAtoD_v2(to: u64, array: u64, offset: usize, bytes: usize) -> u32 {
    // SAFETY: the driver asks the same of the program as the runtime.
    unsafe { cudaMemcpyFromArray(to, array, offset, 0, bytes, DEVICE_TO_DEVICE) }
}

/// One side of a `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2D {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Copy2D {
    from: Side2D,
    to: Side2D,
    bytes: usize,
    height: usize,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: u64,
    reserved: u64,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Copy3D {
    from: Side3D,
    to: Side3D,
    bytes: usize,
    height: usize,
    depth: usize,
}

/// Values of `CUmemorytype`.
const ON_HOST: c_uint = 1;
const ON_DEVICE: c_uint = 2;
const ARRAY: c_uint = 3;
const UNIFIED: c_uint = 4;

impl From<Side2D> for Side3D {
    fn from(side: Side2D) -> Self {
        let Side2D { x, y, kind, host, device, array, pitch } = side;
        Self { x, y, z: 0, level: 0, kind, host, device, array, reserved: 0, pitch, height: 0 }
    }
}

impl From<Copy2D> for Copy3D {
    fn from(copy: Copy2D) -> Self {
        let Copy2D { from, to, bytes, height } = copy;
        Self { from: from.into(), to: to.into(), bytes, height, depth: 1 }
    }
}

impl Side3D {
    /// Where it is, for a box of so many bytes and rows. Rows and slices follow each other closely where no pitch is given.
    fn side(self, bytes: usize, height: usize) -> Answer<Side> {
        if self.level != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let [x, y, z] = [self.x, self.y, self.z].map(|size| size as u64);
        let row = if self.pitch == 0 { bytes } else { self.pitch } as u64;
        let slice = row.wrapping_mul(if self.height == 0 { height } else { self.height } as u64);
        let address = match self.kind {
            ARRAY => return Ok(Side::Array { array: self.array, origin: [x, y, z] }),
            ON_HOST => self.host,
            ON_DEVICE | UNIFIED => self.device,
            _ => return Err(CudaError::INVALID_VALUE),
        };
        let offset = x.wrapping_add(y.wrapping_mul(row)).wrapping_add(z.wrapping_mul(slice));
        Ok(Side::Memory { address: address.wrapping_add(offset), pitches: [row, slice] })
    }
}

impl Copy3D {
    /// Copies in a stream, or at once.
    ///
    /// # Safety
    /// An address of the host is valid for what is copied.
    unsafe fn run(self, stream: Option<u64>) -> u32 {
        let Self { from, to, bytes, height, depth } = self;
        let sides = from.side(bytes, height).and_then(|from| Ok((from, to.side(bytes, height)?)));
        let (from, to) = match sides {
            Ok(sides) => sides,
            Err(error) => return enter(|_| Err(error)),
        };
        let extent = [bytes, height, depth].map(|size| size as u64);
        // SAFETY: by contract; what a graph copies stays until its last launch.
        in_order(stream, move |client| unsafe { copy(client, to, from, extent, DEFAULT) })
    }
}

/// Each entry: a function that copies a box, its structure, and whether it is in a stream.
macro_rules! copies {
    ($($name:ident($kind:ty $(, $stream:ident)?);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(of: *const $kind $(, $stream: u64)?) -> u32 {
            let stream: Option<u64> = None;
            $(let stream = stream.or(Some($stream));)?
            // SAFETY: the program passes such a structure, and what it points to.
            match unsafe { given(of) } {
                // SAFETY: as above.
                Ok(of) => unsafe { Copy3D::from(of).run(stream) },
                Err(error) => enter(|_| Err(error)),
            }
        }
    )*};
}

copies! {
    cuMemcpy2D_v2(Copy2D);
    cuMemcpy2DUnaligned_v2(Copy2D);
    cuMemcpy2DAsync_v2(Copy2D, stream);
    cuMemcpy3D_v2(Copy3D);
    cuMemcpy3DAsync_v2(Copy3D, stream);
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverTextureDesc {
    address_mode: [u32; 3],
    filter_mode: u32,
    flags: u32,
    max_anisotropy: u32,
    mipmap_filter_mode: u32,
    mipmap_level_bias: f32,
    min_mipmap_level_clamp: f32,
    max_mipmap_level_clamp: f32,
    border_color: [f32; 4],
    reserved: [u32; 12],
}

/// Flags of a texture: integers stay integers, coordinates from 0 to 1, sRGB, no approximation between levels, cubes without edges.
const READ_AS_INTEGER: u32 = 0x01;
const NORMALIZED: u32 = 0x02;
const SRGB: u32 = 0x10;
const EXACT: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// The words of a `CUDA_RESOURCE_DESC` as those of the runtime's, and whether its texels are integers of 8 or 16 bits.
fn resource(
    words: &[u64; 18],
    format: impl FnOnce(u64) -> Answer<ChannelFormat>,
) -> Answer<(ResourceDesc, bool)> {
    let mut to: ResourceDesc = [0; RESOURCE_WORDS];
    let [kind, address, ..] = *words;
    (to[0], to[1]) = (kind & u64::from(u32::MAX), address);
    let format = match to[0] {
        0 | 1 => format(address)?,
        // Linear memory: the address, the format and the number of channels, sizes.
        2 | 3 => {
            let format = channels(words[2] as u32, (words[2] >> 32) as u32)?;
            let pair = |low: i32, high: i32| u64::from(low as u32) | u64::from(high as u32) << 32;
            to[2] = pair(format.bits[0], format.bits[1]);
            to[3] = pair(format.bits[2], format.bits[3]);
            to[4] = format.kind.into();
            to[5..8].copy_from_slice(&words[3..6]);
            format
        }
        _ => return Err(CudaError::INVALID_VALUE),
    };
    Ok((to, format.kind != 2 && format.bits[0] < 32))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTexObjectCreate(
    to: *mut u64,
    of: *const [u64; 18],
    texture: *const DriverTextureDesc,
    view: *const c_void,
) -> u32 {
    if !view.is_null() {
        return super::unsupported::refuse("cuTexObjectCreate with a resource view");
    }
    enter(|client| {
        // SAFETY: the program passes such structures.
        let (of, texture) = unsafe { (given(of)?, given(texture)?) };
        let (resource, small) = resource(&of, |array| Ok(record(client, array)?.shape.format))?;
        let has = |flag: u32| texture.flags & flag != 0;
        let texture = TextureDesc {
            address_mode: texture.address_mode,
            filter_mode: texture.filter_mode,
            // Small integers become floats from 0 to 1 unless the program says otherwise.
            read_mode: u32::from(small && !has(READ_AS_INTEGER)),
            srgb: has(SRGB).into(),
            border_color: texture.border_color,
            normalized_coords: has(NORMALIZED).into(),
            max_anisotropy: texture.max_anisotropy,
            mipmap_filter_mode: texture.mipmap_filter_mode,
            mipmap_level_bias: texture.mipmap_level_bias,
            min_mipmap_level_clamp: texture.min_mipmap_level_clamp,
            max_mipmap_level_clamp: texture.max_mipmap_level_clamp,
            disable_trilinear_optimization: has(EXACT).into(),
            seamless_cubemap: has(SEAMLESS).into(),
        };
        // SAFETY: the resource is a variable; null is refused, else `to` is the place of a handle.
        unsafe { create(client, to, &raw const resource, Some(texture)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuSurfObjectCreate(to: *mut u64, of: *const [u64; 18]) -> u32 {
    enter(|client| {
        // SAFETY: the program passes such a structure.
        let of = unsafe { given(of)? };
        let (resource, _) = resource(&of, |array| Ok(record(client, array)?.shape.format))?;
        // SAFETY: the resource is a variable; null is refused, else `to` is the place of a handle.
        unsafe { create(client, to, &raw const resource, None) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuTexObjectDestroy(handle: u64) -> u32 {
    cudaDestroyTextureObject(handle)
}

#[unsafe(no_mangle)]
extern "C" fn cuSurfObjectDestroy(handle: u64) -> u32 {
    cudaDestroySurfaceObject(handle)
}
