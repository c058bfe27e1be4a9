//! Long sizes: many blocks that share a sum, and tensors so large that an index of 16 bits does not reach their elements.

use super::{
    COMPARED, Drawer, LONG, LONG_COST, LONG_ELEMENTS, SHORT, TRIES, blocks, computations, cost,
    is_limited, with_size,
};
use indexmath::Dims;
use spec::{SizeRange, Test};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use tensor::Tensor;

/// How far beyond that it may be: not always by one, so that no remainder is special.
pub(super) const BEYOND: usize = 40;

/// The tiles before the end of a row that is longer than what a block carries over once.
const CARRIED: i64 = 3;

/// What a case may cost in which a tensor is large: a sum over 32,768 positions in a single thread.
const LARGE_COST: u64 = 300_000;

/// A tensor with more elements than this has some that an index of 16 bits does not reach.
const REACH_OF_16_BITS: usize = 1 << 16;

/// The same for an index of 16 bits with a sign.
const REACH_OF_A_SHORT: usize = 1 << 15;

/// The same where a short cannot number the planes of a tensor.
const MANY_ELEMENTS: usize = 400_000;

impl Drawer<'_> {
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
                let free = with_size(&base, range, length);
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
            let grown = with_size(free, range, size);
            let allowed = self.drawn.allows(self.spec, &grown);
            (allowed && self.is_cheap(&grown, LONG_COST)).then_some(grown)
        })
    }

    /// For each size a case in which it is long: in two of them, which the seed chooses, as long as the cost allows; in the others past
    /// the usual sizes of arrays. One of those that end before what a short holds, which the seed chooses too, is past that at a higher
    /// price.
    pub fn long(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let order = self.stream.permutation(drawn.ranges.len() as u32);
        // Those that end early need no turn.
        let turns: Vec<usize> = order.into_iter().map(|at| at as usize).collect();
        let mut turns: Vec<usize> =
            turns.into_iter().filter(|&at| drawn.ranges[at].longest > SHORT).collect();
        let mut all = BTreeMap::new();
        for (i, range) in drawn.ranges.iter().enumerate().filter(|(_, r)| r.min < r.longest) {
            let is_chosen = turns.iter().take(2).any(|&turn| turn == i);
            let cost = if is_chosen { LONG_COST } else { LONG_COST / 2 };
            let long = self.lengths(range).into_iter();
            let long = long.map(|length| self.with(range, length, (4, cost))).find(Option::is_some);
            all.insert(i, long.flatten());
        }
        turns.retain(|at| {
            let range = &drawn.ranges[*at];
            let long = all.get(at).and_then(Option::as_ref);
            long.is_none_or(|free| free[&range.name] <= REACH_OF_A_SHORT as i64)
        });
        for at in turns {
            let range = &drawn.ranges[at];
            let past = REACH_OF_A_SHORT as i64 + 1 + self.below(BEYOND) as i64;
            let free = (past <= range.longest).then(|| self.with(range, past, (4, LARGE_COST)));
            if let Some(free) = free.flatten() {
                all.insert(at, Some(free));
                break;
            }
        }
        all.into_values().flatten().collect()
    }

    /// The long values of a size, the longest first.
    fn lengths(&mut self, range: &SizeRange) -> Vec<i64> {
        // One past a multiple of all usual blocks, or any number.
        let beyond = if self.below(2) == 0 { 1 } else { 1 + self.below(BEYOND) };
        // What a block carries from tile to tile is wrong from the third tile on.
        let mut bases: Vec<i64> = self.blocks().into_iter().map(|block| CARRIED * block).collect();
        bases.extend(LONG);
        bases.sort_unstable_by_key(|&n| Reverse(n));
        bases.dedup();
        let mut lengths: Vec<i64> =
            bases.iter().map(|n| n + beyond.min(*n as usize / 4) as i64).collect();
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
    pub(super) fn grown(
        &mut self,
        least: &Dims,
        name: &str,
        (count, reach): (Count, usize),
        (most, most_cost): (usize, u64),
    ) -> Option<(Dims, Rc<Test>)> {
        let drawn = self.drawn;
        let mut free = least.clone();
        let len = |test: &Test| {
            let tensor = test.buffers.iter().find(|b| b.tensor.name == name);
            tensor.map_or(0, |b| count.of(&b.tensor))
        };
        let mut elements = len(self.test(&free)?.as_ref());
        loop {
            let mut cheapest: Option<(u64, &SizeRange, Dims, Rc<Test>)> = None;
            for range in &drawn.ranges {
                let size = (2 * free[&range.name] + self.below(2) as i64).max(2);
                let grown = with_size(&free, range, size.min(range.longest));
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
                    let fewer = with_size(&grown, range, size);
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
}

/// What is counted of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Count {
    /// The elements, but for those of the last plane.
    All,
    /// The elements of a plane, which is made of the last two axes, but for those of its last row.
    Plane,
    /// The combinations of so many leading axes, which a kernel numbers when it divides the number of an element by the sizes of the
    /// others: the rows, or the planes.
    Leading(usize),
}

impl Count {
    /// How many there are in front of the last row or plane, if there are rows or planes: an index of 16 bits may be that of a row's
    /// start, to which the column is added.
    fn of(self, tensor: &Tensor) -> usize {
        let trailing = |axes: usize| tensor.shape.iter().rev().take(axes).product::<usize>();
        match (self, tensor.shape.len()) {
            (Self::Leading(axes), _) => tensor.shape.iter().take(axes).product(),
            (_, 0 | 1) => tensor.len(),
            (Self::Plane, _) | (Self::All, 2) => trailing(2) - trailing(1),
            (Self::All, _) => tensor.len() - trailing(2),
        }
    }
}

/// The tensors with more than `reach` elements in a plane.
fn large_tensors(test: &Test, reach: usize) -> impl Iterator<Item = String> {
    let tensors = test.buffers.iter().map(|b| &b.tensor);
    tensors.filter(move |tensor| Count::Plane.of(tensor) > reach).map(|tensor| tensor.name.clone())
}
