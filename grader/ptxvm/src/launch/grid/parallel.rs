//! Blocks of a launch that several host threads share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::{BlockResult, Footprint, Run, Worker};
use crate::instruments::check::block_conflicts::{Conflicts, MAX_BLOCKS};
use crate::instruments::count::tally::Tally;
use crate::machine::block::{Ended, Patience};
use crate::memory::global::Buffer;

/// When the other host threads are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fork {
    /// Before the first block, of which nothing is known yet.
    AtOnce,
    /// When some blocks have shown how much there is to do.
    Later,
}

/// Why host threads did not share the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setback {
    /// The result could depend on which block comes first, or a block has stopped the launch.
    OrderMatters,
    /// There is one thread only, or a block may never end, which one thread finds out as soon as many.
    Alone,
}

/// Lane instructions for which the other host threads are worth waking: about a millisecond.
const FROM: u64 = 1 << 20;
/// The same before anything is known: instructions of all threads, each counted once for a thread.
const AT_ONCE_FROM: u64 = 1 << 22;

/// Lane instructions of the blocks to come, if they are like those so far.
fn expected(lane_instructions: u64, so_far: u64, blocks: u64) -> u64 {
    lane_instructions.checked_div(so_far).unwrap_or(0).saturating_mul(blocks - so_far)
}

impl Run<'_, '_> {
    /// Whether the blocks from `next` on are worth several host threads.
    pub(super) fn fork<T: Tally>(
        &self,
        next: u64,
        blocks: u64,
        so_far: &Worker<T>,
    ) -> Option<Fork> {
        if next > 0 {
            let expected = expected(so_far.state.lane_instructions, next, blocks);
            return (expected > FROM).then_some(Fork::Later);
        }
        let program = self.env.program;
        let threads = blocks.saturating_mul(self.start.threads.into());
        let instructions = threads.saturating_mul(program.code.len() as u64);
        // A block that may wait for another must not be alone on its thread.
        (!program.polls && instructions > AT_ONCE_FROM).then_some(Fork::AtOnce)
    }

    /// Host threads take the next block in turn. What these leave, their lane instructions, and what the tally has seen of them;
    /// or memory is as it was.
    pub(super) fn parallel<T: Tally>(
        &self,
        first: u64,
        blocks: u64,
        so_far: &Worker<T>,
        fork: Fork,
    ) -> Result<(Vec<BlockResult>, u64, T), Setback> {
        let threads = rayon::current_num_threads();
        if threads == 1 || blocks > MAX_BLOCKS {
            return Err(Setback::Alone);
        }
        let patience = match fork {
            Fork::AtOnce => self.long(),
            Fork::Later => Patience::ENDLESS,
        };
        let is_long = AtomicBool::new(false);
        let before = self.env.memory.snapshot();
        let conflicts = Conflicts::new(self.env.memory);
        let earlier = &so_far.state.monitor.0.0.global;
        conflicts.seed(earlier);
        let copies: usize = before.iter().flatten().map(Buffer::copy_bytes).sum();
        let global = earlier.bytes() + conflicts.bytes() + copies;
        let next = AtomicU64::new(first);
        // Neighbouring blocks mostly write to neighbouring places, which host threads had better not share.
        let chunk = |start: u64| ((blocks - start) / (8 * threads as u64)).clamp(1, 8);
        let take = |start: u64| (start < blocks).then(|| start + chunk(start));
        let collected =
            Mutex::new((Vec::new(), 0, T::new(self.env.program), Footprint { global, shared: 0 }));
        let work = || {
            let mut worker = self.worker::<T>(Some(&conflicts));
            let mut mine = Vec::new();
            while let Ok(start) = next.fetch_update(Relaxed, Relaxed, take) {
                for index in start..start + chunk(start) {
                    let over = index > self.stop.load(Relaxed);
                    if over || conflicts.found() || is_long.load(Relaxed) {
                        break;
                    }
                    self.start.begin(self.env, self.grid, &mut worker, index);
                    if let Some(order) = &mut worker.state.monitor.0.1.1.1 {
                        order.block = index as u32 + 1;
                    }
                    if self.run_block(&mut worker, patience) == Ended::Paused {
                        is_long.store(true, Relaxed);
                    }
                    mine.extend(self.leavings(&mut worker));
                }
            }
            if let Ok(mut all) = collected.lock() {
                all.3.add(Footprint::of(&worker));
                all.0.append(&mut mine);
                all.1 += worker.state.lane_instructions;
                all.2.add(worker.state.monitor.1);
            }
        };
        rayon::in_place_scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|_| work());
            }
            work();
        });
        let (mut found, lane_instructions, tally, footprint) =
            collected.into_inner().map_err(|_| Setback::Alone)?;
        self.most.note(footprint);
        // Where a block was stopped, how far the others came is chance.
        let order_matters = conflicts.found() || self.stop.load(Relaxed) != u64::MAX;
        if order_matters || is_long.load(Relaxed) {
            self.env.memory.restore(&before);
            self.stop.store(u64::MAX, Relaxed);
            return Err(if order_matters { Setback::OrderMatters } else { Setback::Alone });
        }
        found.sort_by_key(|result: &BlockResult| result.index);
        Ok((found, lane_instructions, tally))
    }
}
