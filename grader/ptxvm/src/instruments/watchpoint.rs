//! Watchpoints: which thread wrote a place in global memory last.

use crate::finding::{AccessKind, Log};
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;

/// A place in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    /// The buffer that is watched.
    pub buffer: BufferId,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes that are watched.
    pub size: u32,
}

/// The last write or atomic to a watched place.
#[derive(Clone, Debug, PartialEq)]
pub struct LastWriter {
    /// Coordinates of the block of the thread that wrote.
    pub block: [u32; 3],
    /// Its thread in the block.
    pub thread: [u32; 3],
    /// The source line of the write, if the PTX has line information.
    pub loc: Option<SourceLoc>,
}

/// Watches a place while a block runs.
#[derive(Debug)]
pub(crate) struct WatchpointMonitor {
    /// Address of the first byte, and of the first one behind.
    start: u64,
    end: u64,
    /// Instruction and index of the thread in the block.
    last: Option<(Pc, u32)>,
}

impl WatchpointMonitor {
    pub fn new(watch: Watchpoint) -> Self {
        let start = watch.buffer.address().wrapping_add(watch.offset);
        Self { start, end: start.wrapping_add(watch.size.into()), last: None }
    }

    /// The last write since the last call.
    pub fn take(&mut self) -> Option<(Pc, u32)> {
        self.last.take()
    }
}

impl Monitor for WatchpointMonitor {
    #[inline(always)]
    fn access(&mut self, event: &Event, _log: &mut Log) {
        if event.kind == AccessKind::Read || event.window != Window::Global {
            return;
        }
        for lane in lanes(event.done) {
            let at = event.addresses[lane];
            if at < self.end && at.wrapping_add(event.size.into()) > self.start {
                self.last = Some((event.pc, event.warp * 32 + lane as u32));
            }
        }
    }

    #[inline(always)]
    fn can_skip(&self, _reads: &WordReads) -> bool {
        true
    }
}
