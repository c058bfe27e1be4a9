//! What host code did instead of returning.

/// How host code failed to return.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFault {
    /// A signal ended it: 11 is a segmentation fault (signal(7)).
    Crash {
        /// The number of the signal.
        signal: i32,
    },
    /// It ended its process instead of returning.
    Exit {
        /// The exit code of the process.
        code: i32,
    },
    /// It threw an exception.
    Exception {
        /// What the exception says.
        message: String,
    },
    /// It asked for more memory than it may have.
    OutOfMemory {
        /// The bytes that it may have.
        limit: u64,
    },
    /// It had not returned after this time, in which the device was idle.
    TooLong {
        /// The seconds that it had.
        seconds: u64,
    },
    /// It printed more than is read.
    Flood {
        /// The bytes that are read.
        limit: usize,
    },
    /// Its files took more of the disk than they may.
    OutOfDisk {
        /// The bytes that they may take.
        limit: u64,
    },
    /// It asked the system for something that is not allowed here.
    Forbidden,
    /// Its library cannot be loaded.
    NotLoaded {
        /// What the loader said.
        message: String,
    },
    /// A CUDA call failed, and the code did not check it.
    CudaError {
        /// The error's name: `cudaErrorInvalidValue`.
        name: String,
        /// CUDA's description of it.
        message: String,
    },
    /// It launched far more threads than there are elements.
    TooManyThreads {
        /// The kernel's source name.
        kernel: String,
        /// The threads of the grid.
        threads: u64,
    },
    /// The tests before it have used up the time of the submission.
    NoTimeLeft {
        /// The seconds that all tests have together.
        seconds: u64,
    },
    /// It broke the connection to the device, or sent something that is not a request.
    Disconnected,
}

impl HostFault {
    /// The stable name, which stands in reports for machines and in `caught_by` of a wrong solution.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crash { .. } => "crash",
            Self::Exit { .. } => "exit",
            Self::Exception { .. } => "exception",
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::TooLong { .. } => super::ENDLESS,
            Self::NoTimeLeft { .. } => "no-time-left",
            Self::Flood { .. } => "output-flood",
            Self::OutOfDisk { .. } => "out-of-disk",
            Self::Forbidden => "forbidden-call",
            Self::NotLoaded { .. } => "not-loaded",
            Self::CudaError { .. } => "cuda-error",
            Self::TooManyThreads { .. } => "too-many-threads",
            Self::Disconnected => "disconnected",
        }
    }

    /// Whether the run stopped early, so that what the outputs hold says nothing.
    pub fn ends_the_run(&self) -> bool {
        !matches!(self, Self::CudaError { .. } | Self::TooManyThreads { .. })
    }
}
