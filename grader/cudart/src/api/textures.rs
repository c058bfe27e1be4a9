//! Texture and surface objects.

use super::c::put;
use super::table::table;
use crate::client::{Client, ObjectRecord, RESOURCE_WORDS, enter};
use crate::device::{Answer, Device};
use crate::error::CudaError;
use crate::images::{ChannelFormat, ImageObjectDesc, ImageSource, TextureDesc};
use std::ffi::{c_int, c_void};

table![
    cudaCreateTextureObject,
    cudaDestroyTextureObject,
    cudaGetTextureObjectResourceDesc,
    cudaGetTextureObjectTextureDesc,
    cudaCreateSurfaceObject,
    cudaDestroySurfaceObject,
    cudaGetSurfaceObjectResourceDesc,
    cudaDeviceGetTexture1DLinearMaxWidth,
];

/// `cudaResourceDesc`.
pub(super) type ResourceDesc = [u64; RESOURCE_WORDS];

/// The words of a `cudaResourceDesc` as the members of its unions.
fn source(resource: &ResourceDesc) -> Answer<ImageSource> {
    // The type, padding, and the union: a pointer, a channel format of five ints and padding, sizes.
    let [kind, address, ..] = *resource;
    let int = |word: usize, half: u32| (resource[word] >> (32 * half)) as u32;
    let format = ChannelFormat {
        bits: [int(2, 0), int(2, 1), int(3, 0), int(3, 1)].map(|bits| bits as i32),
        kind: int(4, 0),
    };
    match kind as u32 {
        // An array, or a mipmapped one.
        0 | 1 => Ok(ImageSource::Array { array: address }),
        2 => Ok(ImageSource::Linear { address, format, bytes: resource[5] }),
        3 => {
            let (extent, pitch) = ([resource[5], resource[6]], resource[7]);
            Ok(ImageSource::Pitched { address, format, extent, pitch })
        }
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Makes an object, and writes its handle.
///
/// # Safety
/// The pointers are null or valid.
pub(super) unsafe fn create(
    client: &mut Client,
    to: *mut u64,
    resource: *const ResourceDesc,
    texture: Option<TextureDesc>,
) -> Answer<()> {
    if to.is_null() || resource.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; the program says that it is such a structure.
    let resource = unsafe { resource.read_unaligned() };
    let handle =
        client.create_image_object(ImageObjectDesc { source: source(&resource)?, texture })?;
    client.images.objects.insert(handle, ObjectRecord { resource, texture });
    // SAFETY: not null; the program says it is a pointer to a handle.
    unsafe { put(to, handle) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaCreateTextureObject(
    to: *mut u64,
    resource: *const ResourceDesc,
    texture: *const TextureDesc,
    view: *const c_void,
) -> u32 {
    if !view.is_null() {
        return super::unsupported::refuse("cudaCreateTextureObject with a resource view");
    }
    enter(|client| {
        if texture.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says that it is such a structure.
        let texture = unsafe { texture.read_unaligned() };
        // SAFETY: the same contract.
        unsafe { create(client, to, resource, Some(texture)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaCreateSurfaceObject(to: *mut u64, resource: *const ResourceDesc) -> u32 {
    // SAFETY: the same contract.
    enter(|client| unsafe { create(client, to, resource, None) })
}

fn record(client: &Client, handle: u64, texture: bool) -> Answer<ObjectRecord> {
    let found = client.images.objects.get(&handle).copied();
    found.filter(|record| record.texture.is_some() == texture).ok_or(CudaError::INVALID_VALUE)
}

/// Destroys a texture or surface. What is none is destroyed already: success on an H100.
fn destroy(handle: u64, texture: bool) -> u32 {
    enter(|client| {
        if record(client, handle, texture).is_ok() {
            client.destroy_image_object(handle, texture)?;
            client.images.objects.remove(&handle);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDestroyTextureObject(handle: u64) -> u32 {
    destroy(handle, true)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDestroySurfaceObject(handle: u64) -> u32 {
    destroy(handle, false)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetTextureObjectResourceDesc(to: *mut ResourceDesc, handle: u64) -> u32 {
    // SAFETY: null is refused; else the program says that it is such a structure.
    enter(|client| unsafe { put(to, record(client, handle, true)?.resource) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetSurfaceObjectResourceDesc(to: *mut ResourceDesc, handle: u64) -> u32 {
    // SAFETY: null is refused; else the program says that it is such a structure.
    enter(|client| unsafe { put(to, record(client, handle, false)?.resource) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetTextureObjectTextureDesc(to: *mut TextureDesc, handle: u64) -> u32 {
    enter(|client| {
        let texture = record(client, handle, true)?.texture.ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: null is refused; else the program says that it is such a structure.
        unsafe { put(to, texture) }
    })
}

/// The texels of the largest texture of linear memory, as an H100 says.
const LINEAR_WIDTH: usize = 1 << 30;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetTexture1DLinearMaxWidth(
    to: *mut usize,
    format: *const ChannelFormat,
    device: c_int,
) -> u32 {
    enter(|_| {
        super::device::only(device)?;
        if format.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says that it is such a structure.
        let format = unsafe { format.read_unaligned() };
        format.format().ok_or(CudaError::INVALID_CHANNEL_DESCRIPTOR)?;
        // SAFETY: null is refused; else the program says what it points to.
        unsafe { put(to, LINEAR_WIDTH) }
    })
}
