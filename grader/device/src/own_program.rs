//! The program that is started again as a child, so that what a submission can break is not the grader.

use diagnostic::{Failure, FailureKind};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Its path, where a test has named it.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Names the `grader` program to start. For programs that have the grader as a library: they would start themselves.
pub fn set(path: impl Into<PathBuf>) {
    // The first one counts.
    let _ = NAMED.set(path.into());
}

/// The path of the program to start.
///
/// # Errors
/// The system does not tell it.
pub fn path() -> Result<PathBuf, Failure> {
    if let Some(path) = NAMED.get() {
        return Ok(path.clone());
    }
    std::env::current_exe().map_err(|e| {
        let title = format!("the grader cannot find its own program: {e}");
        let help = "kernels on a GPU, and host code, run in a second process of it";
        Failure::new(FailureKind::Environment, title, help)
    })
}
