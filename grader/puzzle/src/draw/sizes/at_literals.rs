//! Sizes at the literals that a kernel compares sizes with.

use super::past::MOST_ELEMENTS;
use super::{Drawer, LONG_COST, with_size};
use crate::draw::SizeLiteral;
use indexmath::{DimExpr, Dims};
use spec::SizeRange;

/// Cases of a set of kernels at its literals: many more than a kernel without special code has.
const MOST: usize = 48;

/// Smaller literals beside a single size are in the code of any loop that the compiler unrolls, and small cases have all such sizes.
const SMALLEST: i64 = 5;

/// The same of a literal that a size is equal to in special code: loops do not ask that of a size.
const SMALLEST_EQUAL: i64 = 2;

/// How many literals are looked at: special code names few, and a kernel may name thousands.
const MOST_LITERALS: usize = 12;

/// How many sets of literals are given up, at which no sizes were found.
const MOST_FAILED: usize = 48;

/// How often other sizes are drawn for some literals: so often of any size, then so often of smaller ones, then of the smallest.
const DRAWS: usize = 8;

/// How many cases have the same sizes at literals, if there are few of these.
const MOST_ALIKE: usize = 12;

/// How many literals a case has at once, but for one that has all.
const AT_ONCE: usize = 3;

/// What is added to one, two or three literals of an order, in this order: a comparison of any kind holds at the literal, or beside it on one
/// side.
const BESIDE: [[i64; AT_ONCE]; 13] = [
    [0, 0, 0],
    [1, 1, 1],
    [-1, -1, -1],
    [1, -1, 1],
    [-1, 1, 1],
    [1, 1, -1],
    [1, -1, -1],
    [-1, 1, -1],
    [-1, -1, 1],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
];

/// How many literals have cases of their own that no cheap case reaches, and what such a case may cost.
const MOST_FAR: usize = 3;
const FAR_COST: u64 = 1 << 23;

/// Takes one of random values, smaller ones in later attempts.
type Choice = fn(&mut dyn Iterator<Item = i64>, usize) -> Option<i64>;

/// How the other sizes are drawn, and what the case may cost: the smallest of some values, the largest, or the smallest that is not 1, later
/// that of half of the sizes, since with a single pixel much is the same whichever of them is taken.
const OTHERS: [(Choice, u64); 3] = [
    (|values, attempt| values.take(1 + attempt.max(1)).min(), LONG_COST / 2),
    (
        |values, attempt| match attempt {
            0 => values.take(2).max(),
            _ => values.take(1 + attempt).min(),
        },
        LONG_COST / 2,
    ),
    (
        |values, attempt| {
            let may_be_one = attempt > 0 && values.next()? % 2 == 0;
            values.take(MANY).min_by_key(|size| (*size < 2 && !may_be_one, *size))
        },
        LONG_COST,
    ),
];

/// Of so many random values the smallest is that of the range, most often.
const MANY: usize = 12;

