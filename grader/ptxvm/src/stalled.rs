//! Tells when threads that do nothing but spin will do so for ever.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::warp::{Warp, lanes};

/// Turns of each between two looks.
const BETWEEN: usize = 4;
/// Where lanes step back: rounds in which they stop at different places, followed by as many in which each stops at the same one.
const PHASE: u32 = 16;
/// The first of those are not looked at.
const SETTLES: u32 = 4;
/// Rounds that were looked at and brought nothing new, after which nothing else is believed to come.
const CERTAIN: u32 = 2 * (PHASE - SETTLES);
/// States that are kept at most.
const STATES: usize = 1 << 20;

/// Tells when all wait for each other in loops: each has come back to where it was, again and again, and no register has changed.
#[derive(Debug, Default)]
pub(crate) struct Stalled {
    turns: usize,
    fingerprint: Option<u64>,
    /// Where lanes step back: rounds so far, and those that were looked at without a new state since there was one.
    rounds: u32,
    same: u32,
    states: HashSet<u64>,
}

impl Stalled {
    /// After one more turn in which one of `all` did nothing but wait, and each one before it. True if that will not change.
    /// `each` comes by all warps, with their blocks.
    pub fn is_certain(
        &mut self,
        all: usize,
        mut each: impl FnMut(&mut dyn FnMut(u64, &mut Warp)),
    ) -> bool {
        self.turns += 1;
        if !self.turns.is_multiple_of(all) {
            return false;
        }
        let mut steps_back = false;
        each(&mut |_, warp| steps_back |= warp.spin.steps_back);
        if steps_back {
            self.turns = 0;
            self.fingerprint = None;
            return self.nothing_new(each);
        }
        if self.turns < BETWEEN * all {
            return false;
        }
        self.turns = 0;
        let mut now = 0;
        // The order of the blocks is that of their turns.
        each(&mut |block, warp| now ^= fingerprint(block, warp));
        self.fingerprint.replace(now) == Some(now)
    }

    /// After a round of lanes that step back.
    fn nothing_new(&mut self, mut each: impl FnMut(&mut dyn FnMut(u64, &mut Warp))) -> bool {
        let looks = self.rounds % (2 * PHASE) >= PHASE + SETTLES;
        self.rounds += 1;
        let calm = self.rounds % (2 * PHASE) >= PHASE;
        let mut news = false;
        each(&mut |block, warp| {
            warp.spin.stops.calm = calm;
            if looks {
                for lane in lanes(warp.live) {
                    news |= self.states.insert(state(block, warp, lane));
                }
            }
        });
        if self.states.len() > STATES {
            self.states.clear();
        }
        self.same = if news { 0 } else { self.same + u32::from(looks) };
        self.same >= CERTAIN
    }
}

/// A number that changes when a register of a thread does.
fn fingerprint(block: u64, warp: &Warp) -> u64 {
    let mut hasher = DefaultHasher::new();
    let registers = &warp.registers;
    (block, warp.index, &registers.r, &registers.q, &registers.p).hash(&mut hasher);
    hasher.finish()
}

/// A number for a lane and all that its registers hold.
fn state(block: u64, warp: &Warp, lane: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (block, warp.index, lane).hash(&mut hasher);
    let registers = &warp.registers;
    registers.r.iter().for_each(|row| row.0[lane].hash(&mut hasher));
    registers.q.iter().for_each(|row| row.0[lane].hash(&mut hasher));
    registers.p.iter().for_each(|row| (row >> lane & 1).hash(&mut hasher));
    hasher.finish()
}
