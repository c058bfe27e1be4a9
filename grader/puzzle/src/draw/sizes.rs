//! Draws sizes: small ones, some with equal sizes, those around the multiples of a block, long ones, and large tensors.

use super::SMALL_STEPS;
use crate::rng::Stream;
use crate::spec::{DRAWN, DrawnSizes, SizeRange, Spec, Test};
use crate::tensor::Tensor;
use indexmath::{Cost, Dims};
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// How often sizes are drawn until some are possible.
const TRIES: usize = 400;

/// After so many draws, smaller sizes are preferred.
const SMALLER: usize = 40;

/// How many possible ones are compared, to take those that differ most.
const COMPARED: usize = 3;

/// What a long size passes, if the cost allows: what an index of 16 bits holds, and the usual sizes of fixed arrays.
const LONG: [i64; 9] = [65_536, 32_768, 16_384, 4_096, 1_024, 256, 128, 32, 10];

/// How far beyond that it may be: not always by one, so that no remainder is special.
const BEYOND: usize = 40;

/// The instructions of warps that a long case may cost, as [`cost`] estimates them.
const LONG_COST: u64 = 200_000;

/// What a case may cost in which a tensor is large: a sum over 32,768 positions in a single thread.
const LARGE_COST: u64 = 300_000;

/// The iterations of a kernel that looks for the terms of each element among all, where more than one size is long.
const MOST_GATHERED: u64 = 1 << 23;

/// A multiple of a block is far if it is above this, if the cost allows.
const FAR: i64 = 1_024;

/// Equal sizes beside least ones: past half a warp, and past a whole one now and then.
const PAST_HALF_A_WARP: (i64, i64) = (17, 40);

/// Powers of two next to which a small size is drawn; smaller ones come often enough by chance.
const POWERS: [i64; 3] = [16, 32, 64];

/// A size that is the largest in a small case is beyond the small ones by this factor at most.
const LARGER: i64 = 3;

/// The ranges between small and long sizes, of each of which one is drawn: a mistake may need a block that is partly used, or an
/// array that is too small.
const BETWEEN: [(i64, i64); 4] = [(33, 64), (65, 128), (129, 256), (257, 1_024)];

/// The longest size that is tried with each of its partners in turn.
const SHORT: i64 = 64;

/// A tensor with more elements than this has some that an index of 16 bits does not reach.
const REACH_OF_16_BITS: usize = 1 << 16;

/// The same for an index of 16 bits with a sign.
const REACH_OF_A_SHORT: usize = 1 << 15;

/// How many long cases that cost too much are drawn before a shorter length is tried.
const MOST_EXPENSIVE: usize = 6;

/// The same before the longest that the spec gives is left out: it is short, and what is past an array is close to it.
const MOST_EXPENSIVE_LONGEST: usize = 60;

/// Elements of all tensors of a long case.
const LONG_ELEMENTS: usize = 1 << 18;

/// The same of a case of which each size has one or two.
const BRIEF_ELEMENTS: usize = 20_000;

/// The same where a short cannot number the planes of a tensor.
const MANY_ELEMENTS: usize = 400_000;

