//! What a launch is asked for: its configuration, and the options of the run.

use crate::instruments::watchpoint::Watchpoint;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The configuration of a launch: grid, block, dynamic shared memory, and the bytes of the parameters.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared: u32,
    /// One entry for each parameter, little-endian, of the parameter's size.
    pub params: Vec<Vec<u8>>,
}

impl Launch {
    /// Blocks of the grid.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&count| u64::from(count)).product()
    }

    /// Threads of a block. The configuration has been checked: what is within the limits cannot overflow.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// Limits and extras of a launch.
#[derive(Clone, Debug)]
pub struct Options {
    /// Instructions that one warp may execute before it counts as endless; the warps of a block together may execute
    /// twice as many, or more where `element` grants it.
    pub budget: u64,
    /// Instructions that all blocks may execute together, counted once for each active lane, beside a thousand for each thread.
    pub work: u64,
    /// What each thread of a block may execute besides, since a correct kernel may compute in every thread of a block what one of
    /// them stores.
    pub element: ElementWork,
    /// Bytes that all threads may print together, with a few for each call.
    pub printed: u64,
    /// Once it is set, no further block begins, and what the launch gives is of no use.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Record every global access of this thread: (block, thread).
    pub trace: Option<([u32; 3], [u32; 3])>,
    /// Report which thread wrote this place last.
    pub watch: Option<Watchpoint>,
    /// Tell which bytes of global memory the launch touches. Its blocks then share one host thread.
    pub touched: bool,
    /// At most this many findings are kept apart (by kind and source line); each counts its repetitions.
    pub max_findings: usize,
    /// A cooperative launch (`cudaLaunchCooperativeKernel`): all blocks run at once and may wait for each other with
    /// `this_grid().sync()`. More blocks than an H200 has room for are refused.
    pub cooperative: bool,
    /// The blocks of a cluster in x, y, z, as an attribute of the launch says. None: what the kernel says, or no clusters.
    pub cluster: Option<[u32; 3]>,
}

/// The work of one element of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementWork {
    /// Elements of all results. Each may occupy a whole block.
    pub elements: u64,
    /// Instructions that a thread may execute for one of them.
    pub instructions: u64,
}

impl ElementWork {
    /// Instructions that all threads of a launch may execute for elements, if the threads that store none do the same as the others.
    pub(crate) fn of_launch(self, blocks: u64, threads: u32) -> u64 {
        let occupied = self.elements.min(blocks).saturating_mul(threads.into());
        occupied.saturating_mul(self.instructions)
    }
}

impl Default for Options {
    /// A budget of 2^28 instructions, no limit of the work and the output, no trace, no watch, no touched bytes, 64 findings, not
    /// cooperative, no clusters.
    fn default() -> Self {
        Self {
            budget: 1 << 28,
            work: u64::MAX,
            element: ElementWork::default(),
            printed: u64::MAX,
            cancelled: None,
            trace: None,
            watch: None,
            touched: false,
            max_findings: 64,
            cooperative: false,
            cluster: None,
        }
    }
}
