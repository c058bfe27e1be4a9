//! The C types of arguments and results.

use crate::error::CudaError;
use std::ffi::{c_char, c_int};

/// The numbers of blocks or threads in x, y and z.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// Stores a result through a pointer of the program.
///
/// # Safety
/// `to` is null or valid for writes.
///
/// # Safety
/// `to` is null or may be written.
pub unsafe fn put<T>(to: *mut T, value: T) -> Result<(), CudaError> {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null, and the program says it is a T.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// The values of an array of the program; none for null.
///
/// # Safety
/// `from` is null, or points to so many values.
pub unsafe fn values<T: Copy>(from: *const T, count: usize) -> Vec<T> {
    if from.is_null() {
        return Vec::new();
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(from, count) }.to_vec()
}

/// The text of a C string.
///
/// # Safety
/// `text` is null or ends with a zero byte.
pub unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: see above.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The handle of a stream or an event.
pub type HandleValue = u64;
/// The C type `cudaMemcpyKind`.
pub type Kind = c_int;
