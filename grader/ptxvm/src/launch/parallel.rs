//! Parallel execution: several host threads share the blocks of a launch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::Run;
use super::footprint::Footprint;
use super::observers::Checks;
use super::run::{BlockResult, BlockStorage, Results};
use super::schedule::Schedule;
use crate::instruments::check::block_conflicts::{Conflicts, MAX_BLOCKS};
use crate::instruments::count::monitor::Counter;
use crate::machine::block::{BlockStatus, InstructionQuota};
use crate::memory::buffer::Buffer;

/// When the other host threads start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForkPoint {
    /// Before the first block.
    AtOnce,
    /// When some blocks have shown how much there is to do.
    Later,
}

/// Why the host threads did not share the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParallelFailure {
    /// The result could depend on which block comes first, or a block has stopped the launch.
    OrderMatters,
    /// There is one thread only, or a block may never end, which one thread finds out as soon as many.
    Alone,
}

/// Lane instructions from which on it is worth starting the other host threads: about a tenth of a millisecond, several times as
/// much for matrix products and shared memory.
const FROM: u64 = 1 << 17;
/// The same before any launch of the kernel: instructions of all threads, each counted once for a thread.
const AT_ONCE_FROM: u64 = 1 << 22;

/// Lane instructions of the blocks to come, if they are like those so far.
fn expected(lane_instructions: u64, so_far: u64, blocks: u64) -> u64 {
    lane_instructions.checked_div(so_far).unwrap_or(0).saturating_mul(blocks - so_far)
}

impl Run<'_, '_> {
    /// Whether the blocks from `next` on are worth several host threads.
    pub(super) fn fork(&self, next: u64, so_far: &BlockStorage) -> Option<ForkPoint> {
        let blocks = self.grid.blocks();
        if next > 0 {
            let expected = expected(so_far.state.lane_instructions, next, blocks);
            return (expected > FROM).then_some(ForkPoint::Later);
        }
        let program = self.grid.env.program;
        let threads = blocks.saturating_mul(self.grid.start.threads.into());
        let instructions = threads.saturating_mul(program.code.len() as u64);
        let last = program.block_length.load(Relaxed);
        // Blocks as long as these would be stopped, and the launch begun again.
        let as_before = last < self.long_quota().block && last.saturating_mul(blocks) > FROM;
        // A block that may wait for another must not be alone on its thread.
        (!program.polls && (instructions > AT_ONCE_FROM || as_before)).then_some(ForkPoint::AtOnce)
    }

    /// Runs the blocks from `first` on in several host threads, which take the next ones in turn. If that fails, memory is as it
    /// was before.
    pub(super) fn parallel(
        &self,
        first: u64,
        so_far: &BlockStorage,
        fork: ForkPoint,
    ) -> Result<Results, ParallelFailure> {
        let (blocks, memory) = (self.grid.blocks(), self.grid.env.memory);
        let threads = rayon::current_num_threads().min(self.grid.room as usize);
        if threads == 1 || blocks > MAX_BLOCKS {
            return Err(ParallelFailure::Alone);
        }
        let quota = match fork {
            ForkPoint::AtOnce => self.long_quota(),
            ForkPoint::Later => InstructionQuota::UNLIMITED,
        };
        let is_long = AtomicBool::new(false);
        let before = memory.snapshot();
        let conflicts = Conflicts::new(memory);
        let mut global = conflicts.bytes();
        if let Some(Checks { races, .. }) = &so_far.state.monitor.checks {
            conflicts.seed(&races.global);
            global += races.global.bytes();
        }
        let copies: usize = before.iter().flatten().map(Buffer::copy_bytes).sum();
        let next = AtomicU64::new(first);
        // Neighbouring blocks mostly write to neighbouring places, which host threads had better not share.
        let chunk = |start: u64| ((blocks - start) / (8 * threads as u64)).clamp(1, 8);
        let take = |start: u64| (start < blocks).then(|| start + chunk(start));
        let results = Results {
            blocks: Vec::new(),
            lane_instructions: 0,
            counters: self.counted.then(|| Counter::new(self.grid.env.program)),
        };
        let collected = Mutex::new((results, Footprint { global: global + copies, shared: 0 }));
        let work = || {
            let mut worker = self.worker(Some(&conflicts));
            let mut mine = Vec::new();
            while let Ok(start) = next.fetch_update(Relaxed, Relaxed, take) {
                for index in start..start + chunk(start) {
                    let over = index > self.stop.load(Relaxed);
                    if over || self.work.is_over() || conflicts.found() || is_long.load(Relaxed) {
                        break;
                    }
                    self.grid.begin(&mut worker, index, Schedule::Ascending);
                    let before = worker.state.lane_instructions;
                    let ended = self.run_block(&mut worker, quota);
                    let own = worker.state.lane_instructions - before;
                    let in_doubt = fork == ForkPoint::AtOnce && self.work.is_in_doubt(own, blocks);
                    if ended == BlockStatus::Paused || in_doubt {
                        is_long.store(true, Relaxed);
                    }
                    mine.extend(self.take_result(&mut worker));
                }
            }
            if let Ok(mut all) = collected.lock() {
                let (results, footprint) = &mut *all;
                footprint.add(Footprint::of(&worker));
                results.blocks.append(&mut mine);
                results.lane_instructions += worker.state.lane_instructions;
                if let (Some(sum), Some(mine)) =
                    (&mut results.counters, worker.state.monitor.into_counters())
                {
                    sum.add(&mine);
                }
            }
        };
        rayon::in_place_scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| work());
            }
            work();
        });
        let (mut results, footprint) =
            collected.into_inner().map_err(|_| ParallelFailure::Alone)?;
        self.peak.note(footprint);
        // Where a block was stopped, how far the others came is chance.
        let order_matters = conflicts.found() || self.stop.load(Relaxed) != u64::MAX;
        if !self.work.is_over() && (order_matters || is_long.load(Relaxed)) {
            memory.restore(&before);
            self.stop.store(u64::MAX, Relaxed);
            return Err(if order_matters {
                ParallelFailure::OrderMatters
            } else {
                ParallelFailure::Alone
            });
        }
        results.blocks.sort_by_key(|result: &BlockResult| result.index);
        Ok(results)
    }
}
