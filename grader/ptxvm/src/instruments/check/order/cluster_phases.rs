//! What the threads of a cluster have released to each other with the phases of its barrier.

use std::collections::BTreeMap;

use super::vector_clock::VectorClock;

/// The clocks of the last two phases of each cluster: a thread may arrive in the next one while others still wait.
#[derive(Debug, Default)]
pub(crate) struct ClusterPhases(BTreeMap<u64, [(u64, VectorClock); 2]>);

impl ClusterPhases {
    /// A thread arrives in a phase of a cluster; `clock` is what it has done, and knows.
    pub fn arrive(&mut self, (cluster, phase): (u64, u64), clock: &VectorClock) {
        let (of, all) = &mut self.0.entry(cluster).or_default()[phase as usize % 2];
        if *of != phase {
            (*of, *all) = (phase, VectorClock::default());
        }
        all.join(clock);
    }

    /// What was released with a phase, if it is one of the last two.
    pub fn get(&self, (cluster, phase): (u64, u64)) -> Option<&VectorClock> {
        let (of, all) = &self.0.get(&cluster)?[phase as usize % 2];
        (*of == phase).then_some(all)
    }
}
