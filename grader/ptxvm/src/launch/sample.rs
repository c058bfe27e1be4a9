//! A sample of the blocks of a launch, which shows within seconds that it would run for minutes.

use super::Run;
use super::blocks::ResidentBlock;
use super::schedule::{Schedule, mix};
use crate::machine::block::{BlockStatus, InstructionQuota, WarpScheduler};

/// Blocks of a sample. If less than a fourth of all blocks are far beyond their share, all of a sample are with a probability of
/// less than one in 65,000.
const SAMPLE: u64 = 8;
/// Launches with fewer blocks for each of the sample are not sampled: it would take as long as the launch.
const BLOCKS_FOR_EACH: u64 = 8;
/// Instructions of the warps of a block between two looks.
const SLICE: u64 = 1 << 14;

impl Run<'_, '_> {
    /// Runs a few blocks, taken from all parts of the grid, to see whether each is far beyond its share of the work limit: then the launch
    /// need not go on. Memory is as it was before.
    pub(super) fn sample(&self) -> bool {
        let (blocks, env) = (self.grid.blocks(), self.grid.env);
        // A block that waits for others would not get on here.
        if blocks < SAMPLE * BLOCKS_FOR_EACH || env.program.polls || !env.memory.heap.is_unused() {
            return false;
        }
        let before = env.memory.snapshot();
        let mut worker = self.worker(None);
        if let Some(checks) = &mut worker.state.monitor.checks {
            checks.touched = None;
        }
        let mut first = None;
        let far = self.work.far_beyond(blocks);
        let all = (0..SAMPLE).all(|part| {
            let start = part * (blocks / SAMPLE);
            let index = start + mix(part) % (blocks / SAMPLE);
            self.grid.begin(&mut worker, index, Schedule::Ascending);
            let begun = worker.state.lane_instructions;
            while worker.state.lane_instructions - begun <= far {
                let ResidentBlock { state, warps, barriers, .. } = &mut worker;
                let quota = InstructionQuota { block: SLICE, ..InstructionQuota::UNLIMITED };
                let mut scheduler = WarpScheduler { env, state, warps };
                if scheduler.run_for(barriers, quota, || false) != BlockStatus::Paused {
                    return false;
                }
            }
            let at = worker.warps.first().map_or(0, |warp| warp.current.pc);
            first.get_or_insert((worker.state.lane_instructions - begun, at));
            true
        });
        env.memory.restore(&before);
        if let (true, Some((lane_instructions, at))) = (all, first) {
            self.work.give_up(SAMPLE, lane_instructions, at);
        }
        all
    }
}
