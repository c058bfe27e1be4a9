//! What a checker saw a thread do, in the student's terms: tensor, index, line, thread.

use puzzle::counter::Counter;
use puzzle::requirement::Relation;

/// A line of the student's source (or of a header it includes).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// Path as the compiler saw it.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, 0 if unknown.
    pub column: u32,
}

/// Something wrong that a kernel did. Typed here, worded in `report`.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// The kernel's source name.
    pub kernel: String,
    /// Where, if the backend knows.
    pub line: Option<SourceLine>,
    /// First block and thread that did it, if the backend knows.
    pub thread: Option<ThreadId>,
    /// How many threads did the same at this line.
    pub count: u64,
}

impl Finding {
    /// A finding of which no more is known than the kernel, if that.
    pub fn of_kernel(kind: FindingKind, kernel: &str) -> Self {
        Self { kind, kernel: kernel.to_owned(), line: None, thread: None, count: 1 }
    }
}

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// `blockIdx`.
    pub block: [u32; 3],
    /// `threadIdx`.
    pub thread: [u32; 3],
}

/// Kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device memory.
    Global,
    /// `__shared__`.
    Shared,
    /// A thread's own.
    Local,
    /// Device memory that the kernel allocates itself (`malloc`, `new`).
    Heap,
    /// `__constant__`.
    Constant,
}

/// A place counted in elements of a tensor; may lie outside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Name of the tensor.
    pub tensor: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Element offset from its start, in row-major order; negative or `>= len` where it misses.
    pub flat: i64,
}

