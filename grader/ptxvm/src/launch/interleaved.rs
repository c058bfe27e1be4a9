//! Interleaved execution of blocks, because some of them wait for others.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use super::Run;
use super::footprint::Footprint;
use super::observers::Observers;
use super::run::{BlockResult, BlockStorage, Results};
use super::schedule::Schedule;
use super::turns::run_interleaved;
use crate::machine::block::BlockStatus;
use crate::machine::monitor::Monitor;

impl Run<'_, '_> {
    /// Runs the blocks from `next` on, and one that has begun, several at a time. The counters include those of the blocks before.
    pub(super) fn interleaved(
        &self,
        begun: Option<BlockStorage<'static>>,
        storage: BlockStorage<'static>,
        mut next: u64,
    ) -> Results {
        let blocks = self.grid.blocks();
        let mut common = self.worker(None).state.monitor;
        // In boxes, because blocks that wait are passed over again and again.
        let mut residents: VecDeque<Box<BlockStorage<'static>>> =
            begun.into_iter().map(Box::new).collect();
        for resident in &mut residents {
            resident.state.monitor.exchange(&mut common);
            // That is noted.
            resident.state.printing = 0;
        }
        let mut storage = Some(Box::new(storage));
        let begin = |free: Option<Box<BlockStorage<'static>>>, common: &mut Observers<'static>| {
            if next == blocks {
                return None;
            }
            let mut worker =
                free.or_else(|| storage.take()).unwrap_or_else(|| Box::new(self.worker(None)));
            worker.state.monitor.exchange(common);
            let index = self.grid.cluster.block_at(next, self.grid.size);
            self.grid.begin(&mut worker, index, Schedule::Ascending);
            worker.state.monitor.exchange(common);
            next += 1;
            Some(worker)
        };
        let (mut results, mut lane_instructions) = (Vec::new(), 0);
        let mut shared = 0;
        let end = |worker: &mut BlockStorage<'static>, ended: BlockStatus| {
            if ended == BlockStatus::Endless {
                self.stop.fetch_min(worker.index, Relaxed);
            }
            self.work.note_printed(worker.state.printing);
            lane_instructions += std::mem::take(&mut worker.state.lane_instructions);
            shared = shared.max(Footprint::of(worker).shared);
            results.extend(self.take_result(worker));
            ended != BlockStatus::Endless && !self.work.is_exceeded()
        };
        run_interleaved(self.grid, &mut common, &mut residents, begin, end);
        let room = self.grid.room.min(blocks) as usize;
        let global = common.checks.as_ref().map_or(0, |checks| checks.races.global.most_bytes());
        self.peak.note(Footprint { global, shared: shared * room });
        results.sort_by_key(|result: &BlockResult| result.index);
        Results { blocks: results, lane_instructions, counters: common.into_counters() }
    }
}
