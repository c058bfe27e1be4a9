//! What checkers and counters see of a run.
//!
//! The executor calls a [`Monitor`] and never asks what it does. The methods have empty bodies, and the executor is generic
//! over the monitor, so what is not watched costs nothing.

use crate::finding::{AccessKind, Log};
use crate::ir::Pc;
use crate::memory::Window;
use crate::memory::global::Memory;

/// One memory instruction of one warp.
pub(crate) struct Event<'a> {
    pub pc: Pc,
    pub kind: AccessKind,
    pub window: Window,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// Lanes that take part.
    pub mask: u32,
    /// Lanes whose access was valid and happened.
    pub done: u32,
    /// Addresses inside the window.
    pub addresses: &'a [u64; 32],
    pub block: [u32; 3],
    /// Index of the warp in its block.
    pub warp: u32,
    pub memory: &'a Memory,
}

/// Watches a block.
pub(crate) trait Monitor {
    /// A new block begins.
    fn block_start(&mut self, _shared_bytes: u32) {}
    /// A warp accesses memory.
    #[inline(always)]
    fn access(&mut self, _event: &Event, _log: &mut Log) {}
    /// The whole block has met at a barrier.
    fn barrier(&mut self) {}
}

/// Two monitors at once.
impl<A: Monitor, B: Monitor> Monitor for (A, B) {
    fn block_start(&mut self, shared_bytes: u32) {
        self.0.block_start(shared_bytes);
        self.1.block_start(shared_bytes);
    }

    #[inline(always)]
    fn access(&mut self, event: &Event, log: &mut Log) {
        self.0.access(event, log);
        self.1.access(event, log);
    }

    fn barrier(&mut self) {
        self.0.barrier();
        self.1.barrier();
    }
}

/// Watches nothing.
impl Monitor for () {}
