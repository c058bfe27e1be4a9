//! Threads that try, step back and try again, as those do that take two locks or none. In step, or stopped where they have taken
//! what others need, they may be in each other's way for ever, though on a GPU chance soon lets one of them through.
//!
//! They are known by loops that change memory and change it back. Such lanes go on one by one, and stop mostly where they
//! have taken least, but now and then anywhere. The same choices are made at every run.

/// One stop of so many is anywhere.
const ANYWHERE: u64 = 4;
/// Steps that a loop is taken to have whose registers change from round to round.
const LONG_LOOP: u32 = 32;

/// What lanes have done to memory that others see since they were at a place. Steps are branches and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    steps: u32,
    /// Memory was changed.
    pub changes: bool,
    /// Something was read that is not kept with what was polled.
    pub reads: bool,
    /// The sum of all words that were changed is so much more than at first. What is free is zero, mostly.
    level: i128,
    /// The least that was, and behind which step.
    lowest: (i128, u32),
    /// Splits that waited below at least.
    depth: usize,
}

impl Way {
    pub fn new(depth: usize) -> Self {
        Self { steps: 0, changes: false, reads: false, level: 0, lowest: (0, 0), depth }
    }

    /// A branch, or a write that has changed words by so much. So many splits wait below.
    pub fn step(&mut self, changes: &[i128], depth: usize) {
        self.steps += 1;
        self.depth = self.depth.min(depth);
        self.changes |= !changes.is_empty();
        self.level = changes.iter().fold(self.level, |level, by| level.saturating_add(*by));
        if self.level < self.lowest.0 {
            self.lowest = (self.level, self.steps);
        }
    }
}

/// Lanes that go on for some steps before others get their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub lanes: u32,
    steps: u32,
    /// They leave before that where no more splits wait below.
    depth: Option<usize>,
    /// They do nothing but spin.
    pub spin: bool,
}

impl Leaving {
    /// One step more. True if it was the last.
    pub fn step(&mut self, running: u32, depth: usize) -> bool {
        self.lanes |= running;
        self.steps -= 1;
        self.steps == 0 || self.depth.is_some_and(|least| depth <= least)
    }
}

/// Where lanes stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    draws: u64,
    /// Where they have taken least only, so that what is stuck comes back to the same state.
    pub calm: bool,
}

impl Stops {
    /// For lanes that will go on one by one: where they have the least way in common before them, on which they would wait for
    /// each other.
    pub fn before_parting(lanes: u32, way: &Way) -> Leaving {
        let steps = way.steps.max(2 * LONG_LOOP);
        Leaving { lanes, steps, depth: Some(way.depth), spin: true }
    }

    /// For lanes that spin, and have just come back to where this way began. `again`: the next one is the same.
    pub fn behind(&mut self, lanes: u32, way: &Way, again: bool, seed: u64) -> Leaving {
        let draw = self.draw(seed);
        let steps = if !again {
            1 + (draw % u64::from(way.steps.clamp(1, LONG_LOOP))) as u32
        } else if draw.is_multiple_of(ANYWHERE) && !self.calm {
            1 + (draw / ANYWHERE % u64::from(way.steps.max(1))) as u32
        } else {
            let (_, lowest) = way.lowest;
            if lowest == 0 { way.steps.max(1) } else { lowest }
        };
        Leaving { lanes, steps, depth: None, spin: true }
    }

    /// For lanes at work.
    pub fn anywhere(&mut self, lanes: u32, seed: u64) -> Leaving {
        let steps = 1 + (self.draw(seed) % u64::from(LONG_LOOP)) as u32;
        Leaving { lanes, steps, depth: None, spin: false }
    }

    /// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    fn draw(&mut self, seed: u64) -> u64 {
        self.draws += 1;
        let mut x = seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_stop_mostly_where_they_have_taken_least() {
        let mut way = Way::new(0);
        // They hold a lock at first, give it back, go around and take it again.
        for changes in [&[-1][..], &[], &[1], &[]] {
            way.step(changes, 0);
        }
        assert!(way.changes);
        let mut stops = Stops::default();
        let steps: Vec<u32> = (0..256).map(|_| stops.behind(1, &way, true, 7).steps).collect();
        let at = |place: u32| steps.iter().filter(|&&steps| steps == place).count();
        assert!(at(1) > 160 && (2..=4).all(|place| at(place) > 0), "{steps:?}");
        assert_eq!(at(1) + at(2) + at(3) + at(4), 256);
    }

    #[test]
    fn lanes_that_hold_nothing_go_around_once() {
        let mut way = Way::new(0);
        for changes in [&[1][..], &[], &[2, -3], &[]] {
            way.step(changes, 0);
        }
        let mut stops = Stops::default();
        let most = (0..64).filter(|_| stops.behind(1, &way, true, 7).steps == 4).count();
        assert!(most > 40);
    }
}
