//! Sizes around the multiples of a block.

use super::{Drawer, LONG_COST, TRIES};
use indexmath::Dims;
use spec::SizeRange;
use std::collections::VecDeque;

/// A multiple of a block is far if it is above this, if the cost allows.
const FAR: i64 = 1_024;

impl Drawer<'_> {
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
}

/// Whether a size is that of a far multiple of a block, or one beside it.
pub(in crate::draw) fn is_far(free: &Dims) -> bool {
    free.values().any(|&size| size >= FAR)
}