/// Draws sizes for a spec.
pub(super) struct Drawer<'a> {
    pub spec: &'a Spec,
    pub drawn: &'a DrawnSizes,
    /// The kernels for which sizes must be possible.
    pub kernels: &'a [String],
    /// The pair of sizes that are equal first.
    pub first_pair: usize,
    pub stream: Stream,
}

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

    /// The sizes of the blocks of the launches, along each axis.
    fn blocks(&self) -> BTreeSet<i64> {
        let calls = self.spec.tests.iter().flat_map(|test| &test.calls);
        calls.flat_map(|call| call.block).filter(|&n| n > 1).map(i64::from).collect()
    }

    /// Sizes around the multiples of the blocks of the launches.
    pub fn at_blocks(&mut self, count: usize) -> Vec<Dims> {
        let blocks = self.blocks();
        let drawn = self.drawn;
        let pairs: Vec<(&SizeRange, i64)> = drawn
            .ranges
            .iter()
            .flat_map(|range| blocks.iter().map(move |&block| (range, block)))
            .filter(|(range, block)| range.min < *block && *block < range.longest)
            .collect();
        let count = count.max(3 * pairs.len()).min(2 * count);
        let order = self.stream.permutation(pairs.len() as u32).into_iter();
        let mut pairs: VecDeque<_> =
            order.enumerate().map(|(nth, at)| (pairs[at as usize], nth, 0)).collect();
        let mut all = Vec::new();
        let deltas = [0, 1, -1];
        // In turn, so that each size meets each block before one does so again: twice near the first multiples, then one past a far one.
        while let Some(((range, block), nth, turn)) = pairs.pop_front() {
            let is_far = turn % 3 == 2;
            let (multiple, delta) = if is_far {
                let most = range.longest.min(2 * FAR) / block;
                let least = (FAR / block + 1).clamp(1, most.max(1));
                let multiple = least + self.below((most - least).max(0) as usize + 1) as i64;
                (block * multiple, deltas[(1 + turn / 3) % 3])
            } else {
                // Each pair meets another difference each time.
                (block * (1 + self.below(2) as i64), deltas[(nth + turn) % 3])
            };
            let size = (multiple + delta).min(range.longest);
            // A near one has the others as small as possible, so that their product is that multiple, too.
            let least_at = if is_far { 2 } else { 0 };
            if let Some(free) = self.with(range, size, (least_at, LONG_COST / 8)) {
                all.push(free);
                pairs.push_back(((range, block), nth, turn + 1));
            } else if is_far {
                pairs.push_back(((range, block), nth, turn + 1));
            }
            if all.len() == count {
                break;
            }
        }
        all
    }

    /// Cases in which all sizes that a block divides are just past a multiple of it at once, and the others are any small ones: a
    /// mistake may need a second tile in one size and a partial one in another, and sizes that follow from these (those of an output)
    /// end at the multiple in some.
    pub fn corners(&mut self, count: usize) -> Vec<Dims> {
        let blocks = self.blocks();
        let drawn = self.drawn;
        let past = |range: &SizeRange, block: i64| range.min < block && block < range.max;
        let mut found = Vec::new();
        for _ in 0..TRIES {
            let mut free = self.random(None, |values| values.next());
            let mut nth = found.len();
            for range in &drawn.ranges {
                let fitting: Vec<i64> =
                    blocks.iter().copied().filter(|&block| past(range, block)).collect();
                if !fitting.is_empty() {
                    let block = fitting[self.below(fitting.len())];
                    let most = (range.max / block).min(2);
                    // In turn, so that each size is past one block and past two beside each number of blocks of another.
                    let multiple = block * (1 + nth as i64 % 2).min(most);
                    nth /= 2;
                    free.insert(
                        range.name.clone(),
                        (multiple + 1 + self.below(2) as i64).min(range.max),
                    );
                }
            }
            if drawn.allows(self.spec, &free) && self.is_cheap(&free, LONG_COST / 8) {
                found.push(free);
            }
            if found.len() == count {
                break;
            }
        }
        found
    }

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

    /// The sizes whose bits are set.
    fn those(&self, bits: u32) -> impl Iterator<Item = &'a SizeRange> + use<'a> {
        let is_set = move |(i, _): &(usize, &SizeRange)| bits >> (i % 32) & 1 == 1;
        let drawn: &'a DrawnSizes = self.drawn;
        drawn.ranges.iter().enumerate().filter(is_set).map(|(_, range)| range)
    }

    /// For each size one of each of the ranges between its small ones and its long one, if the cost allows: one that divides
    /// badly, with the others so small that most axes do. And for each block one in which its last warp is partly used.
    pub fn between(&mut self) -> Vec<Dims> {
        let (drawn, blocks) = (self.drawn, self.blocks());
        let mut all = Vec::new();
        for range in &drawn.ranges {
            let within = |n: &i64| (range.max + 1..=range.longest).contains(n);
            let badly = BETWEEN.iter().map(|&(least, most)| -> Vec<i64> {
                (least..=most).filter(|n| divides_badly(*n) && within(n)).collect()
            });
            let partly = blocks.iter().map(|block| vec![block - 1]).filter(|n| within(&n[0]));
            for sizes in badly.chain(partly) {
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
                        let mut with_longer = free.clone();
                        with_longer.insert(other.name.clone(), longer);
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
        let with = |size: i64| {
            let mut grown = free.clone();
            grown.insert(range.name.clone(), size);
            grown
        };
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

    /// Where a size only says how many blocks share a sum, most of their parts are empty unless the sum is long as well: for each such
    /// size cases in which it is long and those that lengthen the sum are as large as the cost allows.
    pub fn shared(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let mut all = Vec::new();
        for range in drawn.ranges.iter().filter(|range| range.max < range.longest) {
            let lengths = self.lengths(range);
            // Of some with large sizes that with the fewest blocks, so that they can be many more, and then the most terms.
            let mut bases = Vec::new();
            for _ in 0..TRIES {
                let mut free = self.random(None, |values| values.take(3).max());
                free.insert(range.name.clone(), range.min);
                if drawn.allows(self.spec, &free) {
                    bases.push(free);
                }
                if bases.len() == 4 * COMPARED {
                    break;
                }
            }
            let price = |free: &Dims| {
                let test = self.test(free);
                test.map(|test| (blocks(&test), Reverse(computations(&test))))
            };
            bases.retain(|free| price(free).is_some());
            let base = bases.into_iter().min_by_key(price);
            let Some(base) = base else { continue };
            if !self.changes(&base, &range.name, |was, is| was.0 == is.0 && was.1 < is.1) {
                continue;
            }
            let long = lengths.into_iter().find_map(|length| {
                let mut free = base.clone();
                free.insert(range.name.clone(), length);
                let allowed = drawn.allows(self.spec, &free);
                (allowed && self.is_cheap(&free, LONG_COST / 2)).then_some(free)
            });
            let Some(long) = long else { continue };
            for other in drawn.ranges.iter().filter(|other| other.name != range.name) {
                if self.changes(&base, &other.name, |was, is| was.0 < is.0 && was.1 == is.1) {
                    all.extend(self.as_long_as_possible(&long, other));
                }
            }
        }
        all
    }

    /// What `is` says of the formula's cost and the number of blocks, before and after the size grows.
    fn changes(&self, free: &Dims, size: &str, is: fn((u64, u64), (u64, u64)) -> bool) -> bool {
        let mut grown = free.clone();
        grown.entry(size.to_owned()).and_modify(|size| *size *= 2);
        let costs = |free: &Dims| {
            let test = self.test(free)?;
            Some((computations(&test), blocks(&test)))
        };
        costs(free).zip(costs(&grown)).is_some_and(|(was, grown)| is(was, grown))
    }

    /// The sizes with the largest value of one of them that the cost allows, within a factor of two.
    fn as_long_as_possible(&self, free: &Dims, range: &SizeRange) -> Option<Dims> {
        let halves = std::iter::successors(Some(range.longest), |size| Some(size / 2));
        halves.take_while(|&size| size > range.max).find_map(|size| {
            let mut grown = free.clone();
            grown.insert(range.name.clone(), size);
            let allowed = self.drawn.allows(self.spec, &grown);
            (allowed && self.is_cheap(&grown, LONG_COST)).then_some(grown)
        })
    }

    /// For each size a case in which it is long: in two of them, which the seed chooses, as long as the cost allows, one of which may
    /// cost more; in the others past the usual sizes of arrays.
    pub fn long(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let order = self.stream.permutation(drawn.ranges.len() as u32);
        // Those that end early need no turn.
        let turns: Vec<usize> = order.into_iter().map(|at| at as usize).collect();
        let mut turns = turns.into_iter().filter(|&at| drawn.ranges[at].longest > SHORT);
        let (first, second) = (turns.next(), turns.next());
        let mut all = Vec::new();
        for (i, range) in drawn.ranges.iter().enumerate().filter(|(_, r)| r.min < r.longest) {
            let is_chosen = Some(i) == first || Some(i) == second;
            let long = self.long_in(range, if is_chosen { LONG_COST } else { LONG_COST / 2 });
            // Past what a short holds at a higher price, for one of them.
            let is_short = |free: &Dims| free[&range.name] <= REACH_OF_A_SHORT as i64;
            let past = REACH_OF_A_SHORT as i64 + 1 + self.below(BEYOND) as i64;
            if Some(i) == first && past <= range.longest && long.as_ref().is_none_or(is_short) {
                all.extend(self.with(range, past, (4, LARGE_COST)).or(long));
            } else {
                all.extend(long);
            }
        }
        all
    }

    fn long_in(&mut self, range: &SizeRange, cost: u64) -> Option<Dims> {
        self.lengths(range).into_iter().find_map(|length| self.with(range, length, (4, cost)))
    }

    /// The long values of a size, the longest first.
    fn lengths(&mut self, range: &SizeRange) -> Vec<i64> {
        // One past a multiple of all usual blocks, or any number.
        let beyond = if self.below(2) == 0 { 1 } else { 1 + self.below(BEYOND) };
        let mut lengths: Vec<i64> =
            LONG.iter().map(|n| n + beyond.min(*n as usize / 4) as i64).collect();
        lengths.retain(|n| (range.max..range.longest).contains(n));
        if range.longest < LONG[0] {
            lengths.insert(0, range.longest);
        }
        lengths
    }

    /// For each tensor that has no such case among `long`, one in which an index of 16 bits does not reach all elements of its planes.
    /// If that costs too much, one with a sign does not reach those of its planes, and none those of all planes together. Long sizes
    /// alone do not do that where a product of two sizes counts, and a kernel may count the elements of each plane by themselves. They
    /// grow from `least`.
    pub fn large(&mut self, least: &Dims, long: &[Dims]) -> Vec<Dims> {
        let mut reached: BTreeSet<String> = BTreeSet::new();
        let mut found = Vec::new();
        for test in long.iter().filter_map(|free| self.test(free)) {
            reached.extend(large_tensors(&test, REACH_OF_16_BITS));
        }
        let Some(test) = self.test(least) else { return found };
        for buffer in &test.buffers {
            let name = &buffer.tensor.name;
            if reached.contains(name) {
                continue;
            }
            let cases = [
                (Count::Plane, REACH_OF_16_BITS),
                (Count::Plane, REACH_OF_A_SHORT),
                (Count::All, REACH_OF_16_BITS),
            ];
            for (nth, past) in cases.into_iter().enumerate() {
                let grown = self.grown(least, name, past, (LONG_ELEMENTS, LARGE_COST));
                let Some((free, test)) = grown else { continue };
                reached.extend(large_tensors(&test, past.1));
                found.push(free);
                if nth == 0 {
                    break;
                }
            }
        }
        found
    }

    /// For each tensor whose planes or rows a short can number in all of these `cases`, one in which it cannot. They grow from `least`.
    pub fn many_planes(&mut self, least: &Dims, cases: &[Dims]) -> Vec<Dims> {
        if self.drawn.ranges.iter().all(is_limited) {
            return Vec::new();
        }
        let Some(test) = self.test(least) else { return Vec::new() };
        let axes = test.buffers.iter().map(|b| (b.tensor.name.clone(), b.tensor.shape.len()));
        // The planes first: so many of them have as many rows.
        let mut open: Vec<(String, Count)> = axes
            .flat_map(|(name, axes)| {
                (1..axes).map(move |leading| (name.clone(), Count::Leading(leading)))
            })
            .collect();
        open.sort_by_key(|(_, count)| *count);
        let close = |open: &mut Vec<(String, Count)>, test: &Test| {
            open.retain(|(name, count)| {
                let tensor = test.buffers.iter().find(|b| b.tensor.name == *name);
                tensor.is_some_and(|b| count.of(&b.tensor) <= REACH_OF_A_SHORT)
            });
        };
        for test in cases.iter().filter_map(|free| self.test(free)) {
            close(&mut open, &test);
        }
        let mut found = Vec::new();
        while !open.is_empty() {
            let (name, count) = open.remove(0);
            let past = (count, REACH_OF_A_SHORT);
            if let Some((free, test)) =
                self.grown(least, &name, past, (MANY_ELEMENTS, 2 * LARGE_COST))
            {
                close(&mut open, &test);
                found.push(free);
            }
        }
        found
    }

    /// The sizes, grown until the tensor `name` has more than `reach` of what `count` counts, each time in that size in which it costs
    /// least; `None` if all tensors together have more than `most` elements then, or it costs too much.
    fn grown(
        &mut self,
        least: &Dims,
        name: &str,
        (count, reach): (Count, usize),
        (most, most_cost): (usize, u64),
    ) -> Option<(Dims, Test)> {
        let drawn = self.drawn;
        let mut free = least.clone();
        let len = |test: &Test| {
            let tensor = test.buffers.iter().find(|b| b.tensor.name == name);
            tensor.map_or(0, |b| count.of(&b.tensor))
        };
        let mut elements = len(&self.test(&free)?);
        loop {
            let mut cheapest: Option<(u64, &SizeRange, Dims, Test)> = None;
            for range in &drawn.ranges {
                let mut grown = free.clone();
                let size = (2 * free[&range.name] + self.below(2) as i64).max(2);
                grown.insert(range.name.clone(), size.min(range.longest));
                if !drawn.allows(self.spec, &grown) {
                    continue;
                }
                let Some(test) = self.test(&grown) else { continue };
                let cost = cost(self.spec, &test);
                let least = cheapest.as_ref().map_or(2 * most_cost, |(least, ..)| *least);
                if cost < least && len(&test) > elements {
                    cheapest = Some((cost, range, grown, test));
                }
            }
            let (_, range, mut grown, mut test) = cheapest?;
            elements = len(&test);
            if elements > reach {
                // Not much more than that, so that it costs no more either.
                let (mut within, mut past) = (free[&range.name], grown[&range.name]);
                while past - within > 1 {
                    let size = within.midpoint(past);
                    let mut fewer = grown.clone();
                    fewer.insert(range.name.clone(), size);
                    let allowed = drawn.allows(self.spec, &fewer);
                    match self.test(&fewer).filter(|test| allowed && len(test) > reach) {
                        Some(fewer_test) => (past, grown, test) = (size, fewer, fewer_test),
                        None => within = size,
                    }
                }
                return self.fits(&grown, most, most_cost).then_some((grown, test));
            }
            free = grown;
        }
    }

    /// Sizes of which one is `size` and the others are small, within the estimated cost. In the attempt `least_at` the others
    /// are as small as they can be.
    fn with(
        &mut self,
        range: &SizeRange,
        size: i64,
        (least_at, cost): (usize, u64),
    ) -> Option<Dims> {
        let mut too_expensive = 0;
        let most = if size == range.longest { MOST_EXPENSIVE_LONGEST } else { MOST_EXPENSIVE };
        for i in 0..TRIES {
            // With the others as small as they can be if that is asked for, or if a few random ones cost too much.
            let free = if i == least_at {
                let other = |r: &SizeRange| (r.name.clone(), r.min);
                let mut least: Dims = self.drawn.ranges.iter().map(other).collect();
                least.insert(range.name.clone(), size);
                least
            } else {
                let mut free = self.random(Some((range, size)), |values| values.take(3).min());
                // A padding of 0 hides what becomes of a negative index.
                for range in self.drawn.ranges.iter().filter(|r| i % 2 == 0 && r.min == 0) {
                    free.entry(range.name.clone()).and_modify(|n| *n = (*n).max(range.max.min(1)));
                }
                free
            };
            if !self.drawn.allows(self.spec, &free) || self.takes_long_to_gather(&free) {
                continue;
            }
            if self.is_cheap(&free, cost) {
                return Some(free);
            }
            too_expensive += 1;
            if too_expensive == most {
                break;
            }
        }
        None
    }

    fn below(&mut self, n: usize) -> usize {
        self.stream.below(n as u32) as usize
    }

    /// Random sizes, each one that `choose` takes of many draws. Beside a long size, others are as long now and then, since it may
    /// need them to be: a filter fits into its image.
    fn random(
        &mut self,
        long: Option<(&SizeRange, i64)>,
        choose: impl Fn(&mut dyn Iterator<Item = i64>) -> Option<i64>,
    ) -> Dims {
        let drawn = self.drawn;
        let stream = &mut self.stream;
        let mut size = |range: &SizeRange| {
            let mut values = std::iter::repeat_with(|| stream.between(range.min, range.max) as i64);
            let short = choose(&mut values).unwrap_or(range.min);
            match long {
                Some((of, size)) if of == range => size,
                Some((_, size)) if stream.below(3) == 0 && size + 3 <= range.longest => {
                    size + i64::from(stream.below(4))
                }
                _ => short,
            }
        };
        drawn.ranges.iter().map(|range| (range.name.clone(), size(range))).collect()
    }

    fn test(&self, free: &Dims) -> Option<Test> {
        let Self { spec, drawn, kernels, .. } = *self;
        let (names, of) = ((spec.text.as_str(), &spec.sizes), (&spec.tensors, &spec.launches[..]));
        drawn.test(names, of, DRAWN, kernels, free).ok()
    }

    fn is_possible(&self, free: &Dims, steps: u64) -> bool {
        self.test(free).is_some_and(|test| computations(&test) <= steps)
    }

    /// Whether several sizes are long, and a right kernel that scatters nothing takes too long for it.
    fn takes_long_to_gather(&self, free: &Dims) -> bool {
        let long = self.drawn.ranges.iter().filter(|range| free[&range.name] > range.max);
        long.count() > 1
            && self.test(free).is_some_and(|test| formula_cost(&test).gathered > MOST_GATHERED)
    }

    fn is_cheap(&self, free: &Dims, most: u64) -> bool {
        self.fits(free, LONG_ELEMENTS, most)
    }

    /// Whether many cases like it are cheap.
    fn is_brief(&self, free: &Dims) -> bool {
        self.fits(free, BRIEF_ELEMENTS, LONG_COST / 16)
    }

    fn fits(&self, free: &Dims, most_elements: usize, most: u64) -> bool {
        self.test(free).is_some_and(|test| {
            let elements: usize = test.buffers.iter().map(|b| b.tensor.len()).sum();
            elements <= most_elements && cost(self.spec, &test) <= most
        })
    }
}

/// Whether a size is that of a far multiple of a block, or one beside it.
pub(super) fn is_far(free: &Dims) -> bool {
    free.values().any(|&size| size >= FAR)
}

/// Whether the spec says how long a size may be, because kernels do more there than the formula has terms.
fn is_limited(range: &SizeRange) -> bool {
    range.longest < LONG[0]
}

/// What is counted of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Count {
    /// All elements.
    All,
    /// Those of a plane, which is made of the last two axes.
    Plane,
    /// The combinations of so many leading axes, which a kernel numbers when it divides the number of an element by the sizes of the
    /// others: the rows, or the planes.
    Leading(usize),
}

impl Count {
    fn of(self, tensor: &Tensor) -> usize {
        match self {
            Self::All => tensor.len(),
            Self::Plane => tensor.shape.iter().rev().take(2).product(),
            Self::Leading(axes) => tensor.shape.iter().take(axes).product(),
        }
    }
}

/// Whether `n` times the float `1 / n` is less than 1: 41, 47, 55, 61 and about every seventh size from there on. A kernel that
/// computes an index divided by `n` as a product of floats is wrong for these sizes alone.
fn divides_badly(n: i64) -> bool {
    n as f32 * (1.0 / n as f32) < 1.0
}

/// The tensors with more than `reach` elements in a plane.
fn large_tensors(test: &Test, reach: usize) -> impl Iterator<Item = String> {
    let tensors = test.buffers.iter().map(|b| &b.tensor);
    tensors.filter(move |tensor| Count::Plane.of(tensor) > reach).map(|tensor| tensor.name.clone())
}

fn computations(test: &Test) -> u64 {
    formula_cost(test).steps
}

fn formula_cost(test: &Test) -> Cost {
    let outputs = test.outputs();
    let wanted: Vec<&str> = outputs.iter().map(String::as_str).collect();
    test.formula.cost(&wanted)
}

/// The number of blocks of a grid, or of threads of a block.
fn volume(extent: [u32; 3]) -> u64 {
    extent.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul)
}

/// The number of blocks of all launches.
fn blocks(test: &Test) -> u64 {
    test.calls.iter().map(|call| volume(call.grid)).fold(0, u64::saturating_add)
}

/// An estimate of what warps execute: some instructions for each thread, and some for each term, which a thread adds up
/// alone.
fn cost(spec: &Spec, test: &Test) -> u64 {
    let warps = |block: [u32; 3]| volume(block).div_ceil(32);
    let launched = test.calls.iter().map(|c| volume(c.grid).saturating_mul(warps(c.block)));
    let warps = launched.fold(0, u64::saturating_add);
    let outputs = test.buffers.iter().filter(|b| b.computed().is_some());
    let fewest = outputs.map(|b| b.tensor.len() as u64).min().unwrap_or(1).clamp(1, 32);
    // A kernel computes a long chain of statements in fewer loops than the formula has.
    let statements = test.outputs().iter().map(|name| spec.tensors.formula.steps(name).len()).max();
    let terms = computations(test) / statements.unwrap_or(1).max(1) as u64;
    warps.saturating_mul(8).saturating_add(terms.saturating_mul(8) / fewest)
}
