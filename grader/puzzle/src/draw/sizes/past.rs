//! Sizes with which indices pass the integers past which a kernel may treat them in another way.

use super::long::{BEYOND, Count};
use super::{Drawer, LONG_COST, with_size};
use indexmath::Dims;
use spec::SizeRange;
use std::collections::BTreeSet;

/// How many of a kernel's reaches are passed, the longest first.
const MOST_REACHES: usize = 4;

/// Elements of all tensors of a case past a reach: three tensors with more than f32 counts.
pub(super) const MOST_ELEMENTS: usize = 1 << 26;

/// What a case may cost that passes the reach of f32: some threads for each element, which take a second or two.
const MOST_COST: u64 = 1 << 25;

/// The same past a shorter reach.
const SHORTER_COST: u64 = 1 << 21;

/// A shorter reach is below this.
const SHORTER: i64 = 1 << 21;

/// Sizes beside a long one: with those of 1 much is the same whatever an index is, such as the softmax of a single class.
const FEW: i64 = 3;

/// How many literals of indices all sizes are past at once, the largest first.
const MOST_TOGETHER: usize = 2;

impl Drawer<'_> {
    /// For each reach the sizes that pass it, one by one, with the others as small as they can be; then those with which a tensor has
    /// more elements than that, if none of these has. Two neighbours pass a shorter one: of loops that are unrolled, only the tail may
    /// use the index.
    pub fn past(&mut self, reaches: &BTreeSet<i64>) -> Vec<Dims> {
        let drawn = self.drawn;
        let (least, few) = (self.least(), self.few());
        let mut found = Vec::new();
        for &reach in reaches.iter().rev().take(MOST_REACHES) {
            let mut cases: Vec<Dims> = Vec::new();
            let (most_cost, neighbours) =
                if reach < SHORTER { (SHORTER_COST, 2) } else { (MOST_COST, 1) };
            for range in drawn.ranges.iter().filter(|range| range.longest > reach) {
                // The index of the last element is one less.
                let size = reach + 2 + self.below(BEYOND) as i64;
                let fits = |long: &Dims| {
                    drawn.allows(self.spec, long) && self.fits(long, MOST_ELEMENTS, most_cost)
                };
                let long = (size..size + neighbours).filter_map(|size| {
                    let beside = [&few, &least].into_iter();
                    beside.map(|others| with_size(others, range, size)).find(fits)
                });
                cases.extend(long);
            }
            let Some(test) = self.test(&least) else { continue };
            for buffer in &test.buffers {
                let name = &buffer.tensor.name;
                let is_past = |free: &Dims| {
                    let test = self.test(free)?;
                    let buffer = test.buffers.iter().find(|b| b.tensor.name == *name)?;
                    Some(buffer.tensor.len() as i64 > reach)
                };
                if cases.iter().any(|free| is_past(free) == Some(true)) {
                    continue;
                }
                let (past, most) = ((Count::All, reach as usize), (MOST_ELEMENTS, most_cost));
                let grown = self.grown(&least, name, past, most);
                cases.extend(grown.map(|(free, _)| free));
            }
            found.extend(cases);
        }
        found
    }

    /// All sizes as small as they can be.
    fn least(&self) -> Dims {
        self.drawn.ranges.iter().map(|range| (range.name.clone(), range.min)).collect()
    }

    /// Few elements along each axis, but more than one.
    fn few(&self) -> Dims {
        let few = |range: &SizeRange| FEW.min(range.max).max(range.min);
        self.drawn.ranges.iter().map(|range| (range.name.clone(), few(range))).collect()
    }

    /// For each literal of an index as many sizes as the cost allows past it at once: what a kernel treats in its own way may be the
    /// second tile in all directions.
    pub fn past_together(&mut self, indices: &BTreeSet<i64>) -> Vec<Dims> {
        let drawn = self.drawn;
        let (least, few) = (self.least(), self.few());
        let mut found: Vec<Dims> = Vec::new();
        for &literal in indices.iter().rev().take(MOST_TOGETHER) {
            // A filter with one weight hides which of them is used.
            for start in [&least, &few] {
                let mut free = start.clone();
                let order = self.stream.permutation(drawn.ranges.len() as u32);
                // Twice, since a size may depend on one that comes later.
                for &at in order.iter().chain(&order) {
                    let range = &drawn.ranges[at as usize];
                    let size = literal + 2 + self.below(FEW as usize) as i64;
                    if free[&range.name] > literal || size > range.longest {
                        continue;
                    }
                    let grown = with_size(&free, range, size);
                    if drawn.allows(self.spec, &grown) && self.is_cheap(&grown, LONG_COST) {
                        free = grown;
                    }
                }
                let past = free.values().filter(|size| **size > literal).count();
                if past > 1 && !found.contains(&free) {
                    found.push(free);
                }
            }
        }
        found
    }
}
