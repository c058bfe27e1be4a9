//! Launches from kernels (dynamic parallelism, CUDA C++ Programming Guide): what a kernel asks for while it runs, and the host runs when
//! its blocks have ended.

/// A launch that a kernel asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildLaunch {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// The bytes of each parameter.
    pub params: Vec<Vec<u8>>,
    /// Whether it waits for all other launches of the kernel that asks for it.
    pub last: bool,
}

/// A launch whose parameters are not complete: they are written to an allocation of the device heap.
#[derive(Clone, Debug)]
pub(crate) struct PreparedLaunch {
    pub parameters: u64,
    /// Index of the kernel in its module.
    pub kernel: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
}

/// The launches of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildLaunches {
    pub prepared: Vec<PreparedLaunch>,
    pub launched: Vec<ChildLaunch>,
}
