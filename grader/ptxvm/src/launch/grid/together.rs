//! Blocks of a launch that take turns.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use super::{BlockResult, Footprint, Monitors, Run, Start, Worker, block_coordinates};
use crate::instruments::count::tally::Tally;
use crate::launch::residents::{FIRST_TURN, Resident, TURN, take_turns};
use crate::machine::block::{Barriers, Ended, Patience};
use crate::machine::exec::state::Env;
use crate::machine::monitor::Monitor;

impl Start {
    /// Puts a block at its beginning, in the storage of one that has ended.
    pub fn begin<M: Monitor>(
        &self,
        env: &Env,
        grid: [u32; 3],
        resident: &mut Resident<M>,
        index: u64,
    ) {
        let Resident { state, warps, barriers, .. } = resident;
        resident.index = index;
        *barriers = Barriers::default();
        state.begin(block_coordinates(index, grid), &self.shared);
        state.monitor.resume(index);
        state.monitor.block_start(self.shared_bytes, self.warps);
        for (warp, number) in warps.iter_mut().zip(0u32..) {
            let threads = (self.threads - number * 32).min(32);
            warp.restart(&self.registers, number, u32::MAX >> (32 - threads));
            self.vary(warp, env.block_size, state.coordinates);
        }
    }
}

impl Run<'_, '_> {
    /// How long a block may run alone: one that may wait for another must give it a turn.
    pub(super) fn patience(&self) -> Patience {
        if self.env.program.polls { self.long() } else { Patience::ENDLESS }
    }

    /// Far more than most blocks need, and soon over.
    pub(super) fn long(&self) -> Patience {
        Patience { block: (1 << 20).min(self.env.budget / 4), ..Patience::ENDLESS }
    }

    /// Runs blocks from `next` on, and one that has begun, several at a time. What they leave, their lane instructions, and
    /// what the tally has seen of them and of those before.
    pub(super) fn together<T: Tally>(
        &self,
        begun: Option<Worker<'static, T>>,
        storage: Worker<'static, T>,
        mut next: u64,
        blocks: u64,
    ) -> (Vec<BlockResult>, u64, T) {
        let mut common = self.worker::<T>(None).state.monitor;
        let mut residents: VecDeque<Worker<'static, T>> = begun.into_iter().collect();
        for resident in &mut residents {
            resident.state.monitor.exchange(&mut common);
        }
        let mut storage = Some(storage);
        let begin = |free: Option<Worker<'static, T>>, common: &mut Monitors<'static, T>| {
            if next == blocks {
                return None;
            }
            let mut worker = free.or_else(|| storage.take()).unwrap_or_else(|| self.worker(None));
            worker.state.monitor.exchange(common);
            self.start.begin(self.env, self.grid, &mut worker, next);
            worker.state.monitor.exchange(common);
            next += 1;
            Some(worker)
        };
        let (mut results, mut lane_instructions) = (Vec::new(), 0);
        let mut shared = 0;
        let end = |worker: &mut Worker<'static, T>, ended: Ended| {
            if ended == Ended::Endless {
                self.stop.fetch_min(worker.index, Relaxed);
            }
            lane_instructions += std::mem::take(&mut worker.state.lane_instructions);
            shared = shared.max(Footprint::of(worker).shared);
            results.extend(self.leavings(worker));
            ended != Ended::Endless
        };
        let first = if self.cooperative { TURN } else { FIRST_TURN };
        take_turns(self.env, &mut common, &mut residents, self.room, first, begin, end);
        let room = self.room.min(blocks) as usize;
        let global = common.0.0.global.most_bytes();
        self.most.note(Footprint { global, shared: shared * room });
        results.sort_by_key(|result: &BlockResult| result.index);
        (results, lane_instructions, common.1)
    }
}
