//! The blocks of a cluster: the memory of those that do not run right now, and the barrier that all of them share.

use crate::lanes::lanes;
use crate::machine::mbarriers::Mbarriers;
use crate::memory::flat::Flat;

/// How far a block has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    #[default]
    NotBegun,
    Begun,
    Exited,
}

/// The lanes of a warp at the barrier of the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WarpAtBarrier {
    /// Lanes that have not exited; known when the block has stopped last.
    pub live: u32,
    /// Lanes that have arrived in this phase.
    pub arrived: u32,
    /// Lanes that have arrived and not waited since.
    pub owes: u32,
}

/// A block of the cluster. What others may access is here while it does not run; else it is in its `BlockState`.
#[derive(Debug, Default)]
pub(crate) struct ClusterBlock {
    pub progress: Progress,
    pub shared: Flat,
    pub mbarriers: Mbarriers,
    pub warps: Vec<WarpAtBarrier>,
}

/// A cluster, as the block that runs sees it.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Number of the cluster in the grid.
    pub number: u64,
    /// Rank of the block that runs.
    pub rank: usize,
    pub blocks: Vec<ClusterBlock>,
    /// Phases of the barrier that are over.
    pub phase: u64,
    /// Rank of the block whose memory the one that runs has right now, which is its own but for the time of an access elsewhere.
    pub visited: usize,
}

impl Cluster {
    pub fn new(number: u64, blocks: usize) -> Self {
        let blocks = std::iter::repeat_with(ClusterBlock::default).take(blocks).collect();
        Self { number, rank: 0, blocks, phase: 0, visited: 0 }
    }

    /// The warp of the block that runs.
    pub fn warp(&mut self, warp: u32) -> &mut WarpAtBarrier {
        let warps = &mut self.blocks[self.rank].warps;
        if warps.len() <= warp as usize {
            warps.resize(warp as usize + 1, WarpAtBarrier::default());
        }
        &mut warps[warp as usize]
    }

    /// Lets the barrier complete if all lanes of all blocks have arrived that have not exited (PTX ISA 9.7.13.4).
    pub fn complete_phase(&mut self) {
        let all = |block: &ClusterBlock| {
            block.progress != Progress::NotBegun
                && block.warps.iter().all(|warp| warp.live & !warp.arrived == 0)
        };
        let somebody = |block: &ClusterBlock| block.warps.iter().any(|warp| warp.arrived != 0);
        if self.blocks.iter().all(all) && self.blocks.iter().any(somebody) {
            self.phase += 1;
            for warp in self.blocks.iter_mut().flat_map(|block| &mut block.warps) {
                warp.arrived = 0;
            }
        }
    }
}

/// The lanes of a mask by a number of each.
pub(crate) fn by_number(mut mask: u32, number: impl Fn(usize) -> u64) -> Vec<(u64, u32)> {
    let mut groups = Vec::new();
    while mask != 0 {
        let first = number(mask.trailing_zeros() as usize);
        let same = lanes(mask).filter(|&lane| number(lane) == first);
        let same = same.fold(0, |all, lane| all | 1 << lane);
        mask &= !same;
        groups.push((first, same));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_all_that_are_left_have_arrived() {
        let mut cluster = Cluster::new(0, 2);
        for rank in 0..2 {
            cluster.rank = rank;
            cluster.blocks[rank].progress = Progress::Begun;
            cluster.warp(1).live = 0b11;
        }
        cluster.complete_phase();
        assert_eq!(cluster.phase, 0);
        cluster.warp(1).arrived = 0b11;
        cluster.rank = 0;
        cluster.warp(1).arrived = 0b01;
        cluster.complete_phase();
        assert_eq!(cluster.phase, 0);
        // The other lane exits.
        cluster.warp(1).live = 0b01;
        cluster.complete_phase();
        assert_eq!((cluster.phase, cluster.warp(1).arrived), (1, 0));
        cluster.complete_phase();
        assert_eq!(cluster.phase, 1);
    }

    #[test]
    fn lanes_are_grouped_by_number() {
        assert_eq!(by_number(0b1111, |lane| lane as u64 % 2), [(0, 0b0101), (1, 0b1010)]);
        assert_eq!(by_number(0, |_| 7), []);
    }
}
