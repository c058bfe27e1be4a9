//! A barrier of the cluster that is not used as it must be.

use crate::finding::check::{Check, Fault, Site, Words};
use crate::source_loc::SourceLoc;

/// A wrong use of the barrier of a cluster (PTX ISA 9.7.13.4).
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterBarrier {
    /// What is wrong.
    pub misuse: ClusterBarrierMisuse,
}

/// What is wrong with the use of a cluster's barrier.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterBarrierMisuse {
    /// A thread arrives again before it has waited.
    ArrivesTwice,
    /// A thread waits and has not arrived.
    WaitsWithoutArrival,
    /// Threads wait for others that can never arrive.
    NeverCompletes {
        /// Where a thread is that does not arrive, if it is one of the same block.
        other: Option<SourceLoc>,
    },
}

impl Check for ClusterBarrier {
    fn name(&self) -> &'static str {
        "cluster-barrier"
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn fault(&self) -> Option<Fault> {
        matches!(self.misuse, ClusterBarrierMisuse::NeverCompletes { .. }).then_some(Fault::Timeout)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        match &self.misuse {
            ClusterBarrierMisuse::ArrivesTwice => {
                Words::new("a thread arrives at the barrier of the cluster a second time")
                    .help("each barrier_arrive() needs a barrier_wait() before the next one")
            }
            ClusterBarrierMisuse::WaitsWithoutArrival => Words::new(
                "a thread waits at the barrier of the cluster, at which it has not arrived",
            )
            .help("each barrier_wait() needs a barrier_arrive() before it"),
            ClusterBarrierMisuse::NeverCompletes { other } => {
                Words::new("a barrier of the cluster that only a part of its threads reaches")
                    .label("some threads wait here forever")
                    .other(other.as_ref(), "others are here")
                    .help("all threads of all blocks of a cluster must reach each cluster.sync()")
            }
        }
    }
}
