//! How the blocks of a launch take turns.

use std::collections::VecDeque;

use super::blocks::{Grid, ResidentBlock};
use super::clusters::Clusters;
use crate::machine::block::{BlockStatus, InstructionQuota, LivelockDetector, WarpScheduler};
use crate::machine::exec::state::Env;
use crate::machine::monitor::Monitor;

/// The quota of an interleaved block: long enough that switching costs little, short enough that waiting costs little.
const TURN_QUOTA: InstructionQuota = InstructionQuota { block: 1 << 12, warp: 1 << 10 };
/// The first quota of a block that need not wait: most blocks have ended by then.
const FIRST_QUOTA: InstructionQuota = InstructionQuota { block: 1 << 16, warp: 1 << 10 };

/// Runs blocks interleaved until all have ended, as many at a time as there is room for. `residents` have begun already;
/// `next` begins another one, if there is one, in the storage that it is given. `end` takes the result of a block, and
/// decides whether the others run. What belongs to the launch and not to a block stays in `common` ([`Monitor::exchange`]).
pub(super) fn run_interleaved<M: Monitor>(
    grid: &Grid,
    common: &mut M,
    residents: &mut VecDeque<Box<ResidentBlock<M>>>,
    mut next: impl FnMut(Option<Box<ResidentBlock<M>>>, &mut M) -> Option<Box<ResidentBlock<M>>>,
    mut end: impl FnMut(&mut ResidentBlock<M>, BlockStatus) -> bool,
) {
    let env = grid.env;
    let room = match grid.cluster.blocks() {
        // As few clusters as can be, since each block keeps its memory.
        blocks if grid.has_clusters() && !grid.cooperative && !env.program.polls => blocks,
        blocks => grid.room.max(blocks),
    };
    let first = if grid.cooperative { TURN_QUOTA } else { FIRST_QUOTA };
    // Waiting must not use up what a block may spend.
    let first = InstructionQuota { block: first.block.min(env.budget / 4), ..first };
    let mut free = None;
    let mut more = true;
    let mut livelock = LivelockDetector::default();
    // Turns since a block did more than wait. When all have waited, none may leave its turn to others: it may wait for
    // something else than the words that it polls.
    let mut idle_turns = 0;
    let mut clusters = Clusters::new(grid);
    loop {
        let mut quota = TURN_QUOTA;
        if more && (residents.len() as u64) < room {
            match next(free.take(), common) {
                Some(resident) => {
                    residents.push_front(resident);
                    quota = first;
                }
                None => more = false,
            }
        }
        let Some(mut resident) = residents.pop_front() else { return };
        if idle_turns <= residents.len() && resident.rest(env) {
            residents.push_back(resident);
            idle_turns += 1;
            livelock = LivelockDetector::default();
            continue;
        }
        resident.state.monitor.exchange(common);
        resident.state.monitor.resume(resident.index);
        clusters.enter(&mut resident);
        let ResidentBlock { state, warps, barriers, .. } = &mut *resident;
        let ended = WarpScheduler { env, state, warps }.run_for(barriers, quota, || false);
        clusters.leave(&mut resident, ended);
        resident.state.monitor.exchange(common);
        if ended == BlockStatus::Idle {
            resident.rested = Some(0);
            idle_turns += 1;
        } else {
            resident.rested = None;
            idle_turns = 0;
            livelock = LivelockDetector::default();
        }
        if ended == BlockStatus::Paused {
            residents.push_back(resident);
        } else if ended == BlockStatus::Idle {
            residents.push_back(resident);
            let full = !more || residents.len() as u64 >= room;
            if full && livelock.is_certain(residents.len(), || fingerprint(env, residents)) {
                report_livelock(env, residents, &mut clusters, &mut end);
                return;
            }
        } else if end(&mut resident, ended) {
            free = Some(resident);
        } else {
            return;
        }
    }
}

/// A hash of all registers of the resident blocks.
fn fingerprint<M: Monitor>(env: &Env, residents: &mut VecDeque<Box<ResidentBlock<M>>>) -> u64 {
    // The order of the blocks is that of their turns.
    residents.iter_mut().fold(0, |all, resident| {
        let ResidentBlock { index, state, warps, .. } = &mut **resident;
        let print = WarpScheduler { env, state, warps }.fingerprint();
        all ^ (print ^ *index).wrapping_mul(2 * *index + 1)
    })
}

/// Reports that all blocks wait for each other, at the first of them.
fn report_livelock<M: Monitor>(
    env: &Env,
    residents: &mut VecDeque<Box<ResidentBlock<M>>>,
    clusters: &mut Clusters,
    end: &mut impl FnMut(&mut ResidentBlock<M>, BlockStatus) -> bool,
) {
    let Some(first) = residents.iter_mut().min_by_key(|resident| resident.index) else { return };
    clusters.enter(first);
    let ResidentBlock { state, warps, .. } = &mut **first;
    WarpScheduler { env, state, warps }.report_livelock();
    clusters.leave(first, BlockStatus::Endless);
    end(first, BlockStatus::Endless);
}
