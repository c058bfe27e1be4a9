//! Records the global accesses of one thread.

use crate::finding::{AccessKind, Log};
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::memory::buffer::BufferId;
use crate::program::code::Program;
use crate::source_loc::SourceLoc;

/// One access of a traced thread.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedAccess {
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// The buffer hit, if any.
    pub buffer: Option<BufferId>,
    /// Offset in it, in bytes (negative or past the end where it misses).
    pub offset: i64,
    /// Size of the access in bytes.
    pub size: u32,
    /// The source line of the access, if the PTX has line information.
    pub loc: Option<SourceLoc>,
}

/// Most accesses that are kept.
const LIMIT: usize = 1 << 20;

/// Watches one thread of one block.
#[derive(Debug)]
pub(crate) struct Tracer {
    block: [u32; 3],
    warp: u32,
    lane: u32,
    seen: Vec<(Pc, TracedAccess)>,
}

impl Tracer {
    /// `thread` is an index in the block.
    pub fn new(block: [u32; 3], thread: u32) -> Self {
        Self { block, warp: thread / 32, lane: thread % 32, seen: Vec::new() }
    }

    /// The accesses so far, with their lines.
    pub fn take(&mut self, program: &Program) -> Vec<TracedAccess> {
        let seen = std::mem::take(&mut self.seen);
        seen.into_iter()
            .map(|(pc, traced)| TracedAccess {
                loc: program.source_location(pc).cloned(),
                ..traced
            })
            .collect()
    }
}

impl Monitor for Tracer {
    #[inline(always)]
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if event.window != Window::Global
            || event.block != self.block
            || event.warp != self.warp
            || event.mask >> self.lane & 1 == 0
            || self.seen.len() >= LIMIT
        {
            return;
        }
        let address = event.addresses[self.lane as usize];
        let hit = event.memory.locate(address);
        let traced = TracedAccess {
            kind: event.kind,
            buffer: hit.map(|(buffer, _)| buffer),
            offset: hit.map_or(address as i64, |(_, offset)| offset),
            size: event.size,
            loc: None,
        };
        self.seen.push((event.pc, traced));
    }

    #[inline(always)]
    fn can_skip(&self, _reads: &WordReads) -> bool {
        false
    }
}
