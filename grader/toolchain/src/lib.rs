//! From a `.cu` file to PTX, machine code or a library of host code: finds or installs a compiler, runs it, caches its
//! output, and explains its messages.
//!
//! ```text
//! request ─► key (source, includes, flags, compiler) ─► cache ─┬─ hit ──────────────────────► compiled
//!                                                              └─ miss ─► compiler (process) ─┘
//! ```
//!
//! [`module`] lists the kernels of what was compiled, with their parameters. This crate knows no puzzles: it is given files,
//! folders and the names that it should find.

mod assembler;
pub mod cache;
mod compile;
pub mod env;
mod explain;
#[cfg(test)]
mod fake;
pub mod find;
pub mod includes;
mod messages;
pub mod module;
mod nvcc;
mod place;
pub mod process;
mod resources;
mod rules;
pub mod similar;
pub mod source;
pub mod spinner;
pub mod tokens;
pub mod wheels;

pub use compile::{Compiled, Library, LibraryRequest, Request, SourceFile, Toolchain};

use diagnostic::Failure;
use messages::Message;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The virtual architecture that PTX is made for: 75 for `compute_75`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualArch(pub u32);

impl Default for VirtualArch {
    /// The oldest that CUDA 13 knows; runs on every GPU since Turing, and on the virtual machine. All puzzles are compiled for
    /// it. So one library of host code serves a GPU and the virtual machine, and every supported CUDA can compile it. What
    /// it asks the device is answered by the device itself, which may be newer: as for any program that `nvcc
    /// -arch=compute_75` made, whose PTX the driver translates. The virtual machine claims to be an H100 then
    /// ([`cudart::vm::VmDevice`]), so that host code finds there what it finds on one.
    fn default() -> Self {
        Self(75)
    }
}

/// A compiler. nvcc is the one there is; NVRTC and clang give the same PTX and can stand beside it.
trait FrontEnd: std::fmt::Debug + Send + Sync {
    /// Name and version.
    fn describe(&self) -> String;
    /// Everything about the compiler itself that its output depends on; `None` if that cannot be known.
    fn identity(&self) -> Option<Vec<u8>>;
    /// The options that its output depends on.
    fn flags(&self, job: &Job<'_>) -> Vec<OsString>;
    /// Compiles to PTX.
    fn ptx(&self, job: &Job<'_>) -> Result<Output, Failure>;
    /// The options that host code depends on, besides [`FrontEnd::flags`].
    fn host_flags(&self, target: Target) -> Vec<OsString>;
    /// Compiles host code and kernels, together with the C++ file `glue`.
    fn host(&self, job: &Job<'_>, glue: &Path, target: Target) -> Result<LibraryOutput, Failure>;
    /// What the kernels need on `sm_NN`, as the assembler reports it.
    fn resources(&self, ptx: &str, sm: u32) -> Result<Vec<Resources>, Failure>;
    /// Turns PTX into machine code for `sm_NN`.
    fn machine_code(&self, ptx: &str, sm: u32) -> Result<Vec<u8>, Failure>;
}

/// What host code becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A shared library with the kernels as PTX, without NVIDIA's runtime: whoever loads it brings a runtime.
    Library {
        /// That of the PTX.
        arch: VirtualArch,
    },
    /// A program for a GPU of this architecture (90 for `sm_90`), with NVIDIA's runtime.
    Program {
        /// The architecture.
        sm: u32,
    },
}

/// What a front end is to compile.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    /// The folder of the source; the compiler runs there.
    folder: &'a Path,
    /// The source's name in it.
    file: &'a OsStr,
    /// Absolute.
    include_dirs: &'a [PathBuf],
    /// The source, and all headers that are not the compiler's.
    students: &'a [PathBuf],
    /// Virtual architecture.
    arch: VirtualArch,
    /// See [`includes::Inputs::plain`].
    plain: bool,
}

impl Job<'_> {
    /// Is this file, as the compiler named it, one of the student's (or the workbook's)?
    fn is_students(&self, file: &str) -> bool {
        !file.is_empty()
            && self.folder.join(file).canonicalize().is_ok_and(|path| self.students.contains(&path))
    }

    /// May there be PTX in the source itself? The compiler copies it without a look.
    fn has_inline_ptx(&self) -> bool {
        let speaks = |path| std::fs::read(path).is_ok_and(|t| t.windows(3).any(|w| w == b"asm"));
        self.students.iter().any(speaks)
    }
}

/// What a kernel needs, as the assembler reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Its name in the PTX.
    pub kernel: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Barriers of a block.
    pub barriers: u32,
    /// Bytes of a thread's registers that have no room and are kept in memory.
    pub spilled: u32,
}

/// What a front end makes of host code.
#[derive(Clone, Debug)]
struct LibraryOutput {
    /// The library or program; `None` if there are errors.
    library: Option<Vec<u8>>,
    /// Errors and warnings.
    messages: Vec<Message>,
    /// What is called and is not in the library, as C++ writes it: `f(int)`.
    undefined: Vec<String>,
}

/// What a front end gives.
#[derive(Clone, Debug)]
struct Output {
    /// `None` if there are errors.
    ptx: Option<String>,
    /// Errors and warnings.
    messages: Vec<Message>,
}
