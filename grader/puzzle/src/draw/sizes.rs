//! Draws sizes: small ones, some with equal sizes, those around the multiples of a block, long ones, and large tensors.

mod at_literals;
mod between;
mod long;
mod multiples;
mod past;
mod small;

use crate::rng::Stream;
use indexmath::Dims;
pub(super) use multiples::is_far;
use spec::{DRAWN, DrawnSizes, SizeRange, Spec, Tensors, Test};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// How often sizes are drawn until some are possible.
const TRIES: usize = 400;

/// After so many draws, smaller sizes are preferred.
const SMALLER: usize = 40;

/// How many possible ones are compared, to take those that differ most.
const COMPARED: usize = 3;

/// What a long size passes, if the cost allows: what an index of 16 bits holds, and the usual sizes of fixed arrays.
const LONG: [i64; 9] = [65_536, 32_768, 16_384, 4_096, 1_024, 256, 128, 32, 10];

/// The instructions of warps that a long case may cost, as [`cost`] estimates them.
const LONG_COST: u64 = 200_000;

/// The iterations of a kernel that looks for the terms of each element among all, where more than one size is long.
const MOST_GATHERED: u64 = 1 << 23;

/// The longest size that is tried with each of its partners in turn.
const SHORT: i64 = 64;

/// How many long cases that cost too much are drawn before a shorter length is tried.
const MOST_EXPENSIVE: usize = 6;

/// The same before the longest that the spec gives is left out: it is short, and what is past an array is close to it.
const MOST_EXPENSIVE_LONGEST: usize = 60;

/// Elements of all tensors of a long case.
const LONG_ELEMENTS: usize = 1 << 18;

/// The same of a case of which each size has one or two.
const BRIEF_ELEMENTS: usize = 20_000;

/// Draws sizes for a spec.
pub(super) struct Drawer<'a> {
    pub spec: &'a Spec,
    pub drawn: &'a DrawnSizes,
    /// The kernels for which sizes must be possible.
    pub kernels: &'a [String],
    /// The tensors without a closed form of their formula, which decides nothing here and takes as long to fix at some sizes as the formula.
    tensors: Tensors,
    /// The pair of sizes that are equal first.
    pub first_pair: usize,
    pub stream: Stream,
    /// The test of the sizes that were looked at last, which are mostly asked for again: what they cost in several ways.
    pub last: RefCell<Option<(Dims, Option<Rc<Test>>)>>,
}

impl<'a> Drawer<'a> {
    /// Draws sizes that are possible for `kernels` from `stream`.
    pub fn new(
        spec: &'a Spec,
        drawn: &'a DrawnSizes,
        kernels: &'a [String],
        mut stream: Stream,
    ) -> Self {
        let first_pair = stream.below(1 << 16) as usize;
        let tensors = spec.tensors.without_closed_form();
        Self { spec, drawn, kernels, tensors, first_pair, stream, last: RefCell::default() }
    }

    /// The sizes of the blocks of the launches, along each axis.
    fn blocks(&self) -> BTreeSet<i64> {
        let calls = self.spec.tests.iter().flat_map(|test| &test.calls);
        calls.flat_map(|call| call.block).filter(|&n| n > 1).map(i64::from).collect()
    }

    /// The sizes whose bits are set.
    fn those(&self, bits: u32) -> impl Iterator<Item = &'a SizeRange> + use<'a> {
        let is_set = move |(i, _): &(usize, &SizeRange)| bits >> (i % 32) & 1 == 1;
        let drawn: &'a DrawnSizes = self.drawn;
        drawn.ranges.iter().enumerate().filter(is_set).map(|(_, range)| range)
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
                with_size(&self.drawn.ranges.iter().map(other).collect(), range, size)
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

    fn test(&self, free: &Dims) -> Option<Rc<Test>> {
        let mut last = self.last.borrow_mut();
        if let Some((of, test)) = &*last
            && of == free
        {
            return test.clone();
        }
        let Self { spec, drawn, kernels, ref tensors, .. } = *self;
        let (names, of) = ((spec.text.as_str(), &spec.sizes), (tensors, &spec.launches[..]));
        let test = drawn.test(names, of, DRAWN, kernels, free).ok().map(Rc::new);
        *last = Some((free.clone(), test.clone()));
        test
    }

    fn is_possible(&self, free: &Dims, steps: u64) -> bool {
        self.test(free).is_some_and(|test| computations(&test) <= steps)
    }

    /// Whether several sizes are long, and a right kernel that scatters nothing takes too long for it.
    fn takes_long_to_gather(&self, free: &Dims) -> bool {
        let long = self.drawn.ranges.iter().filter(|range| free[&range.name] > range.max);
        long.count() > 1
            && self.test(free).is_some_and(|test| {
                let outputs = test.outputs();
                let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
                let is_size = |range| free.values().any(|&size| size == range);
                test.formula.gather_steps(&outputs, &is_size) > MOST_GATHERED
            })
    }

    pub fn costs_at_most_a_long_case(&self, free: &Dims) -> bool {
        self.is_cheap(free, LONG_COST)
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

/// The sizes with another value of one of them.
fn with_size(free: &Dims, range: &SizeRange, size: i64) -> Dims {
    let mut other = free.clone();
    other.insert(range.name.clone(), size);
    other
}

/// Whether the spec says how long a size may be, because kernels do more there than the formula has terms.
fn is_limited(range: &SizeRange) -> bool {
    range.longest < LONG[0]
}

fn computations(test: &Test) -> u64 {
    let outputs = test.outputs();
    let wanted: Vec<&str> = outputs.iter().map(String::as_str).collect();
    test.formula.cost(&wanted).steps
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
