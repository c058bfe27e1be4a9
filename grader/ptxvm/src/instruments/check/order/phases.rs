//! What the phases of barrier objects (`mbarrier`) order inside a block: what a warp did before it arrived happens before
//! what another does after it has seen the end of that phase (PTX ISA 9.7.13.15: `arrive` releases, `test_wait` acquires).

use std::collections::HashMap;

use crate::instruments::check::clocks::Clocks;
use crate::machine::monitor::MbarrierEvent;

/// The clocks that one object releases.
#[derive(Debug)]
struct ReleasedClocks {
    /// Released by the arrivals of the current phase.
    now: Vec<u32>,
    /// Released by the arrivals of all completed phases.
    before: Vec<u32>,
}

/// The barrier objects of a block, by address.
#[derive(Debug, Default)]
pub(crate) struct Phases(HashMap<u64, ReleasedClocks>);

/// The join of two clocks: the later ones.
fn join(to: &mut [u32], from: &[u32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from.max(*to);
    }
}

impl Phases {
    /// Prepares for a new block, which has no objects.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Memory that the clocks take, in bytes.
    pub fn bytes(&self) -> usize {
        let rows = |ReleasedClocks { now, before }: &ReleasedClocks| {
            size_of_val(&**now) + size_of_val(&**before)
        };
        let table = self.0.capacity() * size_of::<(u64, ReleasedClocks)>();
        table + self.0.values().map(rows).sum::<usize>()
    }

    /// Follows an operation of a warp on an object. If lanes acquire, the clock up to which they have acquired what others of their warp
    /// released.
    pub fn step(&mut self, step: MbarrierEvent, warp: usize, clocks: &mut Clocks) -> Option<u32> {
        match step {
            MbarrierEvent::Arrive(address) => {
                let none =
                    || ReleasedClocks { now: vec![0; clocks.len()], before: vec![0; clocks.len()] };
                join(&mut self.0.entry(address).or_insert_with(none).now, &clocks[warp]);
            }
            MbarrierEvent::Complete(address) => {
                if let Some(ReleasedClocks { now, before }) = self.0.get_mut(&address) {
                    join(before, now);
                    now.fill(0);
                }
            }
            MbarrierEvent::Acquire(address) => {
                let ReleasedClocks { before, .. } = self.0.get(&address)?;
                join(&mut clocks[warp], before);
                return Some(before[warp]);
            }
            MbarrierEvent::Forget(address) => {
                self.0.remove(&address);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::check::order::phases::*;

    #[test]
    fn only_phases_that_are_over_order_anything() {
        let mut phases = Phases::default();
        let mut clocks: Clocks = [[0; 32]; 32];
        (clocks[0][0], clocks[1][1]) = (5, 7);
        assert_eq!(phases.step(MbarrierEvent::Arrive(64), 0, &mut clocks), None);
        phases.step(MbarrierEvent::Acquire(64), 1, &mut clocks);
        assert_eq!(clocks[1][0], 0);
        phases.step(MbarrierEvent::Complete(64), 0, &mut clocks);
        // An arrival of the next phase.
        clocks[0][0] = 6;
        phases.step(MbarrierEvent::Arrive(64), 0, &mut clocks);
        phases.step(MbarrierEvent::Acquire(64), 1, &mut clocks);
        assert_eq!((clocks[1][0], clocks[1][1]), (5, 7));
        assert_eq!(phases.step(MbarrierEvent::Acquire(64), 0, &mut clocks), Some(5));
        phases.step(MbarrierEvent::Forget(64), 0, &mut clocks);
        phases.step(MbarrierEvent::Complete(64), 0, &mut clocks);
        phases.step(MbarrierEvent::Acquire(64), 1, &mut clocks);
        assert_eq!(clocks[1][0], 5);
    }
}
