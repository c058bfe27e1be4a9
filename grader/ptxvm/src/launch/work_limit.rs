//! The limit of what all blocks of a launch may execute together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::config::Options;
use crate::finding::{Finding, ThreadId, TooMuchWork};
use crate::isa::ir::Op;
use crate::program::code::Program;

/// Instructions that each thread may execute beside the limit, for those that have nothing to do.
const FOR_EACH_THREAD: u64 = 1 << 10;

/// How much a launch may execute, and has executed.
#[derive(Debug)]
pub(super) struct WorkLimit {
    /// In instructions, counted once for each active lane; so are the others.
    limit: u64,
    done: AtomicU64,
    first_block: AtomicU64,
    exceeded: AtomicBool,
}

impl WorkLimit {
    pub fn new(options: &Options, blocks: u64, threads: u32) -> Self {
        let threads = blocks.saturating_mul(threads.into());
        Self {
            limit: options.work.saturating_add(threads.saturating_mul(FOR_EACH_THREAD)),
            done: AtomicU64::new(0),
            first_block: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
        }
    }

    /// Notes what a block has executed.
    pub fn note(&self, block: u64, lane_instructions: u64) {
        if block == 0 {
            self.first_block.store(lane_instructions, Relaxed);
        }
        let before = self.done.fetch_add(lane_instructions, Relaxed);
        if before.saturating_add(lane_instructions) > self.limit {
            self.exceeded.store(true, Relaxed);
        }
    }

    /// Goes back to what had been executed, because later blocks start again.
    pub fn restart(&self, lane_instructions: u64) {
        self.done.store(lane_instructions, Relaxed);
    }

    /// Whether no further block need run.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.load(Relaxed)
    }

    /// What is reported of a launch of so many blocks with so many threads each, at its first loop. It does not depend on how far
    /// each host thread came.
    pub fn finding(&self, program: &Program, blocks: u64, threads: u32) -> Finding {
        let loops_back = |(pc, op): &(usize, &Op)| matches!(op, Op::Branch { target, .. } if (*target as usize) <= *pc);
        let mut ops = program.code.iter().map(|instr| &instr.op).enumerate();
        let pc = ops.find(loops_back).map_or(0, |(pc, _)| pc);
        let for_each = self.first_block.load(Relaxed) / u64::from(threads.max(1));
        let threads = blocks.saturating_mul(threads.into());
        Finding {
            kind: TooMuchWork { limit: self.limit, for_each, threads }.into(),
            loc: program.source_location(pc as u32).cloned(),
            thread: ThreadId { block: [0; 3], thread: [0; 3] },
            count: 1,
        }
    }
}
