//! Small sizes, some of which are equal or next to a power of two.

use super::{COMPARED, Drawer, SMALLER, TRIES, is_limited, with_size};
use crate::draw::SMALL_STEPS;
use indexmath::Dims;
use spec::{DrawnSizes, SizeRange};
use std::collections::BTreeSet;

/// Equal sizes beside least ones: past half a warp, and past a whole one now and then.
const PAST_HALF_A_WARP: (i64, i64) = (17, 40);

/// Powers of two next to which a small size is drawn; smaller ones come often enough by chance.
const POWERS: [i64; 3] = [16, 32, 64];

/// How many cases at literals run after another one.
const MOST_AFTER: usize = 32;

impl<'a> Drawer<'a> {
    /// Sizes of the `nth` small case: the smallest possible, then others; in every fourth two sizes are equal, in every fourth one is
    /// beside a power of two, all others are different where that is possible.
    pub fn small(&mut self, nth: usize) -> Option<Dims> {
        if nth == 0 {
            let least = self.drawn.ranges.iter().map(|r| (r.name.clone(), r.min)).collect();
            if self.is_possible(&least, SMALL_STEPS) {
                return Some(least);
            }
        }
        let mut found: Vec<Dims> = Vec::new();
        for i in 0..TRIES {
            // Smaller and smaller, until they are cheap enough.
            let mut free = self.random(None, |values| values.take(1 + i / SMALLER).min());
            match nth % 4 {
                // Not at any price: a constraint may forbid it.
                1 if i < SMALLER => self.move_beside_a_power(&mut free, nth / 4),
                3 => self.equate(&mut free, nth / 4),
                _ => {}
            }
            if self.drawn.allows(self.spec, &free) && self.is_possible(&free, SMALL_STEPS) {
                found.push(free);
            }
            if found.len() == COMPARED {
                break;
            }
        }
        let distinct = |free: &Dims| {
            let above_one = free.values().filter(|v| **v > 1);
            (above_one.clone().collect::<BTreeSet<_>>().len(), above_one.count())
        };
        found.sort_by_key(distinct);
        found.pop()
    }

    /// Gives two sizes one value, the `nth` pair of those that can have one: a kernel may take equal sizes for a sign of
    /// something else.
    fn equate(&self, free: &mut Dims, nth: usize) {
        let Some([a, b]) = self.pair(nth) else { return };
        let (low, high) = (a.min.max(b.min), a.max.min(b.max));
        let value = free[&a.name].clamp(low, high);
        free.insert(a.name.clone(), value);
        free.insert(b.name.clone(), value);
    }

    /// The `nth` pair of sizes that can be equal; of many, other ones with each seed.
    fn pair(&self, nth: usize) -> Option<[&'a SizeRange; 2]> {
        let pairs = self.pairs();
        pairs.get((self.first_pair + nth) % pairs.len().max(1)).copied()
    }

    /// All pairs of sizes that can be equal.
    fn pairs(&self) -> Vec<[&'a SizeRange; 2]> {
        let drawn: &'a DrawnSizes = self.drawn;
        let can_be_equal = |[a, b]: &[&SizeRange; 2]| a.min.max(b.min) < a.max.min(b.max);
        let all = drawn.ranges.iter().enumerate();
        let all = all.flat_map(|(i, a)| drawn.ranges[..i].iter().map(move |b| [a, b]));
        all.filter(can_be_equal).collect()
    }

