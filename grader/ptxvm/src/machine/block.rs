//! Schedules the warps of one block: time slices, barriers, deadlock and livelock.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::finding::{
    BarrierDivergence, ClusterBarrier, ClusterBarrierMisuse, EndlessLoop, FindingKind,
};
use crate::isa::ir::Op;
use crate::isa::names::Pc;
use crate::machine::exec::Machine;
use crate::machine::exec::barrier::finish_reduction;
use crate::machine::exec::state::{BlockState, Env, SLICE, YieldReason};
use crate::machine::monitor::Monitor;
use crate::machine::warp::Warp;
use crate::machine::warp::simt_stack::WarpStatus;

/// Barriers of a block (PTX ISA 9.7.13.1).
const BARRIERS: usize = 16;

/// Instructions that the warps of a block may execute while all of them wait in vain for barrier objects, before the wait counts
/// as a deadlock.
const IDLE_INSTRUCTIONS: u64 = 1 << 23;

/// Turns in a row that a warp or a block may leave to others while what it polls is unchanged.
pub(crate) const LONGEST_REST: u32 = 64;

/// The state of a barrier between two releases.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// The warps that wait, with the instruction that each waits at.
    waiting: Vec<(usize, Pc)>,
    /// Threads that have arrived, counted in whole warps.
    arrived: u32,
    /// A mask of the warps that arrived without waiting.
    arrivals: u32,
    /// How many threads it waits for; None for the whole block.
    threads: Option<u32>,
    /// Threads whose predicate held (`bar.red`), and whether all did.
    count: u32,
    all: bool,
}

/// The barriers of a block.
pub(crate) struct Barriers([Barrier; BARRIERS]);

impl Default for Barriers {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Barrier { all: true, ..Barrier::default() }))
    }
}

/// How many instructions a block may execute before other blocks run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionQuota {
    /// Instructions of all its warps together.
    pub block: u64,
    /// Instructions of one warp before the next one runs.
    pub warp: u64,
}

impl InstructionQuota {
    /// No limit: the block runs to its end.
    pub const UNLIMITED: Self = Self { block: u64::MAX, warp: SLICE };
}

/// The state of a block when its scheduler returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStatus {
    Complete,
    /// A warp has spent its budget, or a thread its stack: later blocks need not run.
    Endless,
    /// It was told to stop.
    Stopped,
    /// It has not ended: its quota is spent.
    Paused,
    /// It has not ended, and all its warps wait for other blocks.
    Idle,
}

/// Detects livelock: all threads wait for each other in loops, and each has returned to the same place with the same registers,
/// again and again.
#[derive(Debug, Default)]
pub(crate) struct LivelockDetector {
    turns: usize,
    fingerprint: Option<u64>,
}

impl LivelockDetector {
    /// Notes one more slice in which one of `all` participants did nothing but wait, as did all before it. True if that will not
    /// change.
    pub fn is_certain(&mut self, all: usize, fingerprint: impl FnOnce() -> u64) -> bool {
        /// Slices of each participant between two comparisons.
        const BETWEEN: usize = 4;
        self.turns += 1;
        if self.turns < BETWEEN * all {
            return false;
        }
        self.turns = 0;
        let current = fingerprint();
        self.fingerprint.replace(current) == Some(current)
    }
}

/// Schedules the warps of a block, one slice each in turn.
pub(crate) struct WarpScheduler<'t, 'e, M> {
    pub env: &'t Env<'e>,
    pub state: &'t mut BlockState<M>,
    pub warps: &'t mut [Warp],
}

impl<M: Monitor> WarpScheduler<'_, '_, M> {
    /// Runs all warps to their end. `stop` is asked between slices.
    pub fn run(mut self, stop: impl Fn() -> bool) -> BlockStatus {
        self.run_for(&mut Barriers::default(), InstructionQuota::UNLIMITED, stop)
    }

