//! Where compiled kernels and host code run: the PTX virtual machine, or a GPU.
//!
//! ```text
//! case + module ──► backend: vm | gpu ──────────────► run (tensors, findings, times)
//! spec + library ─► host: child process ─► vm | gpu ─► run
//! program ────────► program: child process ─► vm ────► findings, profiles
//! ```
//!
//! Everything that a submission can break runs in a child process: a GPU's driver, because a kernel can crash or hang it,
//! and host code, which is also shut in a sandbox. What a device finds wrong is told in the terms of the case: tensors,
//! indices, threads and source lines ([`finding`]).
//!
//! This crate does not know what is expected: it neither compares results nor words a report.

pub mod arch;
pub mod backend;
mod checked;
pub mod cpp;
pub mod finding;
pub mod gpu;
pub mod host;
mod image;
pub mod launch_limits;
pub mod own_program;
pub mod program;
pub mod provenance;
mod run;
mod sandbox;
pub mod vm;
