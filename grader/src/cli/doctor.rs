//! `grader doctor`.

use std::path::Path;

/// Looks at the machine and returns the exit code.
pub(super) fn run(_nvcc: Option<&Path>) -> u8 {
    0
}
