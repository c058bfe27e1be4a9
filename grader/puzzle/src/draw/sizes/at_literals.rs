//! Sizes at the literals that a kernel compares sizes with.

use super::{Drawer, LONG_COST, with_size};
use crate::spec::SizeRange;
use indexmath::{DimExpr, Dims};

/// Cases of a set of kernels at its literals: many more than a kernel without special code has.
const MOST: usize = 48;

/// Smaller literals beside a single size are in the code of any loop that the compiler unrolls, and small cases have all such sizes.
const SMALLEST: i64 = 5;

/// How many literals are looked at: special code names few, and a kernel may name thousands.
const MOST_LITERALS: usize = 12;

/// How many sets of literals are given up, at which no sizes were found.
const MOST_FAILED: usize = 48;

/// How often other sizes are drawn for some literals: so often of any size, then so often of smaller ones, then of the smallest.
const DRAWS: usize = 8;

/// How many cases have the same sizes at literals, if there are few of these.
const MOST_ALIKE: usize = 6;

/// What is added to the literals of a pair, in this order: a comparison may be of any kind.
const BESIDE: [(i64, i64); 9] =
    [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1), (0, -1), (1, -1), (-1, -1)];

/// Takes one of some values.
type Choice = fn(&mut dyn Iterator<Item = i64>) -> Option<i64>;

/// How the other sizes are drawn: the smallest of some values, or the largest.
const OTHERS: [Choice; 2] = [|values| values.min(), |values| values.max()];

impl Drawer<'_> {
    /// Cases in which an expression of sizes has the value that stands beside it, for each of these; then two of them at once, for
    /// conditions on two sizes, and all; then one more or one less in one of them or in both.
    pub fn at_literals(&mut self, sizes: &[(&DimExpr, i64)]) -> Vec<Dims> {
        let is_special = |(of, at): &(&DimExpr, i64)| *at >= SMALLEST || of.names().len() > 1;
        let mut sizes: Vec<_> = sizes.iter().copied().filter(is_special).collect();
        while sizes.len() > MOST_LITERALS {
            let one = self.below(sizes.len());
            sizes.swap_remove(one);
        }
        // What no case has alone, none has beside another one.
        sizes.retain(|&(of, at)| {
            let beside = [at, at.saturating_add(1), at.saturating_sub(1)];
            beside.iter().any(|&at| self.with_values(&[(of, at)], OTHERS[0]).is_some())
        });
        let pairs = sizes.iter().enumerate().flat_map(|(i, first)| {
            let others = sizes[..i].iter().filter(|(other, _)| *other != first.0);
            others.map(move |other| [*first, *other])
        });
        let pairs: Vec<[(&DimExpr, i64); 2]> = pairs.collect();
        let mut targets: Vec<Vec<(&DimExpr, i64)>> = Vec::new();
        for (first, second) in BESIDE {
            if second == 0 {
                targets.extend(sizes.iter().map(|&(of, at)| vec![(of, at.saturating_add(first))]));
            }
            let beside = |[a, b]: &[(_, i64); 2]| {
                vec![(a.0, a.1.saturating_add(first)), (b.0, b.1.saturating_add(second))]
            };
            targets.extend(pairs.iter().map(beside));
            if (first, second) == (0, 0) && sizes.len() > 2 {
                targets.push(sizes.clone());
            }
        }
        let draws = (MOST / targets.len().max(1)).clamp(OTHERS.len(), MOST_ALIKE);
        let mut found: Vec<Dims> = Vec::new();
        let mut failed = 0;
        for wanted in targets {
            let mut is_possible = false;
            for others in OTHERS.into_iter().cycle().take(draws) {
                let free = self.with_values(&wanted, others);
                is_possible |= free.is_some();
                found.extend(free.filter(|free| !found.contains(free)));
            }
            failed += usize::from(!is_possible);
            if found.len() >= MOST || failed > MOST_FAILED {
                break;
            }
        }
        found
    }

    /// Sizes at which these expressions have these values, the others as `choose` takes them.
    fn with_values(&mut self, wanted: &[(&DimExpr, i64)], choose: Choice) -> Option<Dims> {
        let drawn = self.drawn;
        (0..3 * DRAWS).find_map(|i| {
            // Smaller and smaller at last, until they are cheap enough.
            let mut free = match (i / DRAWS).checked_sub(1) {
                None => self.random(None, |values| choose(&mut values.take(2))),
                Some(more) => self.random(None, |values| values.take(1 + more).min()),
            };
            for &(of, value) in wanted {
                let set = |range: &SizeRange| self.solve(&free, range, (of, value));
                let (range, solved) =
                    drawn.ranges.iter().find_map(|range| Some((range, set(range)?)))?;
                free = solved;
                // Every other time what it depends on is as large: a filter of 17 rows needs as many of the image.
                let (size, partners) = (free[&range.name], drawn.partners(&range.name));
                let others = drawn.ranges.iter().filter(|other| partners.contains(&other.name));
                for other in others.filter(|_| i % 2 == 1) {
                    if free[&other.name] >= size {
                        continue;
                    }
                    let larger = size + self.below(4) as i64;
                    free.insert(other.name.clone(), larger.min(other.longest));
                }
            }
            let is_so = wanted.iter().all(|(of, value)| self.value(of, &free) == Some(*value));
            (is_so && drawn.allows(self.spec, &free) && self.is_cheap(&free, LONG_COST / 2))
                .then_some(free)
        })
    }

    fn value(&self, of: &DimExpr, free: &Dims) -> Option<i64> {
        let all = self.spec.sizes.derive(&self.spec.text, free.clone()).ok()?;
        of.eval(&all).ok()
    }

    /// The sizes with another value of one of them, at which an expression that grows with it is `wanted`.
    fn solve(&self, free: &Dims, range: &SizeRange, (of, wanted): (&DimExpr, i64)) -> Option<Dims> {
        let with = |size: i64| with_size(free, range, size);
        let (mut low, mut high) = (range.min - 1, range.longest);
        while high - low > 1 {
            let middle = low.midpoint(high);
            // Where it is not possible, the size is too small.
            if self.value(of, &with(middle)).is_none_or(|value| value < wanted) {
                low = middle;
            } else {
                high = middle;
            }
        }
        (self.value(of, &with(high)) == Some(wanted)).then(|| with(high))
    }
}
