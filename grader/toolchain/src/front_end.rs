//! What a compiler must do for the toolchain: the jobs that it is given, and what it answers.

use crate::cache::Key;
use crate::messages::Message;
use crate::resources::Resources;
use crate::usage::StandardLibrary;
use diagnostic::Failure;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The virtual architecture that PTX is made for: 75 for `compute_75`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualArch(pub u32);

impl VirtualArch {
    /// `compute_90a`, which has instructions that no other architecture has, such as `wgmma`. Nothing else has this number.
    pub const HOPPER: Self = Self(90_000);
    /// The first for which CUDA's headers make asynchronous copies what their name says. Below it they copy at once.
    pub const FIRST_ASYNCHRONOUS: Self = Self(80);

    /// Major and minor number of the compute capability that a device has to report for it.
    pub fn capability(self) -> (u32, u32) {
        if self == Self::HOPPER { (9, 0) } else { (self.0 / 10, self.0 % 10) }
    }
}

impl std::fmt::Display for VirtualArch {
    /// As nvcc writes it behind `sm_`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::HOPPER { f.write_str("90a") } else { self.0.fmt(f) }
    }
}

impl Default for VirtualArch {
    /// The oldest that CUDA 13 knows; runs on every GPU since Turing, and on the virtual machine. All puzzles are compiled for
    /// it. So one library of host code serves a GPU and the virtual machine, and every supported CUDA can compile it. What
    /// it asks the device is answered by the device itself, which may be newer: as for any program that `nvcc
    /// -arch=compute_75` made, whose PTX the driver translates. The virtual machine claims to be an H100 then
    /// (`VmDevice` of the crate `cudart`), so that host code finds there what it finds on one.
    fn default() -> Self {
        Self(75)
    }
}

/// A compiler. nvcc is the one there is; NVRTC and clang give the same PTX and can stand beside it.
pub(crate) trait FrontEnd: std::fmt::Debug + Send + Sync {
    /// Name and version of the compiler, as in "nvcc 13.0.88".
    fn describe(&self) -> String;
    /// Everything about the compiler itself that its output depends on; `None` if that cannot be known.
    fn identity(&self) -> Option<Vec<u8>>;
    /// The options that its output depends on.
    fn flags(&self, job: &Job<'_>) -> Vec<OsString>;
    /// Compiles the kernels of a source to PTX.
    fn ptx(&self, job: &Job<'_>) -> Result<Output, Failure>;
    /// The options that host code depends on, besides [`FrontEnd::flags`].
    fn host_flags(&self, target: Target) -> Vec<OsString>;
    /// Compiles host code and kernels, and links them; without anything to link with, to an object file.
    fn host(
        &self,
        job: &Job<'_>,
        target: Target,
        linked: Option<&Linked<'_>>,
    ) -> Result<HostOutput, Failure>;
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
        /// The number of the architecture.
        sm: u32,
    },
}

/// What a front end is to compile.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the source")]
pub(crate) struct Job<'a> {
    /// The folder of the source.
    pub(crate) folder: &'a Path,
    /// The source's name in it.
    pub(crate) file: &'a OsStr,
    /// The text of the source.
    pub(crate) text: &'a [u8],
    /// The folders for `#include`, in order, as absolute paths.
    pub(crate) include_dirs: &'a [PathBuf],
    /// The source, and all headers that are not the compiler's.
    pub(crate) students: &'a [PathBuf],
    /// What the compilers may read besides what comes with them; `None` for everything.
    pub(crate) readable: Option<Readable<'a>>,
    /// The virtual architecture of the PTX.
    pub(crate) arch: VirtualArch,
    /// Whether the PTX is for a debugger.
    pub(crate) debugger: bool,
    /// What the source and its headers can name of it.
    pub(crate) library: StandardLibrary,
    /// Whether there may be PTX in them.
    pub(crate) inline_ptx: bool,
    /// False if nothing in them can be a kernel, or compiled otherwise for the device than for the host.
    pub(crate) device_code: bool,
    /// Whether they include headers that not every CUDA has.
    pub(crate) supplied: bool,
    /// Options of the user's own, behind all others.
    pub(crate) flags: &'a [String],
    /// The folder of the program's first source.
    pub(crate) program: &'a Path,
}

/// What confined compilers may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readable<'a> {
    /// The files that they may read.
    pub(crate) files: &'a [PathBuf],
    /// A folder of which they may read nothing else, wherever it lies.
    pub(crate) closed: &'a Path,
}

/// What host code is linked with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linked<'a> {
    /// C++ that calls it.
    pub(crate) glue: Glue<'a>,
    /// Object files of the program's other sources, made for the same target.
    pub(crate) objects: &'a [Vec<u8>],
}

/// C++ that calls host code, and is linked with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glue<'a> {
    /// The C++ text itself.
    pub(crate) text: &'a str,
    /// Hash of the text and of what it includes. `None`: do not cache.
    pub(crate) inputs: Option<Key>,
}

impl<'a> Job<'a> {
    /// Kernels by themselves: nothing to include, nothing known of what they use, and no options.
    pub(crate) fn new(folder: &'a Path, file: &'a OsStr, text: &'a [u8]) -> Self {
        Self {
            folder,
            file,
            text,
            include_dirs: &[],
            students: &[],
            readable: None,
            arch: VirtualArch::default(),
            debugger: false,
            library: StandardLibrary::Whole,
            inline_ptx: false,
            device_code: true,
            supplied: false,
            flags: &[],
            program: folder,
        }
    }

    /// Is this file, as the compiler named it, one of the student's (or the workbook's)?
    pub(crate) fn is_students(&self, file: &str) -> bool {
        let is_listed = |path: PathBuf| self.students.contains(&path);
        // A name that is not UTF-8 stands in messages with other letters in their places.
        file == self.folder.join(self.file).to_string_lossy()
            || !file.is_empty() && self.folder.join(file).canonicalize().is_ok_and(is_listed)
    }
}

/// What a front end makes of host code.
#[derive(Clone, Debug)]
pub(crate) struct HostOutput {
    /// The library, program or object file; `None` if there are errors.
    pub(crate) binary: Option<Vec<u8>>,
    /// The compiler's errors and warnings, in its order.
    pub(crate) messages: Vec<Message>,
    /// What is called and is not in a library, as C++ writes it: `f(int)`.
    pub(crate) undefined: Vec<String>,
}

/// What a front end makes of kernels.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// `None` if there are errors.
    pub(crate) ptx: Option<String>,
    /// The compiler's errors and warnings, in its order.
    pub(crate) messages: Vec<Message>,
}
