//! What the warps of a block share, and one of them at work.

use crate::finding::FindingKind;
use crate::finding::Log;
use crate::isa::names::Pc;
use crate::isa::names::{Guard, Slot};
use crate::lanes::lanes;
use crate::machine::async_copies::Copies;
use crate::machine::mbarriers::Mbarriers;
use crate::machine::simd::dispatch::Simd;
use crate::machine::warp::spin_detector::PolledValue;
use crate::machine::warp::state::Warp;
use crate::memory::flat::Flat;
use crate::memory::global::Memory;
use crate::program::code::Program;

/// What all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub constants: &'a Flat,
    pub params: &'a Flat,
    pub block_size: [u32; 3],
    pub budget: u64,
    /// Of a cooperative launch, what `%envreg1` and `%envreg2` point to; else 0.
    pub workspace: u64,
    pub simd: &'static Simd,
}

/// What the warps of a block share.
pub(crate) struct BlockState<M> {
    pub shared: Flat,
    pub log: Log,
    pub printed: String,
    pub monitor: M,
    pub coordinates: [u32; 3],
    pub lane_instructions: u64,
    pub mbarriers: Mbarriers,
    /// Asynchronous copies of each warp.
    pub copies: Vec<Copies>,
    /// What warps that spin wait for.
    pub polled: Vec<PolledValue>,
}

impl<M> BlockState<M> {
    /// For blocks of so many warps, none of which has begun.
    pub fn new(warps: u32, monitor: M) -> Self {
        Self {
            shared: Flat::default(),
            log: Log::default(),
            printed: String::new(),
            monitor,
            coordinates: [0; 3],
            lane_instructions: 0,
            mbarriers: Mbarriers::default(),
            copies: vec![Copies::default(); warps as usize],
            polled: Vec::new(),
        }
    }

    /// A block begins with these contents of its shared memory.
    pub fn begin(&mut self, coordinates: [u32; 3], shared: &Flat) {
        self.coordinates = coordinates;
        self.shared.reset_from(shared);
        self.mbarriers.clear();
        self.copies.iter_mut().for_each(Copies::clear);
        self.polled.clear();
    }
}

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YieldReason {
    Done,
    /// Others may run.
    Slice,
    /// It waits in a loop for somebody else.
    Spins,
    /// Arrived at a barrier: the block decides whether it waits.
    Barrier {
        bar: Pc,
        id: u32,
        threads: Option<u32>,
    },
    /// The budget is spent.
    Endless,
}

/// Instructions of a warp before another one gets its turn: lets one warp wait for what another writes.
pub(crate) const SLICE: u64 = 1 << 14;

/// One warp at work.
pub(crate) struct Machine<'m, 'e, M> {
    pub env: &'m Env<'e>,
    pub state: &'m mut BlockState<M>,
    pub warp: &'m mut Warp,
}

impl<M> Machine<'_, '_, M> {
    /// Lanes of the running split that an instruction is for.
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

    /// Notes a finding of the lanes of a mask.
    pub(super) fn record(&mut self, kind: FindingKind, pc: Pc, mask: u32) {
        let thread = self.warp.index * 32 + mask.trailing_zeros();
        self.state.log.record(kind, pc, thread, mask.count_ones());
    }

    pub(super) fn set_lanes(&mut self, slot: Slot, mask: u32, values: &[u64; 32]) {
        for lane in lanes(mask) {
            self.warp.registers.set_lane(slot, lane, values[lane]);
        }
    }
}
