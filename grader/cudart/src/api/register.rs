//! The functions that nvcc's code calls before `main`, and around each `<<<>>>`.

use super::c::{Dim3, put, string};
use super::table::table;
use crate::client::{Function, Image, enter, registry};
use crate::error::{CudaError, SUCCESS};
use crate::fatbin;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};

table![
    __cudaRegisterFatBinary,
    __cudaRegisterFatBinaryEnd,
    __cudaRegisterLinkedBinary,
    __cudaUnregisterFatBinary,
    __cudaRegisterFunction,
    __cudaRegisterVar,
    __cudaRegisterManagedVar,
    __cudaInitModule,
    __cudaPushCallConfiguration,
    __cudaPopCallConfiguration,
    __cudaGetKernel,
];

/// The contents of the section `.nvFatBinSegment` that nvcc generates.
#[repr(C)]
pub(super) struct Wrapper {
    magic: u32,
    version: u32,
    container: *const u8,
    unused: *const c_void,
}

pub(super) const WRAPPER_MAGIC: u32 = 0x4662_43B1;

/// The container to which a wrapper points.
///
/// # Safety
/// `wrapper` is null, or points to at least four bytes; if these are those of a wrapper, to a whole one.
pub(super) unsafe fn wrapped(wrapper: *const Wrapper) -> Option<Vec<u8>> {
    // SAFETY: by contract.
    unsafe {
        let is_one = !wrapper.is_null() && (*wrapper).magic == WRAPPER_MAGIC;
        is_one.then(|| container((*wrapper).container))?
    }
}

/// The container that starts here, if one does.
///
/// # Safety
/// `start` points to at least 16 bytes; if they are the header of a container, to all of it.
pub(super) unsafe fn container(start: *const u8) -> Option<Vec<u8>> {
    // SAFETY: by contract.
    unsafe {
        let length = fatbin::length(&*start.cast::<[u8; 16]>())?;
        Some(std::slice::from_raw_parts(start, length).to_vec())
    }
}

/// Registers a fat binary. The handle is its number plus 1.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const Wrapper) -> usize {
    // SAFETY: nvcc's code passes the address of such a wrapper, whose container begins with a header that has its length.
    let image = unsafe { wrapped(wrapper) };
    registry().add(image.map(Image::Container)) + 1
}

/// As the last two, for device code that calls functions of other files. `register` then names its kernels and variables.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterLinkedBinary(
    register: extern "C" fn(usize),
    wrapper: *const Wrapper,
) {
    // SAFETY: as for `__cudaRegisterFatBinary`.
    register(unsafe { __cudaRegisterFatBinary(wrapper) });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(_handle: usize) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: usize,
    host: *const c_void,
    _device: *const c_char,
    name: *const c_char,
    _thread_limit: c_int,
) {
    // SAFETY: nvcc's code passes a C string.
    let name = unsafe { string(name) };
    let function =
        Function { module: handle.wrapping_sub(1), name, opted_in: 0, large_clusters: false };
    registry().functions.insert(host as usize, function);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterVar(
    handle: usize,
    host: *const c_void,
    _device: *const c_char,
    name: *const c_char,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc's code passes a C string.
    let name = unsafe { string(name) };
    registry().add_variable(host as usize, handle.wrapping_sub(1), name);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: usize,
    pointer: *mut *mut c_void,
    _device: *const c_char,
    name: *const c_char,
    _external: c_int,
    size: usize,
    _constant: c_int,
    _global: c_int,
) {
    // SAFETY: nvcc's code passes a C string.
    let name = unsafe { string(name) };
    registry().add_managed(pointer as usize, handle.wrapping_sub(1), name, size);
}

/// Initialises the `__managed__` variables of a module; nvcc's code calls it before their first use.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(handle: usize) -> c_char {
    let code = enter(|client| client.module(handle.wrapping_sub(1)).map(|_| ()));
    c_char::from(code == SUCCESS)
}

/// The grid, the block, the dynamic shared memory in bytes and the stream of a launch.
type Configuration = (Dim3, Dim3, usize, u64);

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
) -> u32 {
    CONFIGURATIONS.with_borrow_mut(|all| all.push((grid, block, shared, stream)));
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut u64,
) -> u32 {
    let Some(top) = CONFIGURATIONS.with_borrow_mut(Vec::pop) else {
        return enter(|_| Err(CudaError::MISSING_CONFIGURATION));
    };
    // SAFETY: nvcc's code passes addresses of its local variables.
    let stored = unsafe {
        put(grid, top.0)
            .and_then(|()| put(block, top.1))
            .and_then(|()| put(shared, top.2))
            .and_then(|()| put(stream, top.3))
    };
    stored.err().map_or(SUCCESS, |error| error.0)
}

/// The handle of a kernel, which is the address of its host function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaGetKernel(handle: *mut usize, host: *const c_void) -> u32 {
    // SAFETY: nvcc's code passes the address of a variable.
    let stored = unsafe { put(handle, host as usize) };
    stored.err().map_or(SUCCESS, |error| error.0)
}
