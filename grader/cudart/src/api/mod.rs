//! The functions that programs call. Each does what the CUDA Runtime API says of it; all return a `cudaError_t`.
//!
//! These files speak C: they read and write through the program's pointers. A pointer that is wrong there crashes the
//! program, as it would with NVIDIA's library.
#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "the names are CUDA's")]
#![allow(clippy::missing_safety_doc, reason = "as in the CUDA Runtime API")]

mod device;
mod errors;
mod launch;
mod memory;
mod register;
mod streams;
mod symbols;
#[cfg(test)]
mod tests;
mod unsupported;

use crate::error::CudaError;
use std::ffi::{c_char, c_int, c_void};

/// Addresses of all functions, so that the linker keeps them for the programs that will ask for them by name.
pub fn exported() -> usize {
    let all = [
        device::TABLE,
        errors::TABLE,
        launch::TABLE,
        memory::TABLE,
        register::TABLE,
        streams::TABLE,
        symbols::TABLE,
        unsupported::TABLE,
    ];
    std::hint::black_box(all).iter().map(|table| table.len()).sum()
}

/// An address that may stand in a table.
pub(crate) struct Address(#[expect(dead_code, reason = "kept for the linker only")] *const ());

// SAFETY: an address of code, which nobody writes to.
unsafe impl Sync for Address {}

/// `TABLE`: the addresses of the functions of a file.
macro_rules! table {
    ($($name:ident),* $(,)?) => {
        pub(crate) static TABLE: &[crate::api::Address] =
            &[$(crate::api::Address($name as *const ())),*];
    };
}
pub(crate) use table;

/// Blocks or threads in x, y, z.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
}

/// Writes to the program's own standard output, through the C library's buffer, so that it keeps its place among what the
/// program prints.
pub(crate) fn print(text: &[u8]) {
    // SAFETY: `stdout` is the C library's stream, open since the start of the process; `text` is valid for its length.
    unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}

/// Stores a result through a pointer of the program's.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), CudaError> {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null, and the program says it is a T.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// The text of a C string.
///
/// # Safety
/// `text` is null or ends with a zero byte.
unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: see above.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// A stream or an event.
type HandleValue = u64;
/// `cudaMemcpyKind`.
type Kind = c_int;
