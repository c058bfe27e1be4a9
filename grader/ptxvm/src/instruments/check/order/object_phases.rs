//! What the phases of barrier objects (`mbarrier`) order between blocks: what threads know when they arrive, others know that have seen
//! the end of that phase (PTX ISA 9.7.13.15). [`super::phases`] has the clocks of the object's own block.

use super::vector_clock::{CountedNodes, VectorClock};
use crate::instruments::check::table::{Table, table_bytes};

/// What a thread knows, and may pass on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// What happened before.
    pub clock: VectorClock,
    /// What of it lies before fences: of device scope, and of any scope.
    pub device_scope: VectorClock,
    pub block_scope: VectorClock,
}

impl Knowledge {
    /// Adds what another thread knows.
    pub fn join(&mut self, other: &Self) {
        let Self { clock, device_scope, block_scope } = self;
        clock.join(&other.clock);
        device_scope.join(&other.device_scope);
        block_scope.join(&other.block_scope);
    }

    fn bytes(&self, counted: &mut CountedNodes) -> usize {
        let Self { clock, device_scope, block_scope } = self;
        [clock, device_scope, block_scope].map(|clock| clock.bytes(counted)).iter().sum()
    }
}

/// What one object releases.
#[derive(Debug, Default)]
struct Released {
    /// By the arrivals of the current phase.
    now: Knowledge,
    /// By those of all completed phases.
    before: Knowledge,
}

/// Barrier objects by address.
#[derive(Debug, Default)]
pub(crate) struct ObjectPhases(Table<Released>);

impl ObjectPhases {
    /// Prepares for a new block, which has no objects.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A thread arrives, and releases what it knows.
    pub fn arrive(&mut self, address: u64, knowledge: &Knowledge) {
        self.0.entry(address).or_default().now.join(knowledge);
    }

    /// The current phase is over.
    pub fn complete(&mut self, address: u64) {
        if let Some(Released { now, before }) = self.0.get_mut(&address) {
            before.join(&std::mem::take(now));
        }
    }

    /// What who has seen the end of a phase acquires.
    pub fn released(&self, address: u64) -> Option<&Knowledge> {
        self.0.get(&address).map(|released| &released.before)
    }

    /// The object is made anew, or unmade.
    pub fn forget(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// Memory that the clocks take, in bytes.
    pub fn bytes(&self, counted: &mut CountedNodes) -> usize {
        let known: usize = self
            .0
            .values()
            .map(|Released { now, before }| now.bytes(counted) + before.bytes(counted))
            .sum();
        table_bytes(&self.0) + known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::check::order::vector_clock::WarpClock;

    #[test]
    fn a_wait_acquires_from_completed_phases_of_its_object_alone() {
        let by = |block| {
            let warps = Box::new([WarpClock { all: 1, ..WarpClock::default() }]);
            Knowledge { clock: VectorClock::of(block, warps, 1), ..Knowledge::default() }
        };
        let mut objects = ObjectPhases::default();
        let learnt = |objects: &ObjectPhases, address| {
            let known = objects.released(address).map(|known| known.clock.clone());
            let knows = |block: &u32| known.as_ref().is_some_and(|c| !c.block(*block).is_empty());
            (1..4).filter(knows).collect::<Vec<_>>()
        };
        objects.arrive(64, &by(1));
        assert_eq!(learnt(&objects, 64), []);
        objects.complete(64);
        objects.arrive(64, &by(2));
        objects.arrive(72, &by(3));
        objects.complete(72);
        assert_eq!(learnt(&objects, 64), [1]);
        objects.complete(64);
        assert_eq!(learnt(&objects, 64), [1, 2]);
        objects.forget(64);
        assert_eq!(learnt(&objects, 64), []);
        assert_eq!(learnt(&objects, 72), [3]);
        assert!(objects.bytes(&mut CountedNodes::default()) > 0);
    }
}
