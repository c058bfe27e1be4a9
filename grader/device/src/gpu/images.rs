//! CUDA arrays, textures and surfaces by the CUDA driver.
#![allow(unsafe_code)]

use super::errors::code;
use cudarc::driver::sys::{
    self, CUaddress_mode, CUarray_format, CUfilter_mode, CUmemorytype, CUresourcetype,
};
use cudart::device::Answer;
use cudart::error::CudaError;
use cudart::images::{
    ArrayShape, ChannelFormat, ImageObjectDesc, ImageSource, Region, TextureDesc,
};
use std::collections::BTreeSet;
use std::ffi::c_void;

/// The mipmapped arrays among those that a device has made; the driver has other functions for them.
#[derive(Debug, Default)]
pub struct Arrays {
    mipmapped: BTreeSet<u64>,
}

/// The driver's format and the number of channels.
fn format_of(format: ChannelFormat) -> Answer<(CUarray_format, u32)> {
    use CUarray_format as F;
    let channels = format.format().ok_or(CudaError::INVALID_VALUE)?.channels();
    let format = match (format.kind, format.bits[0]) {
        (0, 8) => F::CU_AD_FORMAT_SIGNED_INT8,
        (0, 16) => F::CU_AD_FORMAT_SIGNED_INT16,
        (0, _) => F::CU_AD_FORMAT_SIGNED_INT32,
        (1, 8) => F::CU_AD_FORMAT_UNSIGNED_INT8,
        (1, 16) => F::CU_AD_FORMAT_UNSIGNED_INT16,
        (1, _) => F::CU_AD_FORMAT_UNSIGNED_INT32,
        (_, 16) => F::CU_AD_FORMAT_HALF,
        _ => F::CU_AD_FORMAT_FLOAT,
    };
    Ok((format, channels))
}

impl Arrays {
    /// Makes an array. A context is current, here and below.
    pub fn create(&mut self, shape: &ArrayShape) -> Answer<u64> {
        let (format, channels) = format_of(shape.format)?;
        let [width, height, depth] = shape.extent.map(|size| size as usize);
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format,
            NumChannels: channels,
            // The flags of the runtime are those of the driver.
            Flags: shape.flags,
        };
        if shape.levels > 1 {
            let mut array = std::ptr::null_mut();
            // SAFETY: the driver reads the description and writes a handle, and both live until it returns.
            unsafe {
                sys::cuMipmappedArrayCreate(&raw mut array, &raw const description, shape.levels)
            }
            .result()
            .map_err(code)?;
            self.mipmapped.insert(array as u64);
            return Ok(array as u64);
        }
        let mut array = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe { sys::cuArray3DCreate_v2(&raw mut array, &raw const description) }
            .result()
            .map_err(code)?;
        Ok(array as u64)
    }

    /// Frees an array.
    pub fn free(&mut self, array: u64) -> Answer<()> {
        let freed = if self.mipmapped.remove(&array) {
            // SAFETY: it is a mipmapped array that was not freed yet.
            unsafe { sys::cuMipmappedArrayDestroy(array as sys::CUmipmappedArray) }
        } else {
            // SAFETY: a wrong handle can crash the driver: this process is there to take that risk.
            unsafe { sys::cuArrayDestroy(array as sys::CUarray) }
        };
        freed.result().map_err(code)
    }

    /// A level of a mipmapped array; of another array the array itself.
    pub fn level(&self, array: u64, level: u32) -> Answer<u64> {
        if !self.mipmapped.contains(&array) {
            return if level == 0 { Ok(array) } else { Err(CudaError::INVALID_VALUE) };
        }
        let mut found = std::ptr::null_mut();
        // SAFETY: it is a mipmapped array, and the driver writes a handle.
        unsafe {
            sys::cuMipmappedArrayGetLevel(&raw mut found, array as sys::CUmipmappedArray, level)
        }
        .result()
        .map_err(code)?;
        Ok(found as u64)
    }

    /// Makes a texture or surface object.
    pub fn create_object(&self, object: &ImageObjectDesc) -> Answer<u64> {
        // SAFETY: zero is a value of each field of these structures, and none of them is larger than the union.
        let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        match object.source {
            ImageSource::Array { array } if self.mipmapped.contains(&array) => {
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
                resource.res.mipmap.hMipmappedArray = array as sys::CUmipmappedArray;
            }
            ImageSource::Array { array } => {
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
                resource.res.array.hArray = array as sys::CUarray;
            }
            ImageSource::Linear { address, format, bytes } => {
                let (format, channels) = format_of(format)?;
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
                resource.res.linear.devPtr = address;
                resource.res.linear.format = format;
                resource.res.linear.numChannels = channels;
                resource.res.linear.sizeInBytes = bytes as usize;
            }
            ImageSource::Pitched { address, format, extent, pitch } => {
                let (format, channels) = format_of(format)?;
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                resource.res.pitch2D.devPtr = address;
                resource.res.pitch2D.format = format;
                resource.res.pitch2D.numChannels = channels;
                resource.res.pitch2D.width = extent[0] as usize;
                resource.res.pitch2D.height = extent[1] as usize;
                resource.res.pitch2D.pitchInBytes = pitch as usize;
            }
        }
        let mut handle = 0;
        let made = match &object.texture {
            Some(texture) => {
                let texture = texture_of(texture)?;
                // SAFETY: the driver reads the descriptions and writes a handle, which live until it returns.
                unsafe {
                    sys::cuTexObjectCreate(
                        &raw mut handle,
                        &raw const resource,
                        &raw const texture,
                        std::ptr::null(),
                    )
                }
            }
            // SAFETY: as above.
            None => unsafe { sys::cuSurfObjectCreate(&raw mut handle, &raw const resource) },
        };
        made.result().map_err(code)?;
        Ok(handle)
    }
}

