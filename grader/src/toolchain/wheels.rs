//! NVIDIA's compiler as Python wheels.

use std::path::{Path, PathBuf};

/// The nvcc in the grader's cache folder.
pub fn nvcc_in(cache: &Path) -> PathBuf {
    cache.join("nvcc-13.0.88/nvidia/cu13/bin/nvcc")
}

/// Installs.
pub fn install(_env: &super::env::Env, _cache: &Path) -> Result<(), crate::failure::Failure> {
    Err(crate::failure::Failure::new(
        crate::failure::FailureKind::Environment,
        "no nvcc found",
        "set NVCC",
    ))
}
