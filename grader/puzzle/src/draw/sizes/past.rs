//! Sizes with which indices pass the integers past which a kernel may treat them in another way.

use super::long::{BEYOND, Count};
use super::{Drawer, with_size};
use indexmath::Dims;
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

impl Drawer<'_> {
    /// For each reach the sizes that pass it, one by one, with the others as small as they can be; then those with which a tensor has
    /// more elements than that, if none of these has. Two neighbours pass a shorter one: of loops that are unrolled, only the tail may
    /// use the index.
    pub fn past(&mut self, reaches: &BTreeSet<i64>) -> Vec<Dims> {
        let drawn = self.drawn;
        let least: Dims = drawn.ranges.iter().map(|r| (r.name.clone(), r.min)).collect();
        let mut found = Vec::new();
        for &reach in reaches.iter().rev().take(MOST_REACHES) {
            let mut cases: Vec<Dims> = Vec::new();
            let (most_cost, neighbours) =
                if reach < SHORTER { (SHORTER_COST, 2) } else { (MOST_COST, 1) };
            for range in drawn.ranges.iter().filter(|range| range.longest > reach) {
                // The index of the last element is one less.
                let size = reach + 2 + self.below(BEYOND) as i64;
                let long = (size..size + neighbours).map(|size| with_size(&least, range, size));
                let fits = |long: &Dims| {
                    drawn.allows(self.spec, long) && self.fits(long, MOST_ELEMENTS, most_cost)
                };
                cases.extend(long.filter(fits));
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
}
