//! Drives a launch: block after block, by several host threads where the result allows it, and interleaved where blocks wait
//! for each other.

use std::sync::atomic::Ordering::Relaxed;

use super::Run;
use super::footprint::Footprint;
use super::outcome::Outcome;
use super::parallel::{ForkPoint, ParallelFailure};
use super::run::{BlockStorage, Results};
use super::schedule::Schedule;
use crate::instruments::count::monitor::Counter;
use crate::machine::block::BlockStatus;
use crate::machine::exec::state::BlockState;

impl Run<'_, '_> {
    /// Runs all blocks. Returns the outcome, the counters if there are any, and whether a block did not end.
    pub(super) fn all(&self) -> (Outcome, Option<Counter>, bool) {
        let Results { blocks, lane_instructions, counters } = self.results();
        let endless = self.stop.load(Relaxed) != u64::MAX || self.work.is_over();
        let mut outcome = self.merged(blocks, lane_instructions);
        if self.work.is_exceeded() {
            // Which blocks have run, and found something, is chance.
            let (blocks, threads) = (self.grid.blocks(), self.grid.start.threads);
            outcome.findings = vec![self.work.finding(self.grid.env.program, blocks, threads)];
        }
        (outcome, counters, endless)
    }

    fn results(&self) -> Results {
        let grid = self.grid;
        let blocks = grid.blocks();
        let mut worker = self.worker(None);
        if grid.cooperative || grid.has_clusters() {
            return self.interleaved(None, worker, 0);
        }
        let mut results = Vec::new();
        let mut next = 0;
        // What an attempt in parallel has touched cannot be taken back.
        let mut may_fork = self.checked
            && self.touched.is_none()
            && !grid.env.program.ordered
            && grid.env.memory.heap.is_unused();
        let mut order_matters = false;
        while next < blocks && next <= self.stop.load(Relaxed) && !self.work.is_over() {
            if may_fork && let Some(fork) = self.fork(next, &worker) {
                if fork == ForkPoint::Later {
                    may_fork = false;
                    if let Some(checks) = &mut worker.state.monitor.checks {
                        checks.races.global.make_room(grid.env.memory);
                    }
                }
                if !order_matters {
                    let printed = self.work.printed();
                    match self.parallel(next, &worker, fork) {
                        Ok(rest) => {
                            results.extend(rest.blocks);
                            worker.state.lane_instructions += rest.lane_instructions;
                            worker.state.monitor.add(rest.counters.as_ref());
                            break;
                        }
                        Err(failure) => {
                            let executed = worker.state.lane_instructions;
                            self.work.restart(next, executed, printed);
                            order_matters = failure == ParallelFailure::OrderMatters;
                        }
                    }
                }
            }
            grid.begin(&mut worker, next, Schedule::Ascending);
            next += 1;
            let ended = if next == 1 {
                self.run_first_block(&mut worker)
            } else {
                self.run_block(&mut worker, self.quota())
            };
            if matches!(ended, BlockStatus::Paused | BlockStatus::Idle) {
                let storage = self.worker(None);
                let rest = self.interleaved(Some(worker), storage, next);
                results.extend(rest.blocks);
                return Results { blocks: results, ..rest };
            }
            results.extend(self.take_result(&mut worker));
        }
        self.peak.note(Footprint::of(&worker));
        let BlockState { lane_instructions, monitor, .. } = worker.state;
        // Where the order of blocks mattered, it will matter again.
        let length = if order_matters { 0 } else { lane_instructions / blocks.max(1) };
        grid.env.program.block_length.store(length, Relaxed);
        Results { blocks: results, lane_instructions, counters: monitor.into_counters() }
    }

    /// Runs the first block, which has begun. If it is a long one, a sample of the others decides whether the launch goes on.
    fn run_first_block(&self, worker: &mut BlockStorage) -> BlockStatus {
        if self.grid.env.program.polls {
            return self.run_block(worker, self.quota());
        }
        let ended = self.run_block(worker, self.long_quota());
        let long = ended == BlockStatus::Paused
            || self.work.is_in_doubt(worker.state.lane_instructions, self.grid.blocks());
        if long && self.sample() {
            return BlockStatus::Stopped;
        }
        match ended {
            BlockStatus::Paused | BlockStatus::Idle => self.run_block(worker, self.quota()),
            ended => ended,
        }
    }
}
