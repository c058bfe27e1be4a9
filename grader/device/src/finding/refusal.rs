//! Why no GPU could start a kernel.

/// What a kernel has too much of, for a launch with its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The registers of all threads of a block are more than there are.
    Registers {
        /// Registers of a thread, on the GPU where it needs fewest.
        registers: u32,
        /// Threads of the block.
        threads: u32,
    },
    /// The block has more threads than the kernel's `__launch_bounds__` allow.
    LaunchBounds {
        /// Threads that they allow.
        bound: u32,
        /// Threads of the block.
        threads: u32,
    },
    /// A block's shared memory, the kernel's own and that of the launch, is more than there is.
    SharedMemory {
        /// Bytes of the kernel's `__shared__` arrays.
        fixed: u64,
        /// Bytes that the launch adds.
        dynamic: u32,
    },
}

impl Refusal {
    /// The stable name, which stands in reports for machines and in `caught_by` of a wrong solution.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registers { .. } => "too-many-registers",
            Self::LaunchBounds { .. } => "launch-bounds",
            Self::SharedMemory { .. } => "too-much-shared-memory",
        }
    }
}
