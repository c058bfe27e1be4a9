//! A SIMT virtual machine for PTX. (Contract: the public names below are what the rest of the project uses.)
#![allow(clippy::todo, clippy::missing_errors_doc, unused_variables)]

/// A place in the CUDA source, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLoc {
    /// As in the `.file` directive.
    pub file: std::sync::Arc<str>,
    /// 1-based.
    pub line: u32,
    /// 1-based, 0 if unknown.
    pub column: u32,
}

/// Why a module cannot be loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[error("line {ptx_line} of the PTX: {message}")]
pub struct LoadError {
    /// 1-based line of the PTX text.
    pub ptx_line: usize,
    /// The line of the CUDA source that it came from.
    pub source_loc: Option<SourceLoc>,
    /// What is wrong.
    pub message: String,
    /// True: valid PTX that this machine cannot run. False: not PTX.
    pub unsupported: bool,
}

/// A loaded module: parsed, checked, decoded.
#[derive(Debug)]
pub struct Module {/* private */}
impl Module {
    /// Total: any text gives a module or an error.
    pub fn load(ptx: &str) -> Result<Self, LoadError> {
        todo!()
    }
    /// All `.entry` functions, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        std::iter::empty()
    }
    /// By its name in the PTX (mangled).
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        todo!()
    }
}

/// An `.entry` function.
#[derive(Debug)]
pub struct Kernel {/* private */}
impl Kernel {
    /// Name in the PTX (mangled).
    pub fn name(&self) -> &str {
        todo!()
    }
    /// Parameters, in order.
    pub fn params(&self) -> &[ParamType] {
        todo!()
    }
}

/// Size and alignment of a kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
}

/// A global-memory allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub usize);

/// How a buffer starts.
#[derive(Clone, Debug)]
pub enum Init {
    /// Defined contents.
    Bytes(Vec<u8>),
    /// `len` bytes that a kernel must write before it reads them; filled with 0xFF (a NaN in every float type).
    Undefined {
        /// Bytes.
        len: usize,
    },
}

/// May kernels write to a buffer?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A write is a finding.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// Global memory of the virtual device: buffers far apart, so that no overflow reaches a neighbour.
#[derive(Debug, Default)]
pub struct Memory {/* private */}
impl Memory {
    /// Adds a buffer.
    pub fn alloc(&mut self, init: Init, access: Access) -> BufferId {
        todo!()
    }
    /// The address kernels see.
    pub fn address(&self, id: BufferId) -> u64 {
        todo!()
    }
    /// Contents.
    pub fn bytes(&self, id: BufferId) -> Vec<u8> {
        todo!()
    }
    /// One flag for each byte: was it defined, at the start or by a kernel?
    pub fn defined(&self, id: BufferId) -> Vec<bool> {
        todo!()
    }
}

/// Grid, block, dynamic shared memory and the parameters' bytes.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes.
    pub dynamic_shared: u32,
    /// One entry for each parameter, little-endian, of the parameter's size.
    pub params: Vec<Vec<u8>>,
}

/// Limits and extras of a launch.
#[derive(Clone, Debug)]
pub struct Options {
    /// Instructions that one warp may execute before it counts as endless.
    pub budget: u64,
    /// Record every global access of this thread: (block, thread).
    pub trace: Option<([u32; 3], [u32; 3])>,
    /// At most this many findings are kept apart (by kind and source line); each counts its repetitions.
    pub max_findings: usize,
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sorted by block, then thread of the first occurrence; the same at every run.
    pub findings: Vec<Finding>,
    /// The accesses of the traced thread, in program order.
    pub trace: Vec<Traced>,
    /// Instructions executed, counted once for each active lane.
    pub lane_instructions: u64,
}

/// Why a launch could not start.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum LaunchError {
    /// Block too large, a zero in the grid, shared memory over the limit ...: what and which limit.
    #[error("{0}")]
    Configuration(String),
    /// Number or sizes of the parameters do not match the kernel.
    #[error("{0}")]
    Parameters(String),
}

/// One access of a traced thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// The buffer hit, if any.
    pub buffer: Option<BufferId>,
    /// Offset in it, in bytes (negative or past the end where it misses).
    pub offset: i64,
    /// Bytes.
    pub size: u32,
    /// Source line.
    pub loc: Option<SourceLoc>,
}

/// Kinds of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory.
    Global,
    /// On-chip memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Constant memory.
    Const,
}

/// Something wrong that a thread did.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Source line.
    pub loc: Option<SourceLoc>,
    /// First block that did it.
    pub block: [u32; 3],
    /// First thread of it.
    pub thread: [u32; 3],
    /// How many lanes did the same at this line.
    pub count: u64,
}

/// Typed, without words: the caller knows the tensors' names.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    /// Outside every allocation.
    OutOfBounds {
        /// Where.
        space: Space,
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// The buffer whose address range lies nearest (global), and the offset in bytes from its start.
        nearest: Option<(BufferId, i64)>,
        /// Raw address; small values are null-pointer arithmetic.
        address: u64,
    },
    /// Address not a multiple of the access size.
    Misaligned {
        /// Where.
        space: Space,
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// Buffer and offset (global).
        buffer: Option<(BufferId, i64)>,
    },
    /// Read of a word that nobody wrote.
    Uninitialised {
        /// Where.
        space: Space,
        /// Bytes.
        size: u32,
        /// Buffer and offset (global).
        buffer: Option<(BufferId, i64)>,
        /// Offset (shared, local).
        offset: i64,
    },
    /// Write to a read-only buffer.
    WriteToReadOnly {
        /// Buffer and offset.
        buffer: (BufferId, i64),
        /// Bytes.
        size: u32,
    },
    /// A barrier that part of the block can never reach, or reached by part of a warp only.
    BarrierDivergence {
        /// Where the other threads are: None if they have returned.
        other: Option<SourceLoc>,
    },
    /// Still running when the budget was spent.
    EndlessLoop {
        /// Instructions of the warp.
        instructions: u64,
    },
    /// `trap` or a failed `assert`.
    Trap {
        /// The assertion's text, where known.
        message: Option<String>,
    },
}

/// Runs one kernel to its end. Blocks run in parallel with the same result at every run.
pub fn launch(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Outcome, LaunchError> {
    todo!()
}