/// Destroys a texture or surface object.
pub fn destroy_object(handle: u64, texture: bool) -> Answer<()> {
    // SAFETY: a wrong handle can crash the driver: this process is there to take that risk.
    let destroyed = unsafe {
        if texture { sys::cuTexObjectDestroy(handle) } else { sys::cuSurfObjectDestroy(handle) }
    };
    destroyed.result().map_err(code)
}

/// Flags of `CUDA_TEXTURE_DESC` (CUDA Driver API, `cuTexObjectCreate`).
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;
const SRGB: u32 = 0x10;
const DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
const SEAMLESS_CUBEMAP: u32 = 0x40;

/// The driver's description of how a texture is read.
fn texture_of(texture: &TextureDesc) -> Answer<sys::CUDA_TEXTURE_DESC> {
    use CUaddress_mode as A;
    let filter = |mode: u32| match mode {
        0 => Ok(CUfilter_mode::CU_TR_FILTER_MODE_POINT),
        1 => Ok(CUfilter_mode::CU_TR_FILTER_MODE_LINEAR),
        _ => Err(CudaError::INVALID_VALUE),
    };
    let address = |mode: u32| match mode {
        0 => A::CU_TR_ADDRESS_MODE_WRAP,
        1 => A::CU_TR_ADDRESS_MODE_CLAMP,
        2 => A::CU_TR_ADDRESS_MODE_MIRROR,
        _ => A::CU_TR_ADDRESS_MODE_BORDER,
    };
    let flag = |is: bool, flag: u32| if is { flag } else { 0 };
    Ok(sys::CUDA_TEXTURE_DESC {
        addressMode: texture.address_mode.map(address),
        filterMode: filter(texture.filter_mode)?,
        flags: flag(texture.read_mode == 0, READ_AS_INTEGER)
            | flag(texture.normalized_coords != 0, NORMALIZED_COORDINATES)
            | flag(texture.srgb != 0, SRGB)
            | flag(texture.disable_trilinear_optimization != 0, DISABLE_TRILINEAR_OPTIMIZATION)
            | flag(texture.seamless_cubemap != 0, SEAMLESS_CUBEMAP),
        maxAnisotropy: texture.max_anisotropy,
        mipmapFilterMode: filter(texture.mipmap_filter_mode)?,
        mipmapLevelBias: texture.mipmap_level_bias,
        minMipmapLevelClamp: texture.min_mipmap_level_clamp,
        maxMipmapLevelClamp: texture.max_mipmap_level_clamp,
        borderColor: texture.border_color,
        reserved: [0; 12],
    })
}

/// A side of a copy: in memory of the device, in an array, or in memory of this process.
#[derive(Clone, Copy)]
pub enum Side {
    /// On the device.
    Device(Region),
    /// Packed bytes in this process, as many as are copied.
    Host(*mut c_void),
}

/// Copies a box.
///
/// # Safety
/// What a `Side::Host` points to is valid for all bytes of the box; of the source it is only read.
pub unsafe fn copy(to: Side, from: Side, extent: [u64; 3]) -> Answer<()> {
    let [bytes, rows, slices] = extent.map(|size| size as usize);
    // SAFETY: zero is a value of each field.
    let mut copy: sys::CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.WidthInBytes, copy.Height, copy.Depth) = (bytes, rows, slices);
    // The driver wants the height of a slice: rows of the pitch.
    let height = |[row, slice]: [u64; 2]| slice.checked_div(row).unwrap_or(0) as usize;
    match to {
        Side::Host(pointer) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
            (copy.dstHost, copy.dstPitch, copy.dstHeight) = (pointer, bytes, rows);
        }
        Side::Device(Region::Linear { address, pitches }) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            (copy.dstDevice, copy.dstPitch, copy.dstHeight) =
                (address, pitches[0] as usize, height(pitches));
        }
        Side::Device(Region::Array { array, origin: [x, y, z] }) => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array as sys::CUarray;
            (copy.dstXInBytes, copy.dstY, copy.dstZ) = (x as usize, y as usize, z as usize);
        }
    }
    match from {
        Side::Host(pointer) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
            (copy.srcHost, copy.srcPitch, copy.srcHeight) = (pointer.cast_const(), bytes, rows);
        }
        Side::Device(Region::Linear { address, pitches }) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            (copy.srcDevice, copy.srcPitch, copy.srcHeight) =
                (address, pitches[0] as usize, height(pitches));
        }
        Side::Device(Region::Array { array, origin: [x, y, z] }) => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
            copy.srcArray = array as sys::CUarray;
            (copy.srcXInBytes, copy.srcY, copy.srcZ) = (x as usize, y as usize, z as usize);
        }
    }
    // SAFETY: the driver reads the description and refuses ranges outside its allocations; for the host's side see above.
    unsafe { sys::cuMemcpy3D_v2(&raw const copy) }.result().map_err(code)
}
