//! What every block of a launch starts from: shared memory, and registers with the values that the launch fixes.

use super::cluster_shape::ClusterShape;
use super::config::Launch;
use crate::isa::ir::{Special, Uniform};
use crate::isa::names::Slot;
use crate::lanes::{coordinates, index};
use crate::machine::exec::state::Env;
use crate::machine::registers::Registers;
use crate::machine::warp::Warp;
use crate::memory::buffer::BufferId;
use crate::memory::flat::Flat;
use crate::memory::lane_memory::LaneMemory;
use crate::memory::layout::Layout;
use crate::program::code::UniformSlot;
use crate::program::module::variable_address;

/// Shared memory is given to blocks in pieces of so many bytes (PTX ISA 10, `%total_smem_size`).
const SHARED_UNIT: u32 = 128;

/// The state that every block starts from.
pub(crate) struct InitialState {
    pub registers: Registers,
    pub shared: Flat,
    pub shared_bytes: u32,
    /// Registers that differ between blocks or warps.
    varying: Vec<(Special, Slot)>,
    cluster: ClusterShape,
    pub warps: u32,
    pub threads: u32,
}

impl InitialState {
    pub fn new(
        env: &Env,
        launch: &Launch,
        cluster: ClusterShape,
        shared: &Layout,
        first_variable: BufferId,
    ) -> Self {
        let threads = launch.threads();
        let mut start = Self {
            registers: Registers::undefined(env.program),
            shared_bytes: shared.used(),
            shared: Flat::undefined(shared, env.memory.unwritten),
            varying: Vec::new(),
            cluster,
            warps: threads.div_ceil(32),
            threads,
        };
        if let Some((first, size)) = env.program.zeroed_shared {
            for word in (first..first + size).step_by(4) {
                start.shared.set_word(word.into(), 0);
            }
        }
        let dynamic = shared.variables.last().map_or(0, |&(start, _)| start);
        for &(uniform, slot) in &env.program.uniforms {
            let slot = match slot {
                UniformSlot::Reg32(register) => Slot::Reg32(register),
                UniformSlot::Reg64(register) => Slot::Reg64(register),
            };
            let value = match uniform {
                Uniform::Bits(bits) => bits,
                Uniform::Param { offset, bytes } => param_value(env.params, offset, bytes),
                Uniform::Global(index, addend) => variable_address(first_variable, index, addend),
                Uniform::DynamicShared(addend) => u64::from(dynamic).wrapping_add_signed(addend),
                Uniform::Special(special) => {
                    let fixed = start.fixed(special, launch, shared.packed, env.workspace);
                    let Some(value) = fixed else {
                        start.varying.push((special, slot));
                        continue;
                    };
                    value.into()
                }
            };
            start.registers.fill(slot, value);
        }
        for lane in 0..32 {
            for index in 0..start.varying.len() {
                let (special, slot) = start.varying[index];
                if let Some(value) = of_lane(special, lane as u32) {
                    start.registers.set_lane(slot, lane, value.into());
                }
            }
        }
        start.varying.retain(|&(special, _)| of_lane(special, 0).is_none());
        start
    }

    /// Special registers that are the same for all threads of a launch.
    fn fixed(&self, special: Special, launch: &Launch, shared: u32, workspace: u64) -> Option<u32> {
        Some(match special {
            Special::Ntid(axis) => launch.block[usize::from(axis)],
            Special::Nctaid(axis) => launch.grid[usize::from(axis)],
            Special::ClusterNctaid(axis) => self.cluster.size[usize::from(axis)],
            Special::ClusterBlocks => self.cluster.blocks() as u32,
            Special::Nclusterid(axis) => self.cluster.clusters(launch.grid)[usize::from(axis)],
            Special::IsExplicitCluster => self.cluster.explicit.into(),
            Special::NWarpId => self.warps,
            Special::WarpSize => 32,
            Special::NSmId => 1,
            Special::DynamicSharedSize => launch.dynamic_shared,
            Special::TotalSharedSize => shared.next_multiple_of(SHARED_UNIT),
            Special::AggregateSharedSize => shared + hardware::NEWEST.reserved,
            Special::Environment(1) => (workspace >> 32) as u32,
            Special::Environment(2) => workspace as u32,
            Special::Environment(_) | Special::SmId | Special::GridId | Special::Zero => 0,
            _ => return None,
        })
    }

    /// Sets what differs between blocks and warps.
    pub fn vary(&self, warp: &mut Warp, block_size: [u32; 3], block: [u32; 3]) {
        let first = coordinates(warp.index * 32, block_size);
        let in_cluster = self.cluster.in_cluster(block);
        let (rank, cluster) = (index(in_cluster, self.cluster.size), self.cluster.of_block(block));
        for &(special, slot) in &self.varying {
            let value = match special {
                Special::Tid(axis) => {
                    let mut thread = first;
                    for lane in 0..32 {
                        let value = thread[usize::from(axis)];
                        warp.registers.set_lane(slot, lane, value.into());
                        step(&mut thread, block_size);
                    }
                    continue;
                }
                Special::Ctaid(axis) => block[usize::from(axis)],
                Special::ClusterRank => rank,
                Special::ClusterCtaid(axis) => in_cluster[usize::from(axis)],
                Special::Clusterid(axis) => cluster[usize::from(axis)],
                _ => warp.index,
            };
            warp.registers.fill(slot, value.into());
        }
    }
}

/// The coordinates of the thread that comes next.
fn step(thread: &mut [u32; 3], size: [u32; 3]) {
    let [x, y, z] = thread;
    *x += 1;
    if *x == size[0] {
        (*x, *y) = (0, *y + 1);
        if *y == size[1] {
            (*y, *z) = (0, *z + 1);
        }
    }
}

/// Special registers that are the same for all warps.
fn of_lane(special: Special, lane: u32) -> Option<u32> {
    let bit = 1 << lane;
    Some(match special {
        Special::LaneId => lane,
        Special::LaneMaskEq => bit,
        Special::LaneMaskLt => bit - 1,
        Special::LaneMaskLe => bit | (bit - 1),
        Special::LaneMaskGe => !(bit - 1),
        Special::LaneMaskGt => !(bit | (bit - 1)),
        _ => return None,
    })
}

/// The value of `bytes` bytes at an offset of the parameters.
pub(super) fn param_value(params: &Flat, offset: u32, bytes: u32) -> u64 {
    match params.check(0, offset.into(), bytes, false) {
        Ok(place) => params.get(0, place, bytes).0,
        Err(_) => 0,
    }
}