impl Drawer<'_> {
    /// Cases in which an expression of sizes has the value that stands beside it, for each of these; then two and three of them at
    /// once, for conditions on several sizes, and all; then one more or one less in some of them, unless a kernel only asks whether
    /// they are equal.
    pub fn at_literals<'l>(&mut self, mut literals: Vec<&'l SizeLiteral>) -> Vec<Dims> {
        // Of a number of blocks, small cases have the least values alone.
        let largest = self.drawn.ranges.iter().map(|range| (range.name.clone(), range.max));
        let largest: Dims = largest.collect();
        let is_special = |literal: &&SizeLiteral| {
            let least = if literal.is_equality { SMALLEST_EQUAL } else { SMALLEST };
            let names = literal.of.names().len();
            names > 1
                || names == 1
                    && (literal.at >= least
                        || self.value(&literal.of, &largest).is_some_and(|most| literal.at > most))
        };
        literals.retain(is_special);
        while literals.len() > MOST_LITERALS {
            let one = self.below(literals.len());
            literals.swap_remove(one);
        }
        // What no case has alone, none has beside another one.
        let mut far: Vec<&SizeLiteral> = Vec::new();
        literals.retain(|literal @ SizeLiteral { of, at, .. }| {
            let beside = [*at, at.saturating_add(1), at.saturating_sub(1)];
            let is_near =
                beside.iter().any(|&at| self.with_values(&[(of, at)], OTHERS[0]).is_some());
            if !is_near {
                far.push(literal);
            }
            is_near
        });
        let far: Vec<Dims> =
            far.into_iter().filter_map(|far| self.far(far)).take(MOST_FAR).collect();
        let mut targets: Vec<Vec<(&'l DimExpr, i64)>> = Vec::new();
        let sets = sets_of(&literals);
        for beside in BESIDE {
            let mut of_round: Vec<&Vec<&SizeLiteral>> =
                sets.iter().take(MOST + MOST_FAILED).collect();
            // Most special code that needs several sizes needs two.
            if beside != BESIDE[0] {
                of_round.sort_by_key(|set| set.len() != 2);
            }
            for set in of_round {
                let added = |(literal, more): (&&'l SizeLiteral, &i64)| {
                    let more = if literal.is_equality { 0 } else { *more };
                    (&literal.of, literal.at.saturating_add(more))
                };
                let mut target: Vec<(&'l DimExpr, i64)> =
                    set.iter().zip(&beside).map(added).collect();
                // A size that two literals name is fixed by the one that names it alone.
                target.sort_by_key(|(of, _)| of.names().len());
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
            if beside == BESIDE[0] && literals.len() > AT_ONCE {
                targets.push(literals.iter().map(|literal| (&literal.of, literal.at)).collect());
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
        found.extend(far);
        found
    }

    /// One case in which an expression of sizes is past a literal, or equal to it if only that is asked, with all other sizes as small as they
    /// can be, for a literal that no cheap case reaches.
    fn far(&self, literal: &SizeLiteral) -> Option<Dims> {
        let drawn = self.drawn;
        let least: Dims = drawn.ranges.iter().map(|r| (r.name.clone(), r.min)).collect();
        // Of a number of blocks, the least size with one more has a single element there.
        let past: &[i64] = if literal.is_equality { &[0] } else { &[2, 1] };
        past.iter().filter_map(|more| literal.at.checked_add(*more)).find_map(|wanted| {
            drawn.ranges.iter().find_map(|range| {
                let free = self.solve(&least, range, (&literal.of, wanted))?;
                (drawn.allows(self.spec, &free) && self.fits(&free, MOST_ELEMENTS, FAR_COST))
                    .then_some(free)
            })
        })
    }

    /// Sizes at which these expressions have these values, the others as `choose` takes them, at this cost at most.
    fn with_values(
        &mut self,
        wanted: &[(&DimExpr, i64)],
        (choose, cost): (Choice, u64),
    ) -> Option<Dims> {
        let drawn = self.drawn;
        (0..3 * DRAWS).find_map(|i| {
            // Smaller and smaller at last, until they are cheap enough.
            let mut free = self.random(None, |values| choose(values, i / DRAWS));
            for (nth, &(of, value)) in wanted.iter().enumerate() {
                // What holds already stays so.
                let holds = |free: &Dims| {
                    wanted[..nth].iter().all(|(of, value)| self.value(of, free) == Some(*value))
                };
                let set = |range: &SizeRange| {
                    self.solve(&free, range, (of, value)).filter(|free| holds(free))
                };
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
            (is_so && drawn.allows(self.spec, &free) && self.is_cheap(&free, cost)).then_some(free)
        })
    }

    fn value(&self, of: &DimExpr, free: &Dims) -> Option<i64> {
        let all = self.spec.sizes.derive(&self.spec.text, free.clone()).ok()?;
        of.eval(&all).ok()
    }

    /// The sizes with another value of one of them, at which an expression that grows or falls with it is `wanted`.
    fn solve(&self, free: &Dims, range: &SizeRange, (of, wanted): (&DimExpr, i64)) -> Option<Dims> {
        let with = |size: i64| with_size(free, range, size);
        [i64::lt as fn(&i64, &i64) -> bool, i64::gt].into_iter().find_map(|is_short| {
            let (mut low, mut high) = (range.min - 1, range.longest);
            while high - low > 1 {
                let middle = low.midpoint(high);
                // Where it is not possible, the size is too small.
                if self.value(of, &with(middle)).is_none_or(|value| is_short(&value, &wanted)) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            (self.value(of, &with(high)) == Some(wanted)).then(|| with(high))
        })
    }
}

/// The literals one by one, then two and three at once of those of different expressions.
fn sets_of<'l>(literals: &[&'l SizeLiteral]) -> Vec<Vec<&'l SizeLiteral>> {
    let mut all: Vec<Vec<&SizeLiteral>> = Vec::new();
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..AT_ONCE {
        let mut longer: Vec<Vec<usize>> = Vec::new();
        for set in &sets {
            let first = set.last().map_or(0, |last| last + 1);
            let is_other = |of: &DimExpr| set.iter().all(|&at| literals[at].of != *of);
            let next = (first..literals.len()).filter(|&next| is_other(&literals[next].of));
            longer.extend(next.map(|next| set.iter().copied().chain([next]).collect::<Vec<_>>()));
        }
        all.extend(longer.iter().map(|set| set.iter().map(|&at| literals[at]).collect()));
        sets = longer;
    }
    all
}