/// Kinds of findings.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    /// An access outside every allocation.
    OutOfBounds {
        /// Load, store or atomic.
        access: Access,
        /// State space.
        space: Space,
        /// The nearest tensor, for global memory.
        place: Option<Place>,
        /// The raw address; small ones come from a null pointer.
        address: u64,
    },
    /// An address that is not a multiple of the access size.
    Misaligned {
        /// Load, store or atomic.
        access: Access,
        /// State space.
        space: Space,
        /// Bytes of the access.
        size: u32,
        /// The tensor, for global memory.
        place: Option<Place>,
    },
    /// A read of memory that nobody wrote.
    Uninitialised {
        /// State space.
        space: Space,
        /// The tensor, for global memory.
        place: Option<Place>,
        /// Bytes from the start of the space, for shared and local memory.
        offset: i64,
    },
    /// A write to an input.
    WriteToInput {
        /// The element.
        place: Place,
    },
    /// Two threads of a block touched the same shared word without a barrier between them.
    SharedRace {
        /// The other side: line, thread and access.
        other_line: Option<SourceLine>,
        /// The other thread.
        other_thread: Option<ThreadId>,
        /// This side's access.
        access: Access,
        /// The other side's access.
        other_access: Access,
        /// Byte offset in shared memory.
        offset: i64,
        /// Both threads are of one warp.
        same_warp: bool,
    },
    /// Two threads touched the same element, one of them wrote, and nothing orders them.
    GlobalRace {
        /// The element.
        place: Option<Place>,
        /// The other side: line, thread and access.
        other_line: Option<SourceLine>,
        /// The other thread.
        other_thread: Option<ThreadId>,
        /// This side's access.
        access: Access,
        /// The other side's access.
        other_access: Access,
        /// Both threads are of one block.
        same_block: bool,
        /// Both threads are of one warp.
        same_warp: bool,
    },
    /// A barrier that part of the block never reaches.
    BarrierDivergence {
        /// Where the other threads are; `None` if they have returned.
        other_line: Option<SourceLine>,
    },
    /// The member mask of a warp operation leaves its own thread out, or names threads that do not take part.
    InvalidMembers {
        /// The mask, a bit for each lane.
        named: u32,
        /// The lanes that take part with this mask.
        here: u32,
    },
    /// An operation of the whole warp (`wmma`, `mma`, `ldmatrix`) that only a part of it comes to.
    PartOfWarp {
        /// The lanes that came, a bit for each.
        here: u32,
    },
    /// The threads of a warp give different addresses or strides to a `wmma` load or store.
    UnevenOperands,
    /// An access of shared memory that an asynchronous copy is still on its way to.
    CopyInFlight {
        /// Load, store or atomic.
        access: Access,
        /// Byte offset in shared memory.
        offset: i64,
        /// The line of the copy.
        copy_line: Option<SourceLine>,
        /// The copy is this thread's own: else that thread has to wait, and then both meet.
        own: bool,
    },
    /// A barrier object in shared memory that is not used as it must be.
    BarrierObject {
        /// How.
        misuse: BarrierMisuse,
        /// Byte offset in shared memory.
        offset: i64,
    },
    /// An output that must hold the same bits after every run held others.
    NotRepeatable {
        /// The first element that differs.
        place: Place,
        /// After the first run, and after another one.
        values: [f64; 2],
    },
    /// An element of a result was never written.
    Unwritten {
        /// The first one.
        place: Place,
    },
    /// What the formula makes of a result is not as the spec requires.
    UnmetRequirement {
        /// The first element that is not.
        place: Place,
        /// What it is.
        value: f64,
        /// How it must stand to the bound.
        relation: Relation,
        /// The bound.
        bound: f64,
        /// What the spec says about it.
        about: Option<String>,
    },
    /// A result with which the formula cannot be computed: an index outside its tensor.
    NotMeasurable {
        /// What was to be computed.
        tensor: String,
        /// Why not.
        message: String,
    },
    /// A launch cost more, or other, than a gate allows.
    OverGate {
        /// What was counted.
        counter: Counter,
        /// How much of it.
        spent: u64,
        /// What the gate asks for.
        bound: u64,
        /// It asks for exactly that; else for no more.
        exact: bool,
        /// How much the line spent that spent most.
        of_line: u64,
        /// What the spec says about it.
        about: Option<String>,
    },
    /// Still running when the budget was spent.
    EndlessLoop {
        /// Instructions executed by the warp.
        instructions: u64,
    },
    /// Killed after this many seconds (GPU).
    TimeOut {
        /// Seconds.
        seconds: f64,
    },
    /// An access of memory that the kernel allocated and freed again.
    UseAfterFree {
        /// Load, store or atomic.
        access: Access,
    },
    /// `free` or `delete` of what is no allocation of the kernel.
    InvalidFree {
        /// It was one and has been freed before.
        again: bool,
    },
    /// Recursion deeper than the stack of a thread.
    StackOverflow {
        /// Bytes of the stack.
        limit: u32,
    },
    /// A call through a pointer that leads to no such function.
    InvalidCall {
        /// The pointer.
        address: u64,
    },
    /// The kernel waits for the whole grid, but the launch is not cooperative.
    GridSync,
    /// `trap` or a failed `assert`.
    Trap {
        /// The assertion, if known.
        message: Option<String>,
    },
    /// The guard zone around a tensor was overwritten (GPU).
    GuardOverwritten {
        /// The tensor and the first overwritten element outside it.
        place: Place,
    },
    /// The contents of an input changed (GPU).
    InputChanged {
        /// The first changed element.
        place: Place,
    },
    /// An error of the driver, explained.
    Driver {
        /// For instance `CUDA_ERROR_ILLEGAL_ADDRESS`.
        code: String,
        /// What it means for the student.
        meaning: String,
    },
    /// Host code did not come back as it should.
    Host(HostFault),
    /// The grader contradicts itself (a tensor of the wrong length, nothing to compare): its mistake, not the
    /// student's, but never a pass.
    Grader {
        /// What was expected and what was there.
        message: String,
    },
}

/// What is wrong with the use of a barrier object (`cuda::barrier`, `mbarrier`).
#[derive(Clone, Debug, PartialEq)]
pub enum BarrierMisuse {
    /// There is none.
    NotInitialised,
    /// There is one already.
    InitialisedAgain {
        /// Where it was initialised.
        first_line: Option<SourceLine>,
    },
    /// A count that no barrier takes.
    InvalidCount {
        /// The count.
        count: u32,
    },
    /// More arrivals than the phase waits for.
    TooManyArrivals {
        /// At once.
        count: u32,
        /// How many were missing.
        pending: u32,
    },
    /// An arrival that may not be the last one is.
    MayNotComplete,
    /// The token is none of the last two phases.
    OldToken,
    /// A load, store or atomic of its bytes.
    Touched {
        /// Which of them.
        access: Access,
    },
    /// All that are left wait.
    NeverCompletes {
        /// How many arrivals are missing.
        arrivals: u32,
        /// How many bytes are missing.
        bytes: i32,
    },
}

