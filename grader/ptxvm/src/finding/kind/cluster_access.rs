//! An access of the shared memory of a block that is not there.

use crate::finding::check::{Check, Fault, Site, Words};

/// An access of the shared memory of another block of the cluster, which has none at that time.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterAccess {
    /// What is wrong with the other block.
    pub peer: PeerBlock,
    /// Its rank in the cluster.
    pub rank: u32,
}

/// Why a block has no shared memory that others may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerBlock {
    /// Nothing says that it has begun.
    NotBegun,
    /// It may have exited.
    Exited,
    /// The cluster has no block of this rank.
    NoSuchBlock,
}

impl Check for ClusterAccess {
    fn name(&self) -> &'static str {
        "cluster-access"
    }

    fn same(&self, other: &Self) -> bool {
        self.peer == other.peer
    }

    fn fault(&self) -> Option<Fault> {
        (self.peer == PeerBlock::NoSuchBlock).then_some(Fault::LaunchFailure)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let rank = self.rank;
        match self.peer {
            PeerBlock::NotBegun => {
                Words::new(format!("access of the shared memory of block {rank} of the cluster, which need not have begun"))
                    .help("a cluster.sync() must come before the first access of another block's shared memory")
            }
            PeerBlock::Exited => {
                Words::new(format!("access of the shared memory of block {rank} of the cluster, which may have exited"))
                    .help("a block may exit only when nobody accesses its shared memory any more: end the kernel with a cluster.sync()")
            }
            PeerBlock::NoSuchBlock => {
                Words::new("access of the shared memory of a block that the cluster does not have")
                    .help("ranks go from 0 to the number of blocks of the cluster less one; does the launch have the clusters that the kernel expects?")
            }
        }
    }
}
