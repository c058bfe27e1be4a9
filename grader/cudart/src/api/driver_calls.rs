//! Functions of CUDA's driver API for devices, contexts, modules, launches, memory, streams and events. Most are functions of the runtime by
//! another name: handles, error codes and attributes of both have the same values.

use super::c::{Dim3, HandleValue, put, string};
use super::device::{
    cudaDeviceCanAccessPeer, cudaDeviceGetAttribute, cudaDeviceSynchronize, cudaGetDeviceCount,
    give, only,
};
use super::launch::{
    Asked, cudaFuncSetAttribute, cudaFuncSetCacheConfig,
    cudaOccupancyMaxActiveBlocksPerMultiprocessor, function_attributes, launch, parameters,
};
use super::libraries::{
    ErrorLog, cudaLibraryGetGlobal, cudaLibraryGetKernel, cudaLibraryUnload, load_data, load_file,
};
use super::memory::{
    DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, cudaFree, cudaFreeHost,
    cudaHostAlloc, cudaHostGetDevicePointer, cudaMalloc, cudaMallocHost, cudaMallocManaged,
    cudaMallocPitch, cudaMemGetInfo, cudaMemcpy, cudaMemcpyAsync, cudaMemset, cudaMemsetAsync,
};
use super::streams::{
    cudaEventCreateWithFlags, cudaEventDestroy, cudaEventElapsedTime, cudaEventQuery,
    cudaEventRecord, cudaEventSynchronize, cudaStreamCreateWithFlags, cudaStreamCreateWithPriority,
    cudaStreamDestroy, cudaStreamQuery, cudaStreamSynchronize, cudaStreamWaitEvent,
};
use crate::client::{Client, complain, enter};
use crate::error::{CudaError, SUCCESS};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Each entry: a function of the driver, the one of the runtime, and what that gets.
macro_rules! driver_functions {
    (
        by_another_name {
            $($name:ident($($argument:ident: $type:ty),*) = $runtime:ident($($given:expr),*);)*
        }
        others { $($other:ident,)* }
    ) => {
        /// All of them, by name.
        pub(super) const FUNCTIONS: &[(&str, *const ())] = &[
            $((stringify!($name), $name as *const ()),)*
            $((stringify!($other), $other as *const ()),)*
        ];
        super::table::table![$($name,)* $($other,)*];
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
                #[allow(unused_unsafe, reason = "not all are unsafe")]
                // SAFETY: the driver asks the same of the program as the runtime.
                unsafe { $runtime($($given),*) }
            }
        )*
    };
}

