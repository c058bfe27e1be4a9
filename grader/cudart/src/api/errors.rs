//! The functions of the runtime that tell of errors: `cudaGetLastError` and those beside it.

use super::table::table;
use crate::client::{last_error, take_last_error};
use crate::error::{CudaError, SUCCESS};
use std::ffi::c_char;

table![cudaGetLastError, cudaPeekAtLastError, cudaGetErrorString, cudaGetErrorName];

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> u32 {
    take_last_error()
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> u32 {
    last_error()
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    text(code, "no error", CudaError(code).text())
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    text(code, "cudaSuccess", CudaError(code).name())
}

/// The name or text of a code as a C string.
fn text(code: u32, success: &str, known: Option<&str>) -> *const c_char {
    lasting(match known {
        _ if code == SUCCESS => success,
        Some(known) => known,
        None => "unrecognized error code",
    })
}

/// A C string with static lifetime. CUDA has about a hundred codes, so little memory is leaked.
pub(super) fn lasting(wanted: &str) -> *const c_char {
    use std::collections::BTreeMap;
    use std::ffi::CString;
    use std::sync::{Mutex, PoisonError};
    static TEXTS: Mutex<BTreeMap<String, &'static std::ffi::CStr>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = texts
        .entry(wanted.to_owned())
        .or_insert_with(|| Box::leak(CString::new(wanted).unwrap_or_default().into_boxed_c_str()));
    found.as_ptr()
}
