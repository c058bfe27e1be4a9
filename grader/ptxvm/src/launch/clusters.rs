//! The clusters that run: what their blocks share.

use std::collections::BTreeMap;

use super::blocks::{Grid, ResidentBlock};
use crate::lanes::index;
use crate::machine::block::BlockStatus;
use crate::machine::cluster::{Cluster, Progress};
use crate::machine::monitor::Monitor;

/// The clusters that run, none of whose blocks runs right now.
pub(super) struct Clusters<'g, 'e> {
    grid: &'g Grid<'e>,
    running: BTreeMap<u64, Box<Cluster>>,
}

impl<'g, 'e> Clusters<'g, 'e> {
    pub fn new(grid: &'g Grid<'e>) -> Self {
        Self { grid, running: BTreeMap::new() }
    }

    /// Lends a block, which is about to run, its cluster.
    pub fn enter<M: Monitor>(&mut self, resident: &mut ResidentBlock<M>) {
        let shape = self.grid.cluster;
        if !self.grid.has_clusters() {
            return;
        }
        let block = self.grid.coordinates(resident.index);
        let [x, y, z] = shape.of_block(block).map(u64::from);
        let [width, height, _] = shape.clusters(self.grid.size).map(u64::from);
        let number = (z * height + y) * width + x;
        let mut cluster = self
            .running
            .remove(&number)
            .unwrap_or_else(|| Box::new(Cluster::new(number, shape.blocks() as usize)));
        cluster.rank = index(shape.in_cluster(block), shape.size) as usize;
        cluster.visited = cluster.rank;
        let own = &mut cluster.blocks[cluster.rank];
        if own.progress == Progress::NotBegun {
            own.progress = Progress::Begun;
            note_live(&mut cluster, resident);
        } else {
            std::mem::swap(&mut own.shared, &mut resident.state.shared);
            std::mem::swap(&mut own.mbarriers, &mut resident.state.mbarriers);
        }
        resident.state.cluster = Some(cluster);
    }

    /// Takes the cluster back from a block that stops running.
    pub fn leave<M: Monitor>(&mut self, resident: &mut ResidentBlock<M>, ended: BlockStatus) {
        let Some(mut cluster) = resident.state.cluster.take() else { return };
        note_live(&mut cluster, resident);
        let own = &mut cluster.blocks[cluster.rank];
        if matches!(ended, BlockStatus::Paused | BlockStatus::Idle) {
            std::mem::swap(&mut own.shared, &mut resident.state.shared);
            std::mem::swap(&mut own.mbarriers, &mut resident.state.mbarriers);
        } else {
            own.progress = Progress::Exited;
        }
        cluster.complete_phase();
        if cluster.blocks.iter().any(|block| block.progress != Progress::Exited) {
            self.running.insert(cluster.number, cluster);
        } else {
            resident.state.monitor.cluster_end(cluster.number);
        }
    }
}

/// Notes which lanes of the block that runs have not exited.
fn note_live<M>(cluster: &mut Cluster, resident: &ResidentBlock<M>) {
    for warp in &resident.warps {
        let done = warp.status == crate::machine::warp::simt_stack::WarpStatus::Done;
        cluster.warp(warp.index).live = if done { 0 } else { warp.live };
    }
}