    /// Runs all warps to their end, or until the quota is spent: then the block can be resumed later.
    pub fn run_for(
        &mut self,
        Barriers(barriers): &mut Barriers,
        quota: InstructionQuota,
        stop: impl Fn() -> bool,
    ) -> BlockStatus {
        let end = self.executed().saturating_add(quota.block);
        let mut livelock = LivelockDetector::default();
        // Whether warps that spin may leave their turn to others: not if all others wait as well.
        let mut may_rest = true;
        loop {
            if let Some(index) = self.over_budget() {
                self.endless(index);
                return BlockStatus::Endless;
            }
            if self.executed() >= end {
                return BlockStatus::Paused;
            }
            let mut ran = false;
            let mut idle = true;
            let mut rests = false;
            for index in 0..self.warps.len() {
                while self.warps[index].status == WarpStatus::Ready {
                    ran = true;
                    if may_rest && self.rest(index) {
                        rests = true;
                        break;
                    }
                    let warp = &mut self.warps[index];
                    let reason = Machine { env: self.env, state: self.state, warp }.run(quota.warp);
                    idle &= reason == YieldReason::Spins;
                    match reason {
                        YieldReason::Slice | YieldReason::Spins => {
                            if stop() {
                                return BlockStatus::Stopped;
                            }
                            break;
                        }
                        YieldReason::Endless => {
                            self.endless(index);
                            return BlockStatus::Endless;
                        }
                        YieldReason::Done => {
                            for barrier in &mut *barriers {
                                self.release(barrier);
                            }
                        }
                        YieldReason::Barrier { bar, id, threads } => {
                            let barrier = &mut barriers[id as usize % BARRIERS];
                            self.arrive(barrier, index, bar, threads);
                            self.release(barrier);
                        }
                    }
                }
            }
            // Other blocks of the cluster may complete phases, too.
            if self.state.cluster.is_none()
                && self.report_mbarrier_deadlock(IDLE_INSTRUCTIONS.min(self.env.budget / 8))
            {
                return BlockStatus::Endless;
            }
            if self.warps.iter().all(|warp| warp.status == WarpStatus::Done) {
                // A full stack ends the launch on a GPU, too, and filling that of every thread takes long.
                let full = self.state.log.has(|kind| matches!(kind, FindingKind::StackOverflow(_)));
                return if full { BlockStatus::Endless } else { BlockStatus::Complete };
            }
            if !ran {
                self.deadlock();
                return BlockStatus::Complete;
            }
            may_rest = !idle;
            if idle && rests {
                continue;
            }
            if idle && self.allow_splits() {
                if quota.block != u64::MAX {
                    return BlockStatus::Idle;
                }
                if livelock.is_certain(1, || self.fingerprint()) {
                    self.report_livelock();
                    return BlockStatus::Endless;
                }
            } else {
                livelock = LivelockDetector::default();
            }
        }
    }

    fn arrive(&mut self, barrier: &mut Barrier, index: usize, at: Pc, threads: Option<u32>) {
        let warp = &self.warps[index];
        barrier.arrived = barrier.arrived.saturating_add(32);
        barrier.threads = threads;
        if warp.status == WarpStatus::Ready {
            barrier.arrivals |= 1 << index;
        } else {
            barrier.waiting.push((index, at));
        }
        if let Some(Op::Bar(bar)) = self.env.program.instruction(at).map(|instr| &instr.op)
            && let Some((_, guard)) = bar.reduce
        {
            let p = warp.registers.p(guard.predicate);
            let bits = warp.live & if guard.negated { !p } else { p };
            barrier.count += bits.count_ones();
            barrier.all &= bits == warp.live;
        }
    }

    /// Releases the barrier if all have arrived. Threads that have exited count as arrived.
    fn release(&mut self, barrier: &mut Barrier) {
        if barrier.waiting.is_empty() {
            return;
        }
        let living = self.warps.iter().filter(|warp| warp.status != WarpStatus::Done).count();
        let complete = match barrier.threads {
            Some(threads) => barrier.arrived >= threads,
            None => barrier.waiting.len() >= living,
        };
        if !complete {
            return;
        }
        if barrier.threads.is_none() {
            self.check_same_barrier(barrier);
        }
        let mut there = barrier.waiting.iter().fold(0, |all, &(index, _)| all | 1 << index);
        there |= barrier.arrivals;
        if barrier.threads.is_none() {
            let done = |&(_, warp): &(usize, &Warp)| warp.status == WarpStatus::Done;
            let ended = self.warps.iter().enumerate().filter(done);
            there = ended.fold(there, |all, (index, _)| all | 1 << index);
        }
        self.state.monitor.barrier(there);
        for &(index, at) in &barrier.waiting {
            let warp = &mut self.warps[index];
            warp.status = WarpStatus::Ready;
            if let Some(Op::Bar(bar)) = self.env.program.instruction(at).map(|instr| &instr.op)
                && let Some((reduce, _)) = bar.reduce
            {
                finish_reduction(warp, reduce, warp.live, barrier.count, barrier.all);
            }
        }
        *barrier = Barrier { all: true, ..Barrier::default() };
    }

    /// Reports warps that wait at different barriers: they took different paths of a branch, or of calls. Some hardware accepts
    /// it, CUDA leaves it undefined: a barrier may depend on a condition only if that is the same for the whole block
    /// (CUDA C++ Programming Guide, "Synchronization Functions").
    fn check_same_barrier(&mut self, barrier: &Barrier) {
        let program = self.env.program;
        let Some(&(leader, first)) = barrier.waiting.first() else { return };
        let odd = barrier.waiting.iter().find(|&&(index, at)| {
            let calls = |index: usize| self.warps[index].calls_in_progress(program);
            at != first || !calls(index).eq(calls(leader))
        });
        if let Some(&(index, at)) = odd {
            let other = program.source_location(first).cloned();
            self.record(BarrierDivergence { other }, at, index);
        }
    }