driver_functions! {
    by_another_name {
        cuDeviceGetCount(to: *mut c_int) = cudaGetDeviceCount(to);
        cuDeviceGetAttribute(to: *mut c_int, which: c_int, device: c_int) = cudaDeviceGetAttribute(to, which, device);
        cuDeviceCanAccessPeer(to: *mut c_int, from: c_int, peer: c_int) = cudaDeviceCanAccessPeer(to, from, peer);
        cuCtxCreate_v2(to: *mut u64, _flags: c_uint, device: c_int) = cuDevicePrimaryCtxRetain(to, device);
        cuCtxCreate_v4(to: *mut u64, _parameters: *const c_void, _flags: c_uint, device: c_int) = cuDevicePrimaryCtxRetain(to, device);
        cuCtxSynchronize() = cudaDeviceSynchronize();
        cuModuleUnload(module: u64) = cudaLibraryUnload(module);
        cuModuleGetFunction(to: *mut u64, module: u64, name: *const c_char) = cudaLibraryGetKernel(to, module, name);
        cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: u64, name: *const c_char) = cudaLibraryGetGlobal(address, bytes, module, name);
        cuFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) = cudaFuncSetAttribute(function, attribute, value);
        cuFuncSetCacheConfig(function: *const c_void, config: c_int) = cudaFuncSetCacheConfig(function, config);
        cuOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut c_int, function: *const c_void, block: c_int, shared: usize) = cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, function, block, shared);
        cuMemAlloc_v2(to: *mut u64, bytes: usize) = cudaMalloc(to, bytes);
        cuMemAllocManaged(to: *mut u64, bytes: usize, flags: c_uint) = cudaMallocManaged(to, bytes, flags);
        cuMemAllocPitch_v2(to: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: c_uint) = cudaMallocPitch(to, pitch, width, height);
        cuMemFree_v2(address: u64) = cudaFree(address);
        cuMemAllocHost_v2(to: *mut u64, bytes: usize) = cudaMallocHost(to, bytes);
        cuMemHostAlloc(to: *mut u64, bytes: usize, flags: c_uint) = cudaHostAlloc(to, bytes, flags);
        cuMemHostGetDevicePointer_v2(to: *mut u64, host: u64, flags: c_uint) = cudaHostGetDevicePointer(to, host, flags);
        cuMemFreeHost(address: u64) = cudaFreeHost(address);
        cuMemGetInfo_v2(free: *mut usize, total: *mut usize) = cudaMemGetInfo(free, total);
        cuMemcpy(to: u64, from: u64, bytes: usize) = cudaMemcpy(to, from, bytes, DEFAULT);
        cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) = cudaMemcpy(to, from, bytes, HOST_TO_DEVICE);
        cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) = cudaMemcpy(to, from, bytes, DEVICE_TO_HOST);
        cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) = cudaMemcpy(to, from, bytes, DEVICE_TO_DEVICE);
        cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: u64) = cudaMemcpyAsync(to, from, bytes, DEFAULT, stream);
        cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) = cudaMemcpyAsync(to, from, bytes, HOST_TO_DEVICE, stream);
        cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) = cudaMemcpyAsync(to, from, bytes, DEVICE_TO_HOST, stream);
        cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) = cudaMemcpyAsync(to, from, bytes, DEVICE_TO_DEVICE, stream);
        cuMemsetD8_v2(address: u64, value: u8, bytes: usize) = cudaMemset(address, value.into(), bytes);
        cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: u64) = cudaMemsetAsync(address, value.into(), bytes, stream);
        cuStreamCreate(to: *mut u64, flags: c_uint) = cudaStreamCreateWithFlags(to, flags);
        cuStreamCreateWithPriority(to: *mut u64, flags: c_uint, priority: c_int) = cudaStreamCreateWithPriority(to, flags, priority);
        cuStreamDestroy_v2(stream: u64) = cudaStreamDestroy(stream);
        cuStreamSynchronize(stream: u64) = cudaStreamSynchronize(stream);
        cuStreamQuery(stream: u64) = cudaStreamQuery(stream);
        cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint) = cudaStreamWaitEvent(stream, event, flags);
        cuEventCreate(to: *mut u64, flags: c_uint) = cudaEventCreateWithFlags(to, flags);
        cuEventRecord(event: u64, stream: u64) = cudaEventRecord(event, stream);
        cuEventSynchronize(event: u64) = cudaEventSynchronize(event);
        cuEventQuery(event: u64) = cudaEventQuery(event);
        cuEventElapsedTime(to: *mut f32, from: u64, until: u64) = cudaEventElapsedTime(to, from, until);
        cuEventElapsedTime_v2(to: *mut f32, from: u64, until: u64) = cudaEventElapsedTime(to, from, until);
        cuEventDestroy_v2(event: u64) = cudaEventDestroy(event);
    }
    others {
        cuDeviceGet, cuDeviceGetName, cuDeviceTotalMem_v2, cuCtxDestroy_v2, cuCtxSetCurrent,
        cuCtxGetCurrent, cuCtxPushCurrent_v2, cuCtxPopCurrent_v2, cuCtxGetDevice, cuDevicePrimaryCtxRetain,
        cuDevicePrimaryCtxRelease_v2, cuModuleLoad, cuModuleLoadData, cuModuleLoadDataEx,
        cuFuncGetAttribute, cuLaunchKernel, cuLaunchCooperativeKernel, cuMemsetD16_v2, cuMemsetD32_v2,
    }
}

