//! Device code that a program loads itself: the runtime's libraries, and the driver's modules, which are the same here.

use super::c::{put, string};
use super::register::{WRAPPER_MAGIC, Wrapper, container, wrapped};
use super::table::table;
use crate::client::{Client, Function, Image, complain, enter, registry};
use crate::device::Device;
use crate::error::CudaError;
use crate::fatbin;
use std::ffi::{c_char, c_int, c_uint, c_void};

table![
    cudaLibraryLoadData,
    cudaLibraryLoadFromFile,
    cudaLibraryUnload,
    cudaLibraryGetKernel,
    cudaLibraryGetGlobal,
    cudaGetFuncBySymbol,
    cudaGetKernel,
];

/// The first bytes of an ELF file, such as a cubin.
const ELF: [u8; 4] = *b"\x7fELF";

/// Reads the device code at an address: a fat binary, its wrapper, or PTX that ends with a zero byte.
///
/// # Safety
/// One of these, or an ELF file, starts there.
pub(super) unsafe fn image(code: *const c_void) -> Result<Image, CudaError> {
    if code.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the shortest is an empty text, whose zero byte ends the comparison; what begins as a container is one.
    unsafe {
        let first = code.cast::<u8>();
        let begins_as = |magic: [u8; 4]| (0..4).all(|at| *first.add(at) == magic[at]);
        let container = match () {
            () if begins_as(WRAPPER_MAGIC.to_le_bytes()) => wrapped(code.cast::<Wrapper>()),
            () if begins_as(fatbin::MAGIC.to_le_bytes()) => container(first),
            () if begins_as(ELF) => return Err(machine_code()),
            () => return text(string(code.cast())),
        };
        container.map(Image::Container).ok_or(CudaError::INVALID_KERNEL_IMAGE)
    }
}

/// PTX begins with its version (PTX ISA 11.1.1); the driver takes no other text for it.
fn text(text: String) -> Result<Image, CudaError> {
    if text.contains(".version") {
        Ok(Image::Ptx(text))
    } else {
        Err(CudaError::INVALID_KERNEL_IMAGE)
    }
}

/// As [`image`], for the contents of a file.
pub(super) fn image_of_file(bytes: Vec<u8>) -> Result<Image, CudaError> {
    if bytes.starts_with(&ELF) {
        return Err(machine_code());
    }
    if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        return Ok(Image::Container(bytes));
    }
    String::from_utf8(bytes).map_err(|_| CudaError::INVALID_KERNEL_IMAGE).and_then(text)
}

fn machine_code() -> CudaError {
    complain("machine code cannot run on the virtual device: load PTX (nvcc -ptx)");
    CudaError::NO_KERNEL_IMAGE
}

/// Loads device code; its handle. What is wrong with PTX is said on standard error, and in the log that the program asks for.
pub(super) fn load(
    client: &mut Client,
    image: Image,
    log: &mut ErrorLog,
) -> Result<u64, CudaError> {
    let index = registry().add(Some(image));
    if let Err(error) = client.module(index) {
        if error == CudaError::INVALID_PTX {
            let why = client.load_error()?;
            complain(&format!("this PTX cannot be loaded: {why}"));
            log.write(&why);
        }
        return Err(error);
    }
    let handle = client.fresh_number();
    registry().loaded.insert(handle, index);
    Ok(handle)
}

/// Loads the device code at an address; its handle.
///
/// # Safety
/// As for [`image`].
pub(super) unsafe fn load_data(
    client: &mut Client,
    code: *const c_void,
    log: &mut ErrorLog,
) -> Result<u64, CudaError> {
    // SAFETY: by contract.
    let image = unsafe { image(code)? };
    load(client, image, log)
}

/// Where a program wants to read what is wrong with its PTX.
#[derive(Default)]
pub(super) struct ErrorLog<'a>(&'a mut [u8]);

impl ErrorLog<'_> {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`, and their like of the runtime.
    const BUFFER: c_int = 5;
    const BYTES: c_int = 6;

    /// That of the options of a load, of which none but the log changes anything.
    ///
    /// # Safety
    /// So many options and values are there, and a buffer has the bytes that the program says.
    pub unsafe fn of(
        count: c_uint,
        options: *const c_int,
        values: *const *mut c_void,
    ) -> ErrorLog<'static> {
        let (mut buffer, mut bytes) = (std::ptr::null_mut::<u8>(), 0);
        for at in 0..count as usize {
            // SAFETY: by contract.
            let (option, value) = unsafe { (*options.add(at), *values.add(at)) };
            match option {
                Self::BUFFER => buffer = value.cast(),
                // The value itself is the number, an unsigned int.
                Self::BYTES => bytes = value as usize & u32::MAX as usize,
                _ => {}
            }
        }
        if buffer.is_null() {
            return ErrorLog::default();
        }
        // SAFETY: by contract.
        ErrorLog(unsafe { std::slice::from_raw_parts_mut(buffer, bytes) })
    }

    /// Writes as much of a text as there is room for, and a zero byte.
    fn write(&mut self, text: &str) {
        let Some(room) = self.0.len().checked_sub(1) else { return };
        let bytes = text.len().min(room);
        self.0[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.0[bytes] = 0;
    }
}