impl FindingKind {
    /// True if the run broke off, so that what the outputs hold says nothing.
    pub fn ends_the_run(&self) -> bool {
        matches!(
            self,
            Self::EndlessLoop { .. }
                | Self::BarrierObject { misuse: BarrierMisuse::NeverCompletes { .. }, .. }
                | Self::TimeOut { .. }
                | Self::Trap { .. }
                | Self::GridSync
                | Self::StackOverflow { .. }
                | Self::InvalidCall { .. }
                | Self::Driver { .. }
        ) || matches!(self, Self::Host(fault) if !matches!(fault, HostFault::CudaError { .. } | HostFault::TooManyThreads { .. }))
    }

    /// The name used in `caught_by` and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } | Self::GuardOverwritten { .. } => "out-of-bounds",
            Self::Misaligned { .. } => "misaligned",
            Self::Uninitialised { .. } => "uninitialised",
            Self::WriteToInput { .. } | Self::InputChanged { .. } => "write-to-input",
            Self::SharedRace { .. } => "shared-race",
            Self::GlobalRace { .. } => "global-race",
            Self::BarrierDivergence { .. } => "barrier-divergence",
            Self::InvalidMembers { .. } => "invalid-members",
            Self::PartOfWarp { .. } => "part-of-warp",
            Self::UnevenOperands => "uneven-operands",
            Self::CopyInFlight { .. } => "copy-in-flight",
            Self::NotRepeatable { .. } => "not-repeatable",
            Self::Unwritten { .. } => "unwritten",
            Self::UnmetRequirement { .. } | Self::NotMeasurable { .. } => "unmet-requirement",
            Self::OverGate { .. } => "over-gate",
            Self::EndlessLoop { .. }
            | Self::BarrierObject { misuse: BarrierMisuse::NeverCompletes { .. }, .. }
            | Self::TimeOut { .. } => "endless-loop",
            Self::BarrierObject { .. } => "barrier-object",
            Self::UseAfterFree { .. } => "use-after-free",
            Self::InvalidFree { .. } => "invalid-free",
            Self::StackOverflow { .. } => "stack-overflow",
            Self::InvalidCall { .. } => "invalid-call",
            Self::GridSync => "grid-sync",
            Self::Trap { .. } => "trap",
            Self::Driver { .. } => "driver-error",
            Self::Host(fault) => fault.name(),
            Self::Grader { .. } => "grader-error",
        }
    }
}

/// What became of host code that did not simply return.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFault {
    /// A signal ended it: 11 is a segmentation fault (signal(7)).
    Crash {
        /// Number of the signal.
        signal: i32,
    },
    /// It ended its process instead of returning.
    Exit {
        /// With this code.
        code: i32,
    },
    /// It threw an exception.
    Exception {
        /// What it says.
        message: String,
    },
    /// It asked for more memory than it may have.
    OutOfMemory {
        /// Bytes that it may have.
        limit: u64,
    },
    /// It had not returned after this time, in which the device had nothing to do.
    TooLong {
        /// Seconds.
        seconds: u64,
    },
    /// It printed more than is read.
    Flood {
        /// Bytes that are read.
        limit: usize,
    },
    /// It asked the system for something that is not allowed here.
    Forbidden,
    /// Its library cannot be loaded.
    NotLoaded {
        /// The loader's words.
        message: String,
    },
    /// A CUDA call failed, and nobody minded.
    CudaError {
        /// For instance `cudaErrorInvalidValue`.
        name: String,
        /// CUDA's words.
        message: String,
    },
    /// It launched far more threads than there are elements.
    TooManyThreads {
        /// The kernel's source name.
        kernel: String,
        /// Threads of the grid.
        threads: u64,
    },
    /// It broke the connection to the device, or sent something that is no request.
    Disconnected,
}

impl HostFault {
    /// The name used in `caught_by` and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crash { .. } => "crash",
            Self::Exit { .. } => "exit",
            Self::Exception { .. } => "exception",
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::TooLong { .. } => "endless-loop",
            Self::Flood { .. } => "output-flood",
            Self::Forbidden => "forbidden-call",
            Self::NotLoaded { .. } => "not-loaded",
            Self::CudaError { .. } => "cuda-error",
            Self::TooManyThreads { .. } => "too-many-threads",
            Self::Disconnected => "disconnected",
        }
    }
}
