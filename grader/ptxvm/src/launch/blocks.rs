//! The blocks of a launch: how each begins, and how they run one after another.

use super::cluster_shape::ClusterShape;
use super::initial_state::InitialState;
use super::schedule::Schedule;
use crate::finding::SharedArray;
use crate::machine::block::{Barriers, BlockStatus, InstructionQuota, LONGEST_REST, WarpScheduler};
use crate::machine::exec::state::{BlockState, Env};
use crate::machine::monitor::Monitor;
use crate::machine::warp::Warp;

/// A resident block: a block in execution with all its state.
pub(crate) struct ResidentBlock<M> {
    pub index: u64,
    pub state: BlockState<M>,
    pub warps: Vec<Warp>,
    pub barriers: Barriers,
    /// If all its warps did nothing but wait for other blocks in its last turn: how many turns it has left to others since.
    pub rested: Option<u32>,
}

impl<M> ResidentBlock<M> {
    /// Leaves the turn of a block to others if all its warps waited in its last one, and the words that they poll are unchanged.
    /// It runs now and then nevertheless, because it may wait for something else as well.
    pub fn rest(&mut self, env: &Env) -> bool {
        let Some(rested) = self.rested.filter(|&rested| rested < LONGEST_REST) else {
            return false;
        };
        let rests = self.state.polled.are_unchanged(u32::MAX, env.memory, &self.state.shared);
        if rests {
            self.rested = Some(rested + 1);
        }
        rests
    }
}

/// The blocks of a launch.
pub(crate) struct Grid<'e> {
    pub env: &'e Env<'e>,
    pub start: InitialState,
    /// The arrays in a block's shared memory, as far as they have one name.
    pub shared_arrays: Vec<SharedArray>,
    /// Blocks in x, y, z.
    pub size: [u32; 3],
    /// Blocks that the device has room for at once.
    pub room: u64,
    /// All blocks must run at once.
    pub cooperative: bool,
    pub cluster: ClusterShape,
}

impl Grid<'_> {
    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.size.iter().map(|&count| u64::from(count)).product()
    }

    /// Whether the blocks run with the rest of their clusters.
    pub fn has_clusters(&self) -> bool {
        self.cluster.blocks() > 1 || self.env.program.cluster.waits
    }

    /// The coordinates of a block, of which x runs fastest.
    pub fn coordinates(&self, index: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.size[0]), u64::from(self.size[1]));
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }

    /// Storage for a block that has not begun.
    pub fn storage<M>(&self, monitor: M) -> ResidentBlock<M> {
        let (program, warps) = (self.env.program, self.start.warps);
        let unwritten = self.env.memory.unwritten;
        ResidentBlock {
            index: 0,
            state: BlockState::new(warps, monitor),
            warps: (0..warps).map(|_| Warp::new(program, unwritten)).collect(),
            barriers: Barriers::default(),
            rested: None,
        }
    }

    /// Begins a block, in the storage of one that has ended. Its warps run in the order of the schedule.
    pub fn begin<M: Monitor>(
        &self,
        resident: &mut ResidentBlock<M>,
        index: u64,
        schedule: Schedule,
    ) {
        let ResidentBlock { state, warps, barriers, .. } = resident;
        resident.index = index;
        resident.rested = None;
        *barriers = Barriers::default();
        state.begin(self.coordinates(index), &self.start.shared);
        state.monitor.resume(index);
        state.monitor.block_start(self.start.shared_bytes, self.start.warps);
        // A warp knows its number; its position in the list is its turn.
        for (warp, turn) in warps.iter_mut().zip(0u64..) {
            let number = schedule.at(turn, self.start.warps.into()) as u32;
            let threads = (self.start.threads - number * 32).min(32);
            warp.restart(&self.start.registers, number, u32::MAX >> (32 - threads));
            self.start.vary(warp, self.env.block_size, state.coordinates);
        }
    }

    /// Runs the blocks that are `wanted` one after another, each to its end, in the order of the schedule. After each block
    /// `goes_on` decides whether the others run.
    pub fn run_sequentially<M: Monitor>(
        &self,
        monitor: M,
        schedule: Schedule,
        wanted: impl Fn([u32; 3]) -> bool,
        mut goes_on: impl FnMut(&mut BlockState<M>, BlockStatus) -> bool,
    ) {
        let mut resident = self.storage(monitor);
        let order = (0..self.blocks()).map(|position| schedule.at(position, self.blocks()));
        for index in order.filter(|&index| wanted(self.coordinates(index))) {
            self.begin(&mut resident, index, schedule);
            let ResidentBlock { state, warps, .. } = &mut resident;
            let ended = WarpScheduler { env: self.env, state, warps }.run(|| false);
            state.printed.clear();
            if !goes_on(state, ended) {
                return;
            }
        }
    }

    /// Runs one block to its end.
    pub fn run_alone<M: Monitor>(
        &self,
        resident: &mut ResidentBlock<M>,
        index: u64,
        quota: InstructionQuota,
    ) -> BlockStatus {
        self.begin(resident, index, Schedule::Ascending);
        let ResidentBlock { state, warps, barriers, .. } = resident;
        WarpScheduler { env: self.env, state, warps }.run_for(barriers, quota, || false)
    }
}