/// Loads a file of PTX or a fat binary; its handle.
pub(super) fn load_file(client: &mut Client, path: &str) -> Result<u64, CudaError> {
    let bytes = std::fs::read(path).map_err(|_| CudaError::FILE_NOT_FOUND)?;
    load(client, image_of_file(bytes)?, &mut ErrorLog::default())
}

/// The number of what the program has loaded.
fn loaded(handle: u64) -> Result<usize, CudaError> {
    registry().loaded.get(&handle).copied().ok_or(CudaError::INVALID_RESOURCE_HANDLE)
}

/// Unloads it.
pub(super) fn unload(client: &mut Client, handle: u64) -> Result<(), CudaError> {
    let index = registry().unload(handle).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
    client.forget_module(index)
}

/// The handle of a kernel, by which it is launched as one that nvcc has registered.
fn kernel(client: &mut Client, handle: u64, name: &str) -> Result<u64, CudaError> {
    let module = loaded(handle)?;
    let known = registry()
        .functions
        .iter()
        .find(|(_, function)| function.module == module && function.name == name)
        .map(|(&kernel, _)| kernel as u64);
    if let Some(kernel) = known {
        return Ok(kernel);
    }
    let number = client.module(module)?;
    client.kernel(number, name).map_err(|_| CudaError::SYMBOL_NOT_FOUND)?;
    let kernel = client.fresh_number();
    let function = Function { module, name: name.to_owned(), opted_in: 0, large_clusters: false };
    registry().functions.insert(kernel as usize, function);
    Ok(kernel)
}

/// The address and the bytes of a variable.
fn variable(client: &mut Client, handle: u64, name: &str) -> Result<(u64, u64), CudaError> {
    let module = client.module(loaded(handle)?)?;
    let symbol = client.symbol(module, name).map_err(|_| CudaError::SYMBOL_NOT_FOUND)?;
    let Some(address) = symbol.address.or(symbol.constant_address) else {
        complain("the addresses of __constant__ variables of several modules are not supported");
        return Err(CudaError::NOT_SUPPORTED);
    };
    // From now on copies may use this address.
    client.allocations.insert(address, symbol.bytes);
    Ok((address, symbol.bytes))
}

/// Options for the compiler but the log of errors, and what else CUDA takes here, change nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryLoadData(
    to: *mut u64,
    code: *const c_void,
    options: *const c_int,
    values: *const *mut c_void,
    count: c_uint,
    _library_options: *const c_void,
    _library_values: *const c_void,
    _library_count: c_uint,
) -> u32 {
    // SAFETY: the program says that device code is there, and so many options; null is refused, else `to` is the place of a handle.
    enter(|client| unsafe {
        let mut log = ErrorLog::of(count, options, values);
        put(to, load_data(client, code, &mut log)?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLibraryLoadFromFile(
    to: *mut u64,
    path: *const c_char,
    _options: *const c_void,
    _values: *const c_void,
    _count: c_uint,
    _library_options: *const c_void,
    _library_values: *const c_void,
    _library_count: c_uint,
) -> u32 {
    // SAFETY: the program says that it is a C string; null is refused, else `to` is the place of a handle.
    enter(|client| unsafe { put(to, load_file(client, &string(path))?) })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaLibraryUnload(handle: u64) -> u32 {
    enter(|client| unload(client, handle))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaLibraryGetKernel(
    to: *mut u64,
    handle: u64,
    name: *const c_char,
) -> u32 {
    // SAFETY: the program says that it is a C string; null is refused, else `to` is the place of a handle.
    enter(|client| unsafe { put(to, kernel(client, handle, &string(name))?) })
}

/// Either place may be null.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaLibraryGetGlobal(
    address: *mut u64,
    bytes: *mut usize,
    handle: u64,
    name: *const c_char,
) -> u32 {
    enter(|client| {
        // SAFETY: the program says that it is a C string.
        let found = variable(client, handle, &unsafe { string(name) })?;
        if !address.is_null() {
            // SAFETY: not null.
            unsafe { put(address, found.0)? };
        }
        if !bytes.is_null() {
            // SAFETY: not null.
            unsafe { put(bytes, found.1 as usize)? };
        }
        Ok(())
    })
}

/// The handle of a kernel for the driver: the same as for the runtime.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetFuncBySymbol(to: *mut u64, host: *const c_void) -> u32 {
    enter(|_| {
        if !registry().functions.contains_key(&(host as usize)) {
            return Err(CudaError::INVALID_DEVICE_FUNCTION);
        }
        // SAFETY: null is refused; else the program says it is the place of a handle.
        unsafe { put(to, host as u64) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetKernel(to: *mut u64, host: *const c_void) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaGetFuncBySymbol(to, host) }
}
