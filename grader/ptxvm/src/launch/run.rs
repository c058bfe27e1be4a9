//! One running launch: its blocks, their observers, and their results.

use super::Run;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::blocks::{Grid, ResidentBlock};
use super::config::Options;
use super::footprint::PeakFootprint;
use super::observers::{Checks, Observers, Records};
use super::work_limit::WorkLimit;
use crate::finding::Raw;
use crate::instruments::check::block_conflicts::{BlockConflicts, Conflicts};
use crate::instruments::check::global::races::GlobalRaces;
use crate::instruments::check::races::Races;
use crate::instruments::count::monitor::Counter;
use crate::instruments::touched::TouchMonitor;
use crate::instruments::trace::{TracedAccess, Tracer};
use crate::instruments::watchpoint::WatchpointMonitor;
use crate::isa::names::Pc;
use crate::lanes::index;
use crate::machine::block::{BlockStatus, InstructionQuota, WarpScheduler};
use crate::machine::child_launch::ChildLaunch;

/// The result of one block.
pub(super) struct BlockResult {
    pub index: u64,
    pub raw: Vec<Raw>,
    pub printed: String,
    pub trace: Vec<TracedAccess>,
    pub children: Vec<ChildLaunch>,
    /// Instruction and thread of the last write to the watched place.
    pub written: Option<(Pc, u32)>,
}

/// The results of all blocks.
pub(super) struct Results {
    pub blocks: Vec<BlockResult>,
    pub lane_instructions: u64,
    /// What these blocks have counted, if the launch is counted.
    pub counters: Option<Counter>,
}

/// Storage that one host thread reuses from block to block.
pub(super) type BlockStorage<'o> = ResidentBlock<Observers<'o>>;

impl<'r, 'e> Run<'r, 'e> {
    /// A launch that looks for mistakes if it is checked, and counts instructions and transfers if it is counted.
    pub fn new(grid: &'r Grid<'e>, options: &'r Options, checked: bool, counted: bool) -> Self {
        Self {
            grid,
            options,
            checked,
            counted,
            touched: options.touched.then(|| TouchMonitor::new(grid.env.memory)),
            stop: AtomicU64::new(u64::MAX),
            peak: PeakFootprint::default(),
            work: WorkLimit::new(options, grid.blocks(), grid.start.threads),
        }
    }

    /// Storage for blocks, with observers of its own. `conflicts`: those of all host threads.
    pub fn worker<'c>(&self, conflicts: Option<&'c Conflicts>) -> BlockStorage<'c> {
        let checks = self.checked.then(|| self.checks(conflicts));
        let records = self.counted.then(|| Records::counters(self.grid.env.program));
        self.grid.storage(Observers { checks, records })
    }

    fn checks<'c>(&self, conflicts: Option<&'c Conflicts>) -> Checks<'c> {
        let Grid { env, size, .. } = *self.grid;
        let global = GlobalRaces::new(size, conflicts.is_none());
        let in_block = |thread: [u32; 3]| (0..3).all(|axis| thread[axis] < env.block_size[axis]);
        let trace = self.options.trace.filter(|&(_, thread)| in_block(thread));
        Checks {
            races: Races::new(global, env.program.fenced),
            trace: trace.map(|(block, thread)| Tracer::new(block, index(thread, env.block_size))),
            watch: self.options.watch.map(WatchpointMonitor::new),
            touched: self.touched.clone(),
            conflicts: conflicts.map(BlockConflicts::new),
        }
    }

    /// Runs a block that has begun.
    pub fn run_block(&self, worker: &mut BlockStorage, quota: InstructionQuota) -> BlockStatus {
        let ResidentBlock { index, state, warps, barriers, .. } = worker;
        let stop = || self.stop.load(Relaxed) < *index;
        let before = (state.lane_instructions, state.printing);
        let ended =
            WarpScheduler { env: self.grid.env, state, warps }.run_for(barriers, quota, stop);
        self.work.note(*index, state.lane_instructions - before.0);
        self.work.note_printed(state.printing - before.1);
        if ended == BlockStatus::Endless {
            self.stop.fetch_min(*index, Relaxed);
        }
        ended
    }

    /// The quota of a block that runs by itself: limited if it may wait for another block.
    pub fn quota(&self) -> InstructionQuota {
        if self.grid.env.program.polls { self.long_quota() } else { InstructionQuota::UNLIMITED }
    }

    /// A quota that is far more than most blocks need, and soon spent.
    pub fn long_quota(&self) -> InstructionQuota {
        InstructionQuota {
            block: (1 << 20).min(self.grid.env.budget / 4),
            ..InstructionQuota::UNLIMITED
        }
    }

    /// Takes the result of a block that has ended; None if there is nothing to report.
    pub fn take_result(&self, worker: &mut BlockStorage) -> Option<BlockResult> {
        let ResidentBlock { index, state, .. } = worker;
        let mut result = BlockResult {
            index: *index,
            raw: std::mem::take(&mut state.log.raw),
            printed: std::mem::take(&mut state.printed),
            trace: Vec::new(),
            children: std::mem::take(&mut state.children.launched),
            written: None,
        };
        if let Some(Checks { trace, watch, .. }) = &mut state.monitor.checks {
            result.trace =
                trace.as_mut().map_or_else(Vec::new, |trace| trace.take(self.grid.env.program));
            result.written = watch.as_mut().and_then(WatchpointMonitor::take);
        }
        let silent = result.raw.is_empty()
            && result.printed.is_empty()
            && result.trace.is_empty()
            && result.children.is_empty()
            && result.written.is_none();
        (!silent).then_some(result)
    }
}
