//! The errors of the CUDA driver, as those of the runtime.

use cudarc::driver::DriverError;
use cudart::device::ErrorText;
use cudart::error::CudaError;
use std::cell::Cell;
use std::ffi::CStr;

thread_local! {
    /// The driver's last error, for its words.
    static LAST_ERROR: Cell<Option<DriverError>> = const { Cell::new(None) };
}

/// The driver's codes are those of the runtime for nearly all that can go wrong here (CUDA Driver API, `CUresult`).
pub fn code(error: DriverError) -> CudaError {
    LAST_ERROR.set(Some(error));
    CudaError(error.0 as u32)
}

/// What the driver calls an error.
pub fn words(error: DriverError) -> ErrorText {
    let words = |text: Result<&CStr, DriverError>| Some(text.ok()?.to_string_lossy().into_owned());
    ErrorText {
        name: words(error.error_name()).unwrap_or_else(|| format!("CUDA error {}", error.0 as u32)),
        text: words(error.error_string()).unwrap_or_default(),
    }
}

/// What the driver called its last error, if that was this one.
pub fn last_words(error: CudaError) -> Option<ErrorText> {
    LAST_ERROR.get().filter(|last| last.0 as u32 == error.0).map(words)
}
