//! The state that the warps of a block share, and the executor of one warp.

use super::Machine;
use crate::finding::FindingKind;
use crate::finding::{Log, SharedArray};
use crate::isa::names::Pc;
use crate::isa::names::{Guard, Slot};
use crate::lanes::lanes;
use crate::machine::async_copies::Copies;
use crate::machine::child_launch::ChildLaunches;
use crate::machine::cluster::Cluster;
use crate::machine::mbarriers::Mbarriers;
use crate::machine::polled_words::PolledWords;
use crate::machine::simd::arith::ThreadedInstr;
use crate::machine::simd::dispatch::Simd;
use crate::memory::Memory;
use crate::memory::flat::Flat;
use crate::program::code::Program;
use crate::program::module::Kernel;

/// What all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub constants: &'a Flat,
    /// The variable in constant memory, if there is only one.
    pub constant: Option<SharedArray>,
    pub params: &'a Flat,
    pub block_size: [u32; 3],
    pub budget: u64,
    /// Instructions that the warps of a block may execute together.
    pub block_budget: u64,
    /// Bytes that a block may print, with a few for each call.
    pub printed: u64,
    /// The kernels of the module, which this one may launch.
    pub kernels: &'a [Kernel],
    /// Address that `%envreg1` and `%envreg2` hold in a cooperative launch; 0 in any other.
    pub workspace: u64,
    pub simd: &'static Simd,
    /// The arithmetic of the program, for `simd` to run.
    pub threaded: Vec<ThreadedInstr>,
}

/// What the warps of a block share.
pub(crate) struct BlockState<M> {
    pub shared: Flat,
    pub log: Log,
    pub printed: String,
    /// What the block has printed in bytes, read for it included, with a few for each call; also what is not kept.
    pub printing: u64,
    pub monitor: M,
    pub coordinates: [u32; 3],
    pub lane_instructions: u64,
    pub mbarriers: Mbarriers,
    /// Asynchronous copies of each warp.
    pub copies: Vec<Copies>,
    /// Whether any of these has begun, whose source must not change until it is waited for.
    pub copies_read: bool,
    /// The words that spinning warps have read and wait to see changed.
    pub polled: PolledWords,
    /// What the block launches.
    pub children: ChildLaunches,
    /// The cluster of the block, if it has others.
    pub cluster: Option<Box<Cluster>>,
}

impl<M> BlockState<M> {
    /// The state for blocks of `warps` warps, before the first of them begins.
    pub fn new(warps: u32, monitor: M) -> Self {
        Self {
            shared: Flat::default(),
            log: Log::default(),
            printed: String::new(),
            printing: 0,
            monitor,
            coordinates: [0; 3],
            lane_instructions: 0,
            mbarriers: Mbarriers::default(),
            copies: vec![Copies::default(); warps as usize],
            copies_read: false,
            polled: PolledWords::default(),
            children: ChildLaunches::default(),
            cluster: None,
        }
    }

    /// Prepares for a block with these coordinates and initial contents of shared memory.
    pub fn begin(&mut self, coordinates: [u32; 3], shared: &Flat) {
        self.coordinates = coordinates;
        self.shared.reset_from(shared);
        self.printing = 0;
        self.mbarriers.clear();
        self.copies.iter_mut().for_each(Copies::clear);
        self.copies_read = false;
        self.polled.clear();
        self.children = ChildLaunches::default();
    }
}

/// Why a warp gave up control to the scheduler of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YieldReason {
    Done,
    /// Its time slice is over.
    Slice,
    /// It waits in a loop for another thread.
    Spins,
    /// It has arrived at a barrier; the block decides whether it waits.
    Barrier {
        bar: Pc,
        id: u32,
        threads: Option<u32>,
    },
    /// Its instruction budget is spent.
    Endless,
}

/// Instructions of a warp before another one runs, so that one warp can wait for what another writes.
pub(crate) const SLICE: u64 = 1 << 14;

impl<M> Machine<'_, '_, M> {
    /// The active lanes of the running stack entry that the guard lets execute.
    pub(super) fn active(&self, guard: Option<Guard>) -> u32 {
        let mask = self.warp.current.mask;
        match guard {
            None => mask,
            Some(guard) => mask & self.guard_bits(guard),
        }
    }

    pub(super) fn guard_bits(&self, guard: Guard) -> u32 {
        let p = self.warp.registers.p(guard.predicate);
        if guard.negated { !p } else { p }
    }

    /// Records a finding of the lanes of a mask.
    pub(super) fn record(&mut self, kind: impl Into<FindingKind>, pc: Pc, mask: u32) {
        let thread = self.warp.index * 32 + mask.trailing_zeros();
        self.state.log.record(kind, pc, thread, mask.count_ones());
    }

    pub(super) fn set_lanes(&mut self, slot: Slot, mask: u32, values: &[u64; 32]) {
        for lane in lanes(mask) {
            self.warp.registers.set_lane(slot, lane, values[lane]);
        }
    }
}
