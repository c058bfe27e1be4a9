//! Functions about the device: its choice, its properties, waiting for it.

use super::c::{put, string};
use super::table::table;
use crate::client::{enter, revive};
use crate::device::{Awaited, Device, Limit, Properties};
use crate::error::CudaError;
use hardware::{
    CONSTANT_MEMORY, MAX_BLOCK, MAX_GRID, MAX_THREADS, Multiprocessor, REGISTERS,
    SHARED_WITHOUT_OPT_IN, WARP_SIZE,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

table![
    cudaGetDeviceCount,
    cudaGetDevice,
    cudaSetDevice,
    cudaChooseDevice,
    cudaDeviceGetPCIBusId,
    cudaDeviceGetByPCIBusId,
    cudaInitDevice,
    cudaSetDeviceFlags,
    cudaGetDeviceFlags,
    cudaDeviceSynchronize,
    cudaDeviceReset,
    cudaGetDeviceProperties,
    cudaDeviceGetAttribute,
    cudaDeviceSetLimit,
    cudaDeviceGetLimit,
    cudaDeviceGetCacheConfig,
    cudaDeviceSetCacheConfig,
    cudaDeviceGetSharedMemConfig,
    cudaDeviceSetSharedMemConfig,
    cudaDeviceGetStreamPriorityRange,
    cudaDeviceCanAccessPeer,
    cudaDeviceEnablePeerAccess,
    cudaDeviceDisablePeerAccess,
    cudaDeviceGetP2PAttribute,
    cudaCtxResetPersistingL2Cache,
    cudaDriverGetVersion,
    cudaRuntimeGetVersion,
    cudaProfilerStart,
    cudaProfilerStop,
];

/// The CUDA version that this library implements: 13.0.
const VERSION: c_int = 13_000;

/// Answers a question whose answer is the same for every program.
///
/// # Safety
/// `to` is null or may be written.
pub(super) unsafe fn give<T>(to: *mut T, value: T) -> u32 {
    // SAFETY: the same contract.
    enter(|_| unsafe { put(to, value) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaGetDeviceCount(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, 1) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDevice(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, 0) }
}

pub(super) fn only(device: c_int) -> Result<(), CudaError> {
    if device == 0 { Ok(()) } else { Err(CudaError::INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(device: c_int) -> u32 {
    enter(|_| only(device))
}

/// The one device is the best, whatever properties are asked for.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaChooseDevice(to: *mut c_int, _properties: *const c_void) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, 0) }
}

/// Where the device is on the bus: domain, bus, device and function.
const BUS_ID: &CStr = c"0000:00:00.0";

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetPCIBusId(to: *mut c_char, length: c_int, device: c_int) -> u32 {
    enter(|_| {
        only(device)?;
        let id = BUS_ID.to_bytes_with_nul();
        if to.is_null() || usize::try_from(length).is_ok_and(|length| length < id.len()) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says that there is room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(id.as_ptr(), to.cast(), id.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetByPCIBusId(to: *mut c_int, id: *const c_char) -> u32 {
    enter(|_| {
        // SAFETY: the program passes a C string, or null.
        let id = unsafe { string(id) };
        if BUS_ID.to_str() != Ok(id.as_str()) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, 0) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaInitDevice(device: c_int, _flags: c_uint, _mask: c_uint) -> u32 {
    enter(|_| only(device))
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDeviceFlags(_flags: c_uint) -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceFlags(to: *mut c_uint) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, 0) }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaDeviceSynchronize() -> u32 {
    enter(|client| {
        client.graphs.check_device()?;
        client.synchronise(Awaited::Device)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> u32 {
    revive(crate::client::Client::reset)
}

/// The limits of textures and surfaces from `maxTexture1D` to `maxSurfaceCubemapLayered`, as an H100 has them.
const TEXTURE_LIMITS: [c_int; 39] = [
    131_072, 32_768, // 1D, mipmapped
    131_072, 65_536, 32_768, 32_768, // 2D, mipmapped
    131_072, 65_000, 2_097_120, 32_768, 32_768, // 2D of pitched memory, for `tex2Dgather`
    16_384, 16_384, 16_384, 8_192, 8_192, 32_768, // 3D, and its other shape
    32_768, 32_768, 2_048, 32_768, 32_768, 2_048, 32_768, 2_046, // cube maps and layers
    32_768, 131_072, 65_536, 16_384, 16_384, 16_384, // surfaces
    32_768, 2_048, 32_768, 32_768, 2_048, 32_768, 32_768, 2_046, // their layers and cube maps
];

/// `cudaDeviceProp` of CUDA 13.
#[repr(C)]
struct DeviceProp {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: c_uint,
    total_global_mem: usize,
    shared_mem_per_block: usize,
    regs_per_block: c_int,
    warp_size: c_int,
    mem_pitch: usize,
    max_threads_per_block: c_int,
    max_threads_dim: [c_int; 3],
    max_grid_size: [c_int; 3],
    total_const_mem: usize,
    major: c_int,
    minor: c_int,
    texture_alignment: usize,
    texture_pitch_alignment: usize,
    multi_processor_count: c_int,
    integrated: c_int,
    can_map_host_memory: c_int,
    /// The fields from `maxTexture1D` to `maxSurfaceCubemapLayered`.
    textures: [c_int; 39],
    surface_alignment: usize,
    concurrent_kernels: c_int,
    ecc_enabled: c_int,
    pci: [c_int; 3],
    tcc_driver: c_int,
    async_engine_count: c_int,
    unified_addressing: c_int,
    memory_bus_width: c_int,
    l2_cache_size: c_int,
    persisting_l2: c_int,
    max_threads_per_multiprocessor: c_int,
    stream_priorities: c_int,
    global_l1: c_int,
    local_l1: c_int,
    shared_mem_per_multiprocessor: usize,
    regs_per_multiprocessor: c_int,
    managed_memory: c_int,
    multi_gpu: [c_int; 2],
    host_atomics: c_int,
    pageable_access: c_int,
    concurrent_managed: c_int,
    preemption: c_int,
    host_pointer_for_registered: c_int,
    cooperative_launch: c_int,
    shared_mem_per_block_optin: usize,
    host_page_tables: c_int,
    direct_managed: c_int,
    max_blocks_per_multiprocessor: c_int,
    access_policy: c_int,
    reserved_shared: usize,
    /// The fields from `hostRegisterSupported` to `hostNumaMultinodeIpcSupported`, then `reserved`.
    rest: [c_int; 20 + 56],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties(to: *mut DeviceProp, device: c_int) -> u32 {
    enter(|client| {
        only(device)?;
        let known = client.known_properties()?;
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is such a structure, of which every bit pattern is a value. Zero is right
        // for most fields.
        let prop = unsafe {
            to.write_bytes(0, 1);
            &mut *to
        };
        for (to, &byte) in prop.name[..255].iter_mut().zip(known.name.as_bytes()) {
            *to = byte;
        }
        prop.total_global_mem = known.memory as usize;
        prop.mem_pitch = i32::MAX as usize;
        prop.textures = TEXTURE_LIMITS;
        prop.texture_alignment = 512;
        prop.texture_pitch_alignment = 32;
        prop.surface_alignment = 512;
        prop.max_threads_dim = MAX_BLOCK.map(|most| most as c_int);
        prop.max_grid_size = MAX_GRID.map(|most| most as c_int);
        for (field, which) in [
            (&mut prop.warp_size, 10),
            (&mut prop.max_threads_per_block, 1),
            (&mut prop.regs_per_block, 12),
            (&mut prop.multi_processor_count, 16),
            (&mut prop.can_map_host_memory, 19),
            (&mut prop.concurrent_kernels, 31),
            (&mut prop.memory_bus_width, 37),
            (&mut prop.l2_cache_size, 38),
            (&mut prop.max_threads_per_multiprocessor, 39),
            (&mut prop.async_engine_count, 40),
            (&mut prop.unified_addressing, 41),
            (&mut prop.major, 75),
            (&mut prop.minor, 76),
            (&mut prop.stream_priorities, 78),
            (&mut prop.global_l1, 79),
            (&mut prop.local_l1, 80),
            (&mut prop.regs_per_multiprocessor, 82),
            (&mut prop.managed_memory, 83),
            (&mut prop.cooperative_launch, 95),
            (&mut prop.max_blocks_per_multiprocessor, 106),
            (&mut prop.persisting_l2, 108),
            (&mut prop.access_policy, 109),
        ] {
            *field = attribute(known, which).unwrap_or_default();
        }
        let size = |which| attribute(known, which).unwrap_or_default() as usize;
        prop.shared_mem_per_block = size(8);
        prop.total_const_mem = size(9);
        prop.shared_mem_per_multiprocessor = size(81);
        prop.shared_mem_per_block_optin = size(97);
        prop.reserved_shared = size(111);
        Ok(())
    })
}

/// The value of a `cudaDeviceAttr`; 0 for a feature that the virtual device lacks; `None` for a code that CUDA does not
/// have.
fn attribute(known: &Properties, which: c_int) -> Option<c_int> {
    let multiprocessor = Multiprocessor::of(known.capability);
    Some(match which {
        1 => MAX_THREADS as c_int,
        2..=4 => MAX_BLOCK[which as usize - 2] as c_int,
        5..=7 => MAX_GRID[which as usize - 5] as c_int,
        8 => SHARED_WITHOUT_OPT_IN as c_int,
        9 => CONSTANT_MEMORY as c_int,
        10 | 51 => WARP_SIZE as c_int,
        11 => i32::MAX,
        12 | 82 => REGISTERS as c_int,
        // A clock of 1 GHz, in kHz.
        13 => 1_000_000,
        14 | 30 => 512,
        16 => known.multiprocessors as c_int,
        // Texels of textures along each axis, and layers (CUDA C++ Programming Guide, "Compute Capabilities").
        21 | 22 => 131_072,
        23 => 65_536,
        24..=26 => 16_384,
        27 | 28 => 32_768,
        29 => 2_048,
        19 | 31 | 41 | 78 | 79 | 80 | 83 | 90 | 95 | 99 | 115 => 1,
        36 => 2_000_000,
        37 => 256,
        38 => 4 << 20,
        39 => multiprocessor.threads() as c_int,
        // Engines that copy beside kernels, as newer devices have.
        40 => 3,
        87 => 2,
        75 => known.capability.0 as c_int,
        // Launches of clusters.
        120 => c_int::from(known.capability.0 >= 9),
        76 => known.capability.1 as c_int,
        81 => multiprocessor.shared as c_int,
        97 => multiprocessor.block_shared() as c_int,
        // `CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED`, which a GPU has for its own driver's programs.
        102 => c_int::from(!known.real_time),
        106 => multiprocessor.blocks as c_int,
        // Three quarters of the L2 cache may persist, and a window of so many bytes may ask for it, from 8.0 on.
        108 if known.capability.0 >= 8 => 3 << 20,
        109 if known.capability.0 >= 8 => 134_213_632,
        111 => multiprocessor.reserved as c_int,
        0..=150 => 0,
        _ => return None,
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDeviceGetAttribute(
    to: *mut c_int,
    which: c_int,
    device: c_int,
) -> u32 {
    enter(|client| {
        only(device)?;
        let value = attribute(client.known_properties()?, which).ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, value) }
    })
}

/// The limit of a `cudaLimit`.
fn limit_of(code: c_int) -> Result<Limit, CudaError> {
    let known = usize::try_from(code).ok().and_then(|code| Limit::ALL.get(code).copied());
    known.ok_or(CudaError::INVALID_VALUE)
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetLimit(which: c_int, value: usize) -> u32 {
    enter(|client| client.set_limit_until_reset(limit_of(which)?, value as u64))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetLimit(to: *mut usize, which: c_int) -> u32 {
    enter(|client| {
        let value = client.limit(limit_of(which)?)?;
        // SAFETY: null is refused; else the program says it is a size.
        unsafe { put(to, value as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetCacheConfig(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetCacheConfig(_config: c_int) -> u32 {
    enter(|_| Ok(()))
}

/// `cudaSharedMemBankSizeFourByte`, the only width of banks since compute capability 5.0.
const FOUR_BYTES: c_int = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetSharedMemConfig(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, FOUR_BYTES) }
}

/// Accepted and ignored, since the width of banks does not change.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetSharedMemConfig(_config: c_int) -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> u32 {
    enter(|_| {
        for (to, value) in [(least, 0), (greatest, -5)] {
            if !to.is_null() {
                // SAFETY: not null; the program says it is an int.
                unsafe { put(to, value)? };
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDeviceCanAccessPeer(
    to: *mut c_int,
    from: c_int,
    peer: c_int,
) -> u32 {
    enter(|_| {
        only(from)?;
        only(peer)?;
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, 0) }
    })
}

/// The device is no peer of itself.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> u32 {
    enter(|_| {
        if flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        only(peer).and(Err(CudaError::PEER_ACCESS_UNSUPPORTED))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceDisablePeerAccess(peer: c_int) -> u32 {
    enter(|_| only(peer).and(Err(CudaError::PEER_ACCESS_NOT_ENABLED)))
}

/// Asks for two devices that differ.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetP2PAttribute(
    _to: *mut c_int,
    _attribute: c_int,
    _from: c_int,
    _peer: c_int,
) -> u32 {
    enter(|_| Err(CudaError::INVALID_DEVICE))
}

/// No line of a cache persists.
#[unsafe(no_mangle)]
extern "C" fn cudaCtxResetPersistingL2Cache() -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaDriverGetVersion(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, VERSION) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaRuntimeGetVersion(to: *mut c_int) -> u32 {
    // SAFETY: the same contract.
    unsafe { give(to, VERSION) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStart() -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStop() -> u32 {
    enter(|_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_layout_of_cuda_13() {
        // What `offsetof` and `sizeof` say with the headers of CUDA 13.0.
        assert_eq!(size_of::<DeviceProp>(), 1008);
        assert_eq!(std::mem::offset_of!(DeviceProp, multi_processor_count), 384);
        assert_eq!(std::mem::offset_of!(DeviceProp, shared_mem_per_block_optin), 672);
        assert_eq!(std::mem::offset_of!(DeviceProp, reserved_shared), 696);
    }
}
