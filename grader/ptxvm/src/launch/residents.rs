//! Several blocks at once: one after another gets a turn, so that each may wait for any other.

use std::collections::VecDeque;

use crate::machine::block::{Barriers, Ended, Patience, Stalled, Turns};
use crate::machine::exec::state::{BlockState, Env};
use crate::machine::monitor::Monitor;
use crate::machine::warp::state::Warp;
use crate::program::code::Program;

/// A turn of a block: long enough that changing over costs little, short enough that waiting costs little.
pub(crate) const TURN: Patience = Patience { block: 1 << 12, warp: 1 << 10 };
/// The first turn of a block that need not wait: most have ended by then.
pub(crate) const FIRST_TURN: Patience = Patience { block: 1 << 16, warp: 1 << 10 };

/// A block with all that it needs to go on.
pub(crate) struct Resident<M> {
    pub index: u64,
    pub state: BlockState<M>,
    pub warps: Vec<Warp>,
    pub barriers: Barriers,
}

impl<M> Resident<M> {
    /// Storage for a block of so many warps.
    pub fn new(program: &Program, warps: u32, monitor: M) -> Self {
        let state = BlockState::new(warps, monitor);
        let warps = (0..warps).map(|_| Warp::new(program)).collect();
        Self { index: 0, state, warps, barriers: Barriers::default() }
    }
}

/// A number that changes when a register of a thread does.
fn fingerprint<M: Monitor>(env: &Env, residents: &mut VecDeque<Resident<M>>) -> u64 {
    // The order of the blocks is that of their turns.
    residents.iter_mut().fold(0, |all, Resident { index, state, warps, .. }| {
        let print = Turns { env, state, warps }.fingerprint();
        all ^ (print ^ *index).wrapping_mul(2 * *index + 1)
    })
}

/// All blocks wait for each other: the first one is told of.
fn wait_in_vain<M: Monitor>(
    env: &Env,
    residents: &mut VecDeque<Resident<M>>,
    end: &mut impl FnMut(&mut Resident<M>, Ended) -> bool,
) {
    let Some(first) = residents.iter_mut().min_by_key(|resident| resident.index) else { return };
    let Resident { state, warps, .. } = &mut *first;
    Turns { env, state, warps }.waits_in_vain();
    end(first, Ended::Endless);
}

/// Runs blocks until all have ended, `room` of them at a time. `residents` have begun already; `next` begins another one, if
/// there is one, in the storage that is given; its first turn is as long as `first`. `end` takes what a block leaves, and says whether others need still run.
pub(crate) fn take_turns<M: Monitor>(
    env: &Env,
    common: &mut M,
    residents: &mut VecDeque<Resident<M>>,
    room: u64,
    first: Patience,
    mut next: impl FnMut(Option<Resident<M>>, &mut M) -> Option<Resident<M>>,
    mut end: impl FnMut(&mut Resident<M>, Ended) -> bool,
) {
    // Waiting must not use up what a block may spend.
    let first = Patience { block: first.block.min(env.budget / 4), ..first };
    let mut free = None;
    let mut more = true;
    let mut stalled = Stalled::default();
    loop {
        let mut patience = TURN;
        if more && (residents.len() as u64) < room {
            match next(free.take(), common) {
                Some(resident) => {
                    residents.push_front(resident);
                    patience = first;
                }
                None => more = false,
            }
        }
        let Some(mut resident) = residents.pop_front() else { return };
        resident.state.monitor.exchange(common);
        resident.state.monitor.resume(resident.index);
        let Resident { state, warps, barriers, .. } = &mut resident;
        let ended = Turns { env, state, warps }.run_for(barriers, patience, || false);
        resident.state.monitor.exchange(common);
        if ended != Ended::Idle {
            stalled = Stalled::default();
        }
        if ended == Ended::Paused {
            residents.push_back(resident);
        } else if ended == Ended::Idle {
            residents.push_back(resident);
            let full = !more || residents.len() as u64 >= room;
            if full && stalled.is_certain(residents.len(), || fingerprint(env, residents)) {
                wait_in_vain(env, residents, &mut end);
                return;
            }
        } else if end(&mut resident, ended) {
            free = Some(resident);
        } else {
            return;
        }
    }
}
