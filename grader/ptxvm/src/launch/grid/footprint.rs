//! How much memory the checks of a launch need.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Run, Worker};
use crate::instruments::count::tally::Tally;

/// The most memory that the checks of a launch needed at a time, in bytes. What a GPU has too does not count: buffers, shared
/// and local memory, registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// For global memory: which bytes are defined, and who touched them; with several host threads also what was there before,
    /// and which block touched a word.
    pub global: usize,
    /// For the shared memory of all blocks that ran at a time.
    pub shared: usize,
}

impl Footprint {
    pub(super) fn add(&mut self, other: Self) {
        self.global += other.global;
        self.shared += other.shared;
    }

    /// What a block and those before it have needed.
    pub(super) fn of<T: Tally>(worker: &Worker<T>) -> Self {
        let races = &worker.state.monitor.0.0;
        Self {
            global: races.global.most_bytes(),
            shared: races.shared_bytes() + worker.state.shared.flag_bytes(),
        }
    }
}

/// The most that was seen so far.
#[derive(Debug, Default)]
pub(super) struct Most {
    global: AtomicUsize,
    shared: AtomicUsize,
}

impl Most {
    pub fn note(&self, footprint: Footprint) {
        self.global.fetch_max(footprint.global, Relaxed);
        self.shared.fetch_max(footprint.shared, Relaxed);
    }
}

impl Run<'_, '_> {
    pub(super) fn footprint(&self) -> Footprint {
        let flags = self.env.memory.flag_bytes();
        let (global, shared) = (self.most.global.load(Relaxed), self.most.shared.load(Relaxed));
        Footprint { global: flags + global, shared }
    }
}
