//! What a warp does with the other blocks of its cluster: accesses of their shared memory, and the barrier.

use crate::finding::{ClusterAccess, ClusterBarrier, ClusterBarrierMisuse, PeerBlock};
use crate::isa::names::Pc;
use crate::isa::window::{RANK_SHIFT, Window};
use crate::machine::cluster::{Progress, by_number};
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;

/// The part of an address that is the place in its block's memory.
const PLACE: u64 = (1 << RANK_SHIFT) - 1;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Calls `visit` once for each block whose shared memory lanes point into. While it runs, the shared memory and the barrier
    /// objects of the state are those of that block.
    pub(super) fn each_block(
        &mut self,
        mask: u32,
        addresses: &[u64; 32],
        mut visit: impl FnMut(&mut Self, Window, u32, &[u64; 32]),
    ) {
        let places = addresses.map(|address| address & PLACE);
        for (number, lanes) in by_number(mask, |lane| addresses[lane] >> RANK_SHIFT) {
            // A number is a rank plus one.
            let rank = (number as usize).wrapping_sub(1);
            let progress = match &self.state.cluster {
                Some(cluster) if cluster.rank == rank => {
                    visit(self, Window::Shared, lanes, &places);
                    continue;
                }
                Some(cluster) => cluster.blocks.get(rank).map(|block| block.progress),
                None if rank == 0 => {
                    visit(self, Window::Shared, lanes, &places);
                    continue;
                }
                None => None,
            };
            if progress == Some(Progress::Begun) {
                self.exchange_memory(rank);
                visit(self, Window::Cluster, lanes, &places);
                self.exchange_memory(rank);
                continue;
            }
            let peer = match progress {
                None => PeerBlock::NoSuchBlock,
                Some(Progress::Exited) => PeerBlock::Exited,
                Some(_) => PeerBlock::NotBegun,
            };
            let pc = self.warp.current.pc;
            self.record(ClusterAccess { peer, rank: rank as u32 }, pc, lanes);
        }
    }

    /// Exchanges what other blocks may access with that of the block of this rank.
    fn exchange_memory(&mut self, rank: usize) {
        let Some(cluster) = &mut self.state.cluster else { return };
        if let Some(block) = cluster.blocks.get_mut(rank) {
            std::mem::swap(&mut block.shared, &mut self.state.shared);
            std::mem::swap(&mut block.mbarriers, &mut self.state.mbarriers);
            cluster.visited = if cluster.visited == rank { cluster.rank } else { rank };
        }
    }

    /// `barrier.cluster.arrive` of some lanes.
    pub(super) fn arrive_at_cluster(&mut self, pc: Pc, mask: u32, releases: bool) {
        let Some(cluster) = &mut self.state.cluster else { return };
        let (key, warp) = ((cluster.number, cluster.phase), cluster.warp(self.warp.index));
        let again = warp.owes & mask;
        warp.arrived |= mask;
        warp.owes |= mask;
        if releases {
            self.state.monitor.cluster_arrive(self.warp.index, mask, key);
        }
        if again != 0 {
            let misuse = ClusterBarrierMisuse::ArrivesTwice;
            self.record(ClusterBarrier { misuse }, pc, again);
        }
    }

    /// `barrier.cluster.wait` of some lanes. True if the phase is not over, so that others should run.
    pub(super) fn wait_for_cluster(&mut self, pc: Pc, mask: u32, acquires: bool) -> bool {
        let Some(cluster) = &mut self.state.cluster else { return false };
        let phase = cluster.phase;
        let (number, warp) = (cluster.number, cluster.warp(self.warp.index));
        if warp.arrived & mask != 0 {
            return true;
        }
        let unannounced = mask & !warp.owes;
        warp.owes &= !mask;
        if acquires && phase > 0 {
            let whole = mask == self.warp.live;
            self.state.monitor.cluster_wait(self.warp.index, whole, (number, phase - 1));
        }
        if unannounced != 0 {
            let misuse = ClusterBarrierMisuse::WaitsWithoutArrival;
            self.record(ClusterBarrier { misuse }, pc, unannounced);
        }
        false
    }
}
