//! The limits of what all blocks of a launch may execute and print together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::config::Options;
use crate::finding::{Finding, ThreadId, TooMuchOutput, TooMuchWork};
use crate::isa::ir::{Op, System};
use crate::isa::names::Pc;
use crate::program::code::Program;

/// Instructions that each thread may execute beside the limit, for those that have nothing to do.
const FOR_EACH_THREAD: u64 = 1 << 10;
/// A sampled block that executes so many times its share counts as far beyond it.
const BEYOND: u64 = 4;

/// How much a launch may execute, and has executed.
#[derive(Debug)]
pub(super) struct WorkLimit {
    /// In instructions, counted once for each active lane; so are the others.
    limit: u64,
    done: AtomicU64,
    /// In bytes, with a few for each call; so is what is granted.
    printed: AtomicU64,
    most_printed: u64,
    first_block: AtomicU64,
    exceeded: AtomicBool,
    cancelled: Option<Arc<AtomicBool>>,
    /// Blocks of a sample that decided.
    sampled: AtomicU64,
    /// Where the first of them was.
    at: AtomicU64,
}

impl WorkLimit {
    pub fn new(options: &Options, blocks: u64, threads: u32) -> Self {
        let idle = blocks.saturating_mul(threads.into()).saturating_mul(FOR_EACH_THREAD);
        let padded = options.element.of_launch(blocks, threads);
        Self {
            limit: options.work.saturating_add(idle).saturating_add(padded),
            done: AtomicU64::new(0),
            printed: AtomicU64::new(0),
            most_printed: options.printed,
            first_block: AtomicU64::new(0),
            exceeded: AtomicBool::new(false),
            cancelled: options.cancelled.clone(),
            sampled: AtomicU64::new(0),
            at: AtomicU64::new(0),
        }
    }

    /// Notes what a block has executed.
    pub fn note(&self, block: u64, lane_instructions: u64) {
        if block == 0 {
            self.first_block.fetch_add(lane_instructions, Relaxed);
        }
        let before = self.done.fetch_add(lane_instructions, Relaxed);
        if before.saturating_add(lane_instructions) > self.limit {
            self.exceeded.store(true, Relaxed);
        }
    }

    /// Notes what a block has printed.
    pub fn note_printed(&self, bytes: u64) {
        let before = self.printed.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > self.most_printed {
            self.exceeded.store(true, Relaxed);
        }
    }

    /// What has been printed so far.
    pub fn printed(&self) -> u64 {
        self.printed.load(Relaxed)
    }

    /// Goes back to what had been executed and printed, because the blocks from `first` on start again.
    pub fn restart(&self, first: u64, lane_instructions: u64, printed: u64) {
        if first == 0 {
            self.first_block.store(0, Relaxed);
        }
        self.done.store(lane_instructions, Relaxed);
        self.printed.store(printed, Relaxed);
    }

    /// What no block of a sample executes unless the launch will exceed the limit: several times a block's share, so that less than
    /// a fourth of the blocks can do as much in a launch that keeps to the limit.
    pub fn far_beyond(&self, blocks: u64) -> u64 {
        (self.limit / blocks.max(1)).saturating_mul(BEYOND)
    }

    /// Whether a block has executed so much that, if all are like it, the launch is far beyond the limit.
    pub fn is_in_doubt(&self, lane_instructions: u64, blocks: u64) -> bool {
        blocks > 1 && lane_instructions > self.far_beyond(blocks)
    }

    /// Notes that so many blocks of a sample are far beyond their share; the first of them has executed `lane_instructions` and is at
    /// `at`.
    pub fn give_up(&self, sampled: u64, lane_instructions: u64, at: Pc) {
        self.sampled.store(sampled, Relaxed);
        self.first_block.store(lane_instructions, Relaxed);
        self.at.store(at.into(), Relaxed);
        self.exceeded.store(true, Relaxed);
    }

    /// Whether no further block need run.
    pub fn is_over(&self) -> bool {
        self.is_exceeded() || self.cancelled.as_ref().is_some_and(|flag| flag.load(Relaxed))
    }

    /// Whether the launch has executed too much.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded.load(Relaxed)
    }

    /// What is reported of a launch of so many blocks with so many threads each: at the outermost loop that was running, or else at the
    /// first. It does not depend on how far each host thread came.
    pub fn finding(&self, program: &Program, blocks: u64, threads: u32) -> Finding {
        if self.printed.load(Relaxed) > self.most_printed {
            let prints = |op: &Op| matches!(op, Op::System(System::Printf { .. }));
            let pc = program.code.iter().position(|instr| prints(&instr.op)).unwrap_or(0);
            return Finding {
                kind: TooMuchOutput { limit: self.most_printed }.into(),
                loc: program.source_location(pc as u32).cloned(),
                thread: ThreadId { block: [0; 3], thread: [0; 3] },
                count: 1,
            };
        }
        let at = self.at.load(Relaxed) as usize;
        let loops = program.code.iter().enumerate().filter_map(|(pc, instr)| match &instr.op {
            Op::Branch { target, .. } if (*target as usize) <= pc => Some((*target as usize, pc)),
            _ => None,
        });
        let sampled = self.sampled.load(Relaxed);
        let running =
            loops.clone().filter(|(start, end)| sampled > 0 && (*start..=*end).contains(&at));
        let outermost = running.max_by_key(|(start, end)| end - start);
        let pc = outermost.or_else(|| loops.clone().next()).map_or(0, |(_, end)| end);
        let for_each = self.first_block.load(Relaxed) / u64::from(threads.max(1));
        let threads = blocks.saturating_mul(threads.into());
        Finding {
            kind: TooMuchWork { limit: self.limit, for_each, sampled, threads }.into(),
            loc: program.source_location(pc as u32).cloned(),
            thread: ThreadId { block: [0; 3], thread: [0; 3] },
            count: 1,
        }
    }
}
