//! Sizes between the small ones and the long ones: several that are large together, and those that divide badly.

use super::{
    BRIEF_ELEMENTS, COMPARED, Drawer, LONG, LONG_COST, SHORT, SMALLER, TRIES, cost, is_limited,
    with_size,
};
use crate::draw::SMALL_STEPS;
use indexmath::Dims;
use spec::SizeRange;

/// A size that is the largest in a small case is beyond the small ones by this factor at most.
const LARGER: i64 = 3;

/// The ranges between small and long sizes, of each of which one is drawn: a mistake may need a block that is partly used, or an
/// array that is too small.
const BETWEEN: [(i64, i64); 4] = [(33, 64), (65, 128), (129, 256), (257, 1_024)];

/// How many values past the small ones are drawn one by one, of a size that is never very long.
const ONE_BY_ONE: i64 = 8;

/// The one of them of which an odd multiple of a warp is drawn, or one past a multiple: whole vectors and whole warps, and half a step of
/// many loops.
const WARPS: (i64, i64) = BETWEEN[2];

/// The one of which an odd multiple of half a warp is drawn, if the seed does not choose one that divides badly.
const HALF_WARPS: (i64, i64) = BETWEEN[3];

impl Drawer<'_> {
    /// For each size cases in which it is larger than in all small ones: first those in which the others are large among theirs, since a
    /// mistake may need a large window and a large stride, then those in which one half of them is large and the other as small as it can be. (Most
    /// failures need the values of two parameters at most: Kuhn, Wallace and Gallo, IEEE Transactions on Software Engineering 30, 2004.)
    pub fn together(&mut self) -> (Vec<Dims>, Vec<Dims>) {
        let drawn = self.drawn;
        let (mut all_large, mut half_large) = (Vec::new(), Vec::new());
        for range in drawn.ranges.iter().filter(|range| range.max < range.longest) {
            all_large.extend(self.with_large_others(range, 0));
            let half = self.stream.below(u32::MAX);
            half_large.extend(self.with_large_others(range, half));
            half_large.extend(self.with_large_others(range, !half));
        }
        (all_large, half_large)
    }

    /// For each size that is never very long, such as a filter's, a case for each of the first values past the small ones: a kernel may
    /// have special code for such a size, and by chance a certain value is rare.
    pub fn just_past(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let mut all = Vec::new();
        for range in drawn.ranges.iter().filter(|r| r.max < r.longest && r.longest <= SHORT) {
            for size in range.max + 1..=range.longest.min(range.max + ONE_BY_ONE) {
                all.extend((0..TRIES).find_map(|i| {
                    // Smaller and smaller, until they are cheap enough.
                    let choose =
                        |values: &mut dyn Iterator<Item = i64>| values.take(1 + i / SMALLER).min();
                    let free = self.random(Some((range, size)), choose);
                    let fits = drawn.allows(self.spec, &free)
                        && self.is_possible(&free, SMALL_STEPS)
                        && self.is_brief(&free);
                    fits.then_some(free)
                }));
            }
        }
        all
    }

    /// A case in which this size is large, and of the others those as small as they can be whose bits in `least` are set.
    fn with_large_others(&mut self, range: &SizeRange, least: u32) -> Option<Dims> {
        let most = range.longest.min(LARGER * range.max);
        for i in 0..TRIES {
            // Not quite as large, once that has failed often.
            let size = self.stream.between(range.max + (most - range.max + 1) / 2, most) as i64;
            let draws = (TRIES - i).div_ceil(TRIES / 3);
            let mut free = self.random(Some((range, size)), |values| values.take(draws).max());
            for other in self.those(least).filter(|other| *other != range) {
                free.insert(other.name.clone(), other.min);
            }
            let allowed = self.drawn.allows(self.spec, &free);
            if allowed
                && self.is_possible(&free, 2 * SMALL_STEPS)
                && self.is_cheap(&free, LONG_COST / 8)
            {
                return Some(free);
            }
        }
        None
    }

    /// For each size one of each of the ranges between its small ones and its long one, if the cost allows: one that divides
    /// badly, with the others so small that most axes do, or an odd multiple of a warp or of half a warp. And for each block one in
    /// which its last warp is partly used.
    pub fn between(&mut self) -> Vec<Dims> {
        let (drawn, blocks) = (self.drawn, self.blocks());
        let mut all = Vec::new();
        for range in &drawn.ranges {
            let within = |n: &i64| (range.max + 1..=range.longest).contains(n);
            let by_halves = self.below(2) == 0;
            let in_ranges = BETWEEN.iter().map(|&(least, most)| -> Vec<i64> {
                let those = |is: fn(i64) -> bool| -> Vec<i64> {
                    (least..=most).filter(|n| is(*n) && within(n)).collect()
                };
                match (least, most) {
                    WARPS => {
                        let odd = those(|n| n % 64 == 32);
                        if odd.is_empty() { those(|n| n % 32 == 1) } else { odd }
                    }
                    HALF_WARPS if by_halves => those(|n| n % 32 == 16),
                    _ => those(divides_badly),
                }
            });
            let partly = blocks.iter().map(|block| vec![block - 1]).filter(|n| within(&n[0]));
            for sizes in in_ranges.chain(partly) {
                if sizes.is_empty() {
                    continue;
                }
                let mut possible = Vec::new();
                // The third time with the others as small as they can be.
                for draws_of_others in [2, 4, 40] {
                    let mut free = self.random(None, |values| values.take(draws_of_others).min());
                    free.insert(range.name.clone(), sizes[self.below(sizes.len())]);
                    let allowed = drawn.allows(self.spec, &free);
                    let Some(test) = self.test(&free).filter(|_| allowed) else { continue };
                    if cost(self.spec, &test) <= LONG_COST / 8 {
                        let sizes = test.buffers.iter().flat_map(|b| b.tensor.shape.clone());
                        possible.push((sizes.filter(|&n| divides_badly(n as i64)).count(), free));
                    }
                }
                // The first of the best, whose other sizes are larger.
                let best = possible.iter().map(|(axes, _)| *axes).max();
                all.extend(possible.into_iter().find(|(axes, _)| Some(*axes) == best).map(|d| d.1));
            }
        }
        all
    }

    /// For each size two cases in which it is past a warp and divides badly, and others are longer still, as many as a brief case allows: a
    /// quotient by it is wrong only in a long axis.
    pub fn long_together(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let (least, most) = (BETWEEN[0].0, BETWEEN[1].1);
        let mut all = Vec::new();
        for range in drawn.ranges.iter().filter(|range| !is_limited(range)) {
            let fits = |n: &i64| *n > range.max && divides_badly(*n);
            let badly: Vec<i64> = (least..=most).filter(fits).collect();
            let size = if badly.is_empty() { most } else { badly[self.below(badly.len())] };
            let order = self.stream.permutation(drawn.ranges.len() as u32);
            let backwards = order.iter().rev().copied().collect();
            for order in [order, backwards] {
                let mut free = self.random(None, |values| values.take(3).min());
                free.insert(range.name.clone(), size);
                // One after the other, in an order of the seed and in its reverse.
                for other in order.into_iter().map(|at| &drawn.ranges[at as usize]) {
                    let longer = size + 1 + self.below(size as usize) as i64;
                    if other != range && !is_limited(other) {
                        let with_longer = with_size(&free, other, longer);
                        if drawn.allows(self.spec, &with_longer) && self.is_brief(&with_longer) {
                            free = with_longer;
                        }
                    }
                }
                if drawn.allows(self.spec, &free) && self.is_brief(&free) {
                    all.push(free);
                }
            }
        }
        all
    }

    /// For each derived size, such as the number of tiles along an axis, a case in which it divides badly and other sizes are large among
    /// their small ones.
    pub fn derived_between(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let (least, most) = BETWEEN[0];
        let mut all = Vec::new();
        let is_free = |name: &str| drawn.ranges.iter().any(|range| range.name == name);
        let derived = self.spec.sizes.names().filter(|name| !is_free(name));
        for name in derived.map(str::to_owned).collect::<Vec<_>>() {
            let badly: Vec<i64> = (least..=most).filter(|&n| divides_badly(n)).collect();
            let wanted = badly[self.below(badly.len())];
            let mut found: Vec<Dims> = Vec::new();
            for _ in 0..TRIES / 4 {
                let others = self.random(None, |values| values.next());
                let grown =
                    drawn.ranges.iter().find_map(|range| self.grow(&others, range, &name, wanted));
                let fits = |free: &Dims| {
                    drawn.allows(self.spec, free)
                        && self.fits(free, 3 * BRIEF_ELEMENTS, LONG_COST / 4)
                };
                found.extend(grown.filter(fits));
                if found.len() == 2 * COMPARED {
                    break;
                }
            }
            all.extend(found.into_iter().max_by_key(|free| free.values().sum::<i64>()));
        }
        all
    }

    /// The sizes with another value of one of them, for which the derived size `name` is `wanted`.
    fn grow(&self, free: &Dims, range: &SizeRange, name: &str, wanted: i64) -> Option<Dims> {
        let with = |size: i64| with_size(free, range, size);
        let derived = |size: i64| {
            let all = self.spec.sizes.derive(&self.spec.text, with(size)).ok()?;
            all.get(name).copied()
        };
        // It grows with the size, or is not possible where that is too small.
        let (mut low, mut high) = (range.min, range.longest.min(LONG[0]));
        while high - low > 1 {
            let middle = low.midpoint(high);
            if derived(middle).is_none_or(|value| value < wanted) {
                low = middle;
            } else {
                high = middle;
            }
        }
        (derived(high) == Some(wanted)).then(|| with(high))
    }

    /// For each size that is never very long a case with each of the sizes that it depends on as long as itself, in turn: a window
    /// of 20 rows may need 20 rows of the image, and not of the padding.
    pub fn beside_partners(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let mut all = Vec::new();
        for range in drawn.ranges.iter().filter(|r| r.max < r.longest && r.longest <= SHORT) {
            let partners = drawn.partners(&range.name);
            for partner in drawn.ranges.iter().filter(|r| partners.contains(&r.name)) {
                let found = (0..TRIES).find_map(|i| {
                    // Others as long as well, if it does not do without.
                    let long = (i >= SMALLER).then_some((range, range.longest));
                    let mut free = self.random(long, |values| values.take(3).min());
                    free.insert(range.name.clone(), range.longest);
                    let size = range.longest + self.below(4) as i64;
                    free.insert(partner.name.clone(), size.min(partner.longest));
                    let allowed = drawn.allows(self.spec, &free);
                    (allowed && self.is_cheap(&free, LONG_COST / 8)).then_some(free)
                });
                all.extend(found);
            }
        }
        all
    }
}

/// Whether `n` times the float `1 / n` is less than 1: 41, 47, 55, 61 and about every seventh size from there on. A kernel that
/// computes an index divided by `n` as a product of floats is wrong for these sizes alone.
fn divides_badly(n: i64) -> bool {
    n as f32 * (1.0 / n as f32) < 1.0
}
