//! How much memory the checks of a launch need.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::blocks::ResidentBlock;
use super::observers::Observers;

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
    pub(super) fn of(worker: &ResidentBlock<Observers>) -> Self {
        let flags = worker.state.shared.flag_bytes();
        let Some(checks) = &worker.state.monitor.checks else {
            return Self { global: 0, shared: flags };
        };
        let races = &checks.races;
        Self { global: races.global.most_bytes(), shared: races.shared_bytes() + flags }
    }
}

/// The largest footprint so far.
#[derive(Debug, Default)]
pub(super) struct PeakFootprint {
    global: AtomicUsize,
    shared: AtomicUsize,
}

impl PeakFootprint {
    /// Notes what one or more host threads need at a time.
    pub fn note(&self, footprint: Footprint) {
        self.global.fetch_max(footprint.global, Relaxed);
        self.shared.fetch_max(footprint.shared, Relaxed);
    }

    /// The largest footprint that was noted.
    pub fn get(&self) -> Footprint {
        Footprint { global: self.global.load(Relaxed), shared: self.shared.load(Relaxed) }
    }
}
