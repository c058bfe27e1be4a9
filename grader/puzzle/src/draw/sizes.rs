//! Draws sizes: small ones, one long one, and those around the multiples of a block.

use super::SMALL_STEPS;
use crate::rng::Stream;
use crate::spec::{DRAWN, DrawnSizes, SizeRange, Spec, Test};
use indexmath::Dims;
use std::collections::BTreeSet;

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

/// How many long cases that cost too much are drawn before a shorter length is tried.
const MOST_EXPENSIVE: usize = 6;

/// Elements of all tensors of a long case.
const LONG_ELEMENTS: usize = 1 << 18;

/// Draws sizes for a spec.
pub(super) struct Drawer<'a> {
    pub spec: &'a Spec,
    pub drawn: &'a DrawnSizes,
    /// The kernels for which sizes must be possible.
    pub kernels: &'a [String],
    pub stream: Stream,
}

impl Drawer<'_> {
    /// Sizes of the `nth` small case: the smallest possible, then others; most pairwise different, some with equal ones.
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
            let mut free = self.random(None, 1 + i / SMALLER);
            if nth % 4 == 3 {
                self.equate(&mut free);
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

    /// Gives one size the value of another: square matrices hide what they hide only from kernels that are right elsewhere.
    fn equate(&mut self, free: &mut Dims) {
        let ranges = &self.drawn.ranges;
        let (from, to) = (self.below(ranges.len()), self.below(ranges.len()));
        let value = free[&ranges[from].name];
        if (ranges[to].min..=ranges[to].max).contains(&value) {
            free.insert(ranges[to].name.clone(), value);
        }
    }

    /// Sizes around the multiples of the blocks of the launches.
    pub fn at_blocks(&mut self, count: usize) -> Vec<Dims> {
        let calls = self.spec.tests.iter().flat_map(|test| &test.calls);
        let blocks: BTreeSet<i64> =
            calls.flat_map(|call| call.block).filter(|&n| n > 1).map(i64::from).collect();
        let drawn = self.drawn;
        let mut pairs: Vec<(&SizeRange, i64)> = drawn
            .ranges
            .iter()
            .flat_map(|range| blocks.iter().map(move |&block| (range, block)))
            .filter(|(range, block)| range.min < *block && *block < range.longest)
            .collect();
        let mut all = Vec::new();
        let deltas = [0, 1, -1];
        while !pairs.is_empty() && all.len() < count {
            let (range, block) = pairs[self.below(pairs.len())];
            let multiple = block * (1 + self.below(2) as i64);
            let size = (multiple + deltas[all.len() % 3]).min(range.longest);
            // Every second one has the others as small as possible, so that their product is that multiple, too.
            let least_at = all.len() % 2 * 4;
            match self.with(range, size, (least_at, LONG_COST / 8)) {
                Some(free) => all.push(free),
                None => pairs.retain(|pair| *pair != (range, block)),
            }
        }
        all
    }

    /// For each size a case in which it is long: in two of them, which the seed chooses, as long as the cost allows, in the
    /// others past the usual sizes of arrays.
    pub fn long(&mut self) -> Vec<Dims> {
        let drawn = self.drawn;
        let ranges = || drawn.ranges.iter().filter(|range| range.min < range.longest);
        let order = self.stream.permutation(ranges().count() as u32);
        let cost = |i: usize| if order[i] < 2.0 { LONG_COST } else { LONG_COST / 5 };
        ranges().enumerate().filter_map(|(i, range)| self.long_in(range, cost(i))).collect()
    }

    fn long_in(&mut self, range: &SizeRange, cost: u64) -> Option<Dims> {
        let beyond = 1 + self.below(BEYOND);
        let mut lengths: Vec<i64> =
            LONG.iter().map(|n| n + beyond.min(*n as usize / 4) as i64).collect();
        lengths.retain(|n| (range.max..range.longest).contains(n));
        if range.longest < LONG[0] {
            lengths.insert(0, range.longest);
        }
        lengths.into_iter().find_map(|length| self.with(range, length, (4, cost)))
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
        for i in 0..TRIES {
            // With the others as small as they can be if that is asked for, or if a few random ones cost too much.
            let free = if i == least_at {
                let other = |r: &SizeRange| (r.name.clone(), r.min);
                let mut least: Dims = self.drawn.ranges.iter().map(other).collect();
                least.insert(range.name.clone(), size);
                least
            } else {
                self.random(Some((range, size)), 3)
            };
            if !self.drawn.allows(self.spec, &free) {
                continue;
            }
            if self.is_cheap(&free, cost) {
                return Some(free);
            }
            too_expensive += 1;
            if too_expensive == MOST_EXPENSIVE {
                break;
            }
        }
        None
    }

    fn below(&mut self, n: usize) -> usize {
        self.stream.below(n as u32) as usize
    }

    /// Random sizes, each the smallest of so many draws. Beside a long size, others are as long now and then, since it may
    /// need them to be: a filter fits into its image.
    fn random(&mut self, long: Option<(&SizeRange, i64)>, tries: usize) -> Dims {
        let drawn = self.drawn;
        let stream = &mut self.stream;
        let mut size = |range: &SizeRange| {
            let values = (0..tries).map(|_| stream.between(range.min, range.max) as i64);
            let short = values.min().unwrap_or(range.min);
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

    fn is_cheap(&self, free: &Dims, most: u64) -> bool {
        self.test(free).is_some_and(|test| {
            let elements: usize = test.buffers.iter().map(|b| b.tensor.len()).sum();
            elements <= LONG_ELEMENTS && cost(self.spec, &test) <= most
        })
    }
}

fn computations(test: &Test) -> u64 {
    let outputs = test.outputs();
    let wanted: Vec<&str> = outputs.iter().map(String::as_str).collect();
    test.formula.cost(&wanted).steps
}

/// An estimate of what warps execute: some instructions for each thread, and some for each term, which a thread adds up
/// alone.
fn cost(spec: &Spec, test: &Test) -> u64 {
    let product = |n: &[u32; 3]| n.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    let warps = |block: &[u32; 3]| product(block).div_ceil(32);
    let launched = test.calls.iter().map(|c| product(&c.grid).saturating_mul(warps(&c.block)));
    let warps = launched.fold(0, u64::saturating_add);
    let outputs = test.buffers.iter().filter(|b| b.computed().is_some());
    let fewest = outputs.map(|b| b.tensor.len() as u64).min().unwrap_or(1).clamp(1, 32);
    // A kernel computes a long chain of statements in fewer loops than the formula has.
    let statements = test.outputs().iter().map(|name| spec.tensors.formula.steps(name).len()).max();
    let terms = computations(test) / statements.unwrap_or(1).max(1) as u64;
    warps.saturating_mul(8).saturating_add(terms.saturating_mul(8) / fewest)
}
