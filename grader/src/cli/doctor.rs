//! The command `grader doctor`.

use super::console;
use crate::doctor;
use device::gpu::{self, RemoteGpu};
use diagnostic::{EXIT_ENVIRONMENT, EXIT_PASS};
use report::style::Style;
use std::path::Path;
use toolchain::env::Env;

/// Examines the machine and returns the exit code.
pub(super) fn run(nvcc: Option<&Path>) -> u8 {
    let gpu = gpu::detect();
    let checks = doctor::examine(&Env::current(), nvcc, gpu.as_ref().map(RemoteGpu::info));
    let stdout = std::io::stdout();
    let page = doctor::page(&checks, Style::detect(&stdout));
    console::print(&page);
    if doctor::healthy(&checks) { EXIT_PASS } else { EXIT_ENVIRONMENT }
}