    fn record(&mut self, kind: impl Into<FindingKind>, pc: Pc, index: usize) {
        let warp = &self.warps[index];
        let mask = if warp.current.mask == 0 { warp.live } else { warp.current.mask };
        let thread = warp.index * 32 + mask.trailing_zeros().min(31);
        self.state.log.record(kind, pc, thread, mask.count_ones());
    }

    /// Instructions that all warps have executed.
    fn executed(&self) -> u64 {
        self.warps.iter().map(|warp| warp.executed).sum()
    }

    /// A warp that has not ended, if the block has spent its budget.
    fn over_budget(&self) -> Option<usize> {
        if self.executed() < self.env.block_budget {
            return None;
        }
        self.warps.iter().position(|warp| warp.status != WarpStatus::Done)
    }

    /// The first warp that does not wait at a barrier.
    fn running(&self) -> Option<usize> {
        self.warps.iter().position(|warp| warp.status == WarpStatus::Ready)
    }

    /// Leaves the turn of a warp to others if it did nothing but spin in its last one and all that it polls is unchanged. It runs
    /// now and then nevertheless, because it may wait for something else as well.
    fn rest(&mut self, index: usize) -> bool {
        let BlockState { polled, mbarriers, shared, .. } = &*self.state;
        let warp = &mut self.warps[index];
        let Some(rested) = warp.spin.rested.filter(|&rested| rested < LONGEST_REST) else {
            return false;
        };
        // What waits for a barrier object polls no word.
        let rests = warp.spin.may_split
            && mbarriers.is_empty()
            && polled.are_unchanged(1 << (warp.index % 32), self.env.memory, shared);
        if rests {
            warp.spin.rested = Some(rested + 1);
        }
        rests
    }

    /// Allows the warps to be split where some lanes wait for others that spin. True if that was allowed before.
    fn allow_splits(&mut self) -> bool {
        let could = self.warps.iter().all(|warp| warp.spin.may_split);
        for warp in &mut *self.warps {
            warp.spin.may_split = true;
        }
        could
    }

    /// A hash of all registers of the block.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for warp in &*self.warps {
            let registers = &warp.registers;
            (&registers.r, &registers.q, &registers.p).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Reports warps that wait at the barrier of the cluster forever. False if there are none.
    fn report_cluster_deadlock(&mut self) -> bool {
        let program = self.env.program;
        let waits = |warp: &Warp| {
            let op = program.instruction(warp.current.pc).map(|instr| &instr.op);
            warp.status == WarpStatus::Ready && matches!(op, Some(Op::WaitForCluster { .. }))
        };
        let Some(index) = self.warps.iter().position(waits) else { return false };
        let odd = |warp: &&Warp| warp.status != WarpStatus::Done && !waits(warp);
        let other = self.warps.iter().find(odd).and_then(|warp| {
            let stopped = u32::from(warp.status != WarpStatus::Ready);
            program.source_location(warp.current.pc - stopped).cloned()
        });
        let misuse = ClusterBarrierMisuse::NeverCompletes { other };
        self.record(ClusterBarrier { misuse }, self.warps[index].current.pc, index);
        true
    }

    /// Reports a livelock, at the first warp that waits in a loop.
    pub fn report_livelock(&mut self) {
        if !self.report_mbarrier_deadlock(0)
            && !self.report_cluster_deadlock()
            && let Some(index) = self.running()
        {
            self.endless(index);
        }
    }

    fn endless(&mut self, index: usize) {
        let warp = &self.warps[index];
        let (instructions, pc) = (warp.executed, warp.current.pc);
        self.record(EndlessLoop { instructions }, pc, index);
    }

    /// Reports a deadlock at barrier objects: all remaining threads wait for phases that nobody can complete, and nothing has
    /// changed for `quota` instructions. False if there is none.
    fn report_mbarrier_deadlock(&mut self, quota: u64) -> bool {
        if self.state.mbarriers.is_empty() {
            return false;
        }
        let executed = self.executed();
        let Some(waiting) = self.state.mbarriers.deadlock(self.warps, executed, quota) else {
            return false;
        };
        for (pc, thread, lanes, kind) in waiting {
            self.state.log.record(kind, pc, thread, lanes);
        }
        true
    }

    /// Reports a deadlock at barriers: every remaining warp waits for others that cannot arrive.
    fn deadlock(&mut self) {
        let mut waiting =
            self.warps.iter().enumerate().filter_map(|(index, warp)| match warp.status {
                WarpStatus::Waiting(id) => Some((index, id, warp.current.pc - 1)),
                _ => None,
            });
        let Some((index, id, at)) = waiting.next() else { return };
        let other = waiting.find(|&(_, other, _)| other != id).map(|(.., at)| at);
        let other = other.and_then(|at| self.env.program.source_location(at)).cloned();
        self.record(BarrierDivergence { other }, at, index);
    }
}