/// The handle of the only context, which every thread has.
const CONTEXT: u64 = 0x10;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(to: *mut c_int, ordinal: c_int) -> u32 {
    // SAFETY: the program passes null or the place of an int.
    enter(|_| only(ordinal).and_then(|()| unsafe { put(to, 0) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(to: *mut c_char, length: c_int, device: c_int) -> u32 {
    enter(|client| {
        only(device)?;
        let room = usize::try_from(length).ok().and_then(|length| length.checked_sub(1));
        let room = room.ok_or(CudaError::INVALID_VALUE)?;
        let name = &client.known_properties()?.name;
        for (index, byte) in name.bytes().take(room).chain([0]).enumerate() {
            // SAFETY: null is refused; else the program says that so many bytes are there.
            unsafe { put(to.wrapping_add(index), byte as c_char)? };
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(to: *mut usize, device: c_int) -> u32 {
    enter(|client| {
        only(device)?;
        let bytes = client.known_properties()?.memory as usize;
        // SAFETY: null is refused; else the program says it is a size.
        unsafe { put(to, bytes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(to: *mut u64, device: c_int) -> u32 {
    // SAFETY: the program passes null or the place of a handle.
    enter(|_| only(device).and_then(|()| unsafe { put(to, CONTEXT) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32 {
    enter(|_| only(device))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDestroy_v2(_context: u64) -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(_context: u64) -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxPushCurrent_v2(_context: u64) -> u32 {
    enter(|_| Ok(()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(to: *mut u64) -> u32 {
    // SAFETY: the program passes null or the place of a handle.
    unsafe { give(to, CONTEXT) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxPopCurrent_v2(to: *mut u64) -> u32 {
    if to.is_null() {
        return SUCCESS;
    }
    // SAFETY: the program passes the place of a handle.
    unsafe { give(to, CONTEXT) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(to: *mut c_int) -> u32 {
    // SAFETY: the program passes null or the place of an int.
    unsafe { give(to, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoad(to: *mut u64, path: *const c_char) -> u32 {
    // SAFETY: the program passes a C string, and null or the place of a handle.
    enter(|client| unsafe { put(to, load_file(client, &string(path))?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(to: *mut u64, code: *const c_void) -> u32 {
    // SAFETY: the program says that device code is there; null is refused, else `to` is the place of a handle.
    enter(|client| unsafe { put(to, load_data(client, code, &mut ErrorLog::default())?) })
}

/// Options for the compiler but the log of errors change nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    to: *mut u64,
    code: *const c_void,
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_void,
) -> u32 {
    // SAFETY: the program says that device code is there, and so many options; null is refused, else `to` is the place of a handle.
    enter(|client| unsafe {
        let mut log = ErrorLog::of(count, options, values);
        put(to, load_data(client, code, &mut log)?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(
    to: *mut c_int,
    attribute: c_int,
    function: *const c_void,
) -> u32 {
    enter(|client| {
        let all = function_attributes(client, function)?;
        let value = usize::try_from(attribute).ok().and_then(|index| all.get(index));
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, *value.ok_or(CudaError::INVALID_VALUE)?) }
    })
}

/// What `extra` of a launch has: numbers, each but the last with a value behind it (CUDA Driver API, "cuLaunchKernel").
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_BYTES: usize = 2;

/// Pointers to the arguments in a buffer that `extra` names.
///
/// # Safety
/// `extra` ends with [`EXTRA_END`], and what it has is as the driver asks.
unsafe fn arguments_in_buffer(
    client: &mut Client,
    host: *const c_void,
    extra: *const *const c_void,
) -> Result<Vec<*const c_void>, CudaError> {
    let (mut buffer, mut bytes) = (std::ptr::null::<u8>(), 0);
    for index in (0..).step_by(2) {
        // SAFETY: by contract.
        let (what, value) = unsafe { (*extra.add(index) as usize, extra.add(index + 1)) };
        match what {
            EXTRA_END => break,
            // SAFETY: by contract.
            EXTRA_BUFFER => buffer = unsafe { *value }.cast(),
            // SAFETY: by contract.
            EXTRA_BYTES => bytes = unsafe { *(*value).cast::<usize>() },
            _ => return Err(CudaError::INVALID_VALUE),
        }
    }
    let (sizes, starts) = parameters(client, host)?;
    let Some(starts) = starts else {
        complain(
            "arguments of cuLaunchKernel in one buffer are not supported here: pass kernelParams",
        );
        return Err(CudaError::NOT_SUPPORTED);
    };
    let end = sizes.iter().zip(&starts).map(|(size, start)| (size + start) as usize).max();
    if buffer.is_null() || bytes < end.unwrap_or(0) {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: each begins within the buffer.
    Ok(starts.iter().map(|&start| unsafe { buffer.add(start as usize) }.cast()).collect())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    host: *const c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: HandleValue,
    args: *const *const c_void,
    extra: *const *const c_void,
) -> u32 {
    let mut places = Vec::new();
    if !extra.is_null() && args.is_null() {
        let code = enter(|client| {
            // SAFETY: the program passes what the driver asks for.
            places = unsafe { arguments_in_buffer(client, host, extra)? };
            Ok(())
        });
        if code != SUCCESS {
            return code;
        }
    }
    let args = if places.is_empty() { args } else { places.as_ptr() };
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let asked = asked(host, grid, block, shared, args);
    // SAFETY: the program passes as many arguments as the kernel has.
    unsafe { launch(&asked, stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchCooperativeKernel(
    host: *const c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: HandleValue,
    args: *const *const c_void,
) -> u32 {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let asked = Asked { cooperative: true, ..asked(host, grid, block, shared, args) };
    // SAFETY: the program passes as many arguments as the kernel has.
    unsafe { launch(&asked, stream) }
}

/// A launch of blocks that do not work together.
fn asked(
    host: *const c_void,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    args: *const *const c_void,
) -> Asked {
    let [grid, block] = [grid, block].map(|[x, y, z]| Dim3 { x, y, z });
    Asked { host, grid, block, args, shared: shared as usize, cooperative: false, cluster: None }
}

/// Fills memory with a value of several bytes.
fn fill(address: u64, value: &[u8], count: usize) -> u32 {
    let bytes = count.checked_mul(value.len());
    let Some(bytes) = bytes.filter(|_| address.is_multiple_of(value.len() as u64)) else {
        return enter(|_| Err(CudaError::INVALID_VALUE));
    };
    // Before as much is built as the program says.
    let fits = enter(|client| {
        let managed = client.managed.holding(address).map(|(start, pages)| (start, pages.bytes));
        let whole = managed.or_else(|| client.allocation(address));
        let room = whole.map(|(start, size)| start + size - address);
        let fits = room.is_some_and(|room| bytes as u64 <= room);
        if fits { Ok(()) } else { Err(CudaError::INVALID_VALUE) }
    });
    if fits != SUCCESS {
        return fits;
    }
    let pattern = value.repeat(count);
    // SAFETY: the source is `pattern`, of so many bytes.
    unsafe { cudaMemcpy(address, pattern.as_ptr() as u64, bytes, DEFAULT) }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD16_v2(address: u64, value: u16, count: usize) -> u32 {
    fill(address, &value.to_le_bytes(), count)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD32_v2(address: u64, value: c_uint, count: usize) -> u32 {
    fill(address, &value.to_le_bytes(), count)
}
