//! Output: messages of this library on standard error, and the output of kernels on standard output.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io::Write;

unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
}

/// Writes to the program's standard output through the C library's buffer, so that it stays in order with the program's
/// own output.
pub fn print(text: &[u8]) {
    // SAFETY: `stdout` is the C library's stream, open since the start of the process; `text` is valid for its length.
    unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}

/// Writes a line to standard error.
pub fn complain(message: &str) {
    writeln!(std::io::stderr(), "cudart: {message}").ok();
}