    /// Cases in which two sizes are equal, past half a warp if the cost allows, and half of the others are as small as they can be; then
    /// the other half: a kernel may treat square images in its own way where the filter is a single weight. (Most mistakes that need
    /// several conditions need two: Cohen, Dalal, Fredman and Patton, IEEE Transactions on Software Engineering 23, 1997.)
    pub fn equal_beside_least(&mut self, most: usize) -> Vec<Dims> {
        let drawn = self.drawn;
        let mut pairs = self.pairs();
        let count = most.min(4 * pairs.len());
        let first = self.first_pair % pairs.len().max(1);
        pairs.rotate_left(first);
        // Those of one range first, such as the height and the width of an image, or the channels of two.
        pairs.sort_by_key(|[a, b]| (a.min, a.max, a.longest) != (b.min, b.max, b.longest));
        let mut found = Vec::new();
        let mut half = 0;
        for nth in 0..count {
            half = if nth % 2 == 0 { self.stream.below(u32::MAX) } else { !half };
            let [a, b] = pairs[nth / 2 % pairs.len()];
            let most = |range: &SizeRange| {
                if is_limited(range) { range.max } else { range.max.max(PAST_HALF_A_WARP.1) }
            };
            let (low, high) = (a.min.max(b.min), most(a).min(most(b)));
            let free = (0..TRIES).find_map(|i| {
                let mut free = self.random(None, |values| values.take(2).max());
                for range in self.those(half) {
                    free.insert(range.name.clone(), range.min);
                }
                // Smaller and smaller, until it is cheap enough.
                let most = high - (high - low) * i as i64 / TRIES as i64;
                let least = PAST_HALF_A_WARP.0.min(most).max(low);
                let size = self.stream.between(least, most.max(least)) as i64;
                free.insert(a.name.clone(), size);
                free.insert(b.name.clone(), size);
                let allowed = drawn.allows(self.spec, &free);
                (allowed && self.is_possible(&free, SMALL_STEPS) && self.is_brief(&free))
                    .then_some(free)
            });
            found.extend(free);
        }
        found
    }

    /// Gives a size a value at a power of two or next to it, the `nth` of all these: a mistake may need half a warp and one element.
    fn move_beside_a_power(&self, free: &mut Dims, nth: usize) {
        let around = |range: &SizeRange| {
            let values = POWERS.iter().flat_map(|power| power - 1..=power + 1);
            let possible: Vec<i64> =
                values.filter(|n| (range.min..=range.max).contains(n)).collect();
            possible.into_iter().map(|n| (range.name.clone(), n)).collect::<Vec<_>>()
        };
        let all: Vec<_> = self.drawn.ranges.iter().flat_map(around).collect();
        if !all.is_empty() {
            let (name, value) = all[(self.first_pair + nth) % all.len()].clone();
            free.insert(name, value);
        }
    }

    /// Two small cases of which the second has no smaller size than the first, and most are larger.
    pub fn smaller_and_larger(&mut self) -> Option<(Dims, Dims)> {
        let drawn = self.drawn;
        (0..TRIES).find_map(|i| {
            let larger = self.random(None, |values| values.take(1 + i / SMALLER).min());
            let mut smaller = larger.clone();
            for range in drawn.ranges.iter().filter(|range| larger[&range.name] > range.min) {
                let most = larger[&range.name] - 1;
                let size = self.stream.between(range.min, most) as i64;
                smaller.insert(range.name.clone(), size);
            }
            let fits =
                |free: &Dims| drawn.allows(self.spec, free) && self.is_possible(free, SMALL_STEPS);
            (smaller != larger && fits(&smaller) && fits(&larger)).then_some((smaller, larger))
        })
    }

    /// Pairs of sizes of which the second are some of those given with two that are not small, and the first the same but for one of these,
    /// which is as small as it can be.
    pub fn long_after_short(&self, all: &[Dims]) -> Vec<(Dims, Dims)> {
        let drawn = self.drawn;
        // Each size beside each other long one.
        let mut seen: BTreeSet<(&str, Vec<&str>)> = BTreeSet::new();
        let mut pairs = Vec::new();
        for free in all {
            let long = drawn.ranges.iter().filter(|range| free[&range.name] > range.max);
            let names: Vec<&str> = long.clone().map(|range| range.name.as_str()).collect();
            // Where a single one is long, another value of it alone is what the cases of small sizes have.
            for range in long.filter(|_| names.len() == 2) {
                let before = with_size(free, range, range.min);
                if drawn.allows(self.spec, &before) && seen.insert((&range.name, names.clone())) {
                    pairs.push((before, free.clone()));
                }
            }
        }
        pairs.truncate(MOST_AFTER);
        pairs
    }

    /// The sizes as they are, and with another value of each of them, the largest that a small case may have or the smallest.
    pub fn differing_in_one(&self, free: &Dims) -> Vec<Dims> {
        let drawn = self.drawn;
        let fits = |other: &Dims| {
            other != free && drawn.allows(self.spec, other) && self.is_possible(other, SMALL_STEPS)
        };
        let other = |range: &SizeRange| {
            let sizes = [range.max, range.max.midpoint(range.min), range.min];
            sizes.into_iter().map(|size| with_size(free, range, size)).find(fits)
        };
        let others = drawn.ranges.iter().filter_map(other);
        std::iter::once(free.clone()).chain(others).collect()
    }
}
