//! The iterations of a sum outside of which its terms are 0: what is scattered, as `select(index(h) == index(i + p), x[i], 0)`, is
//! 0 nearly everywhere.

use crate::syntax::operators::{Comparison, Condition, Connective, Reduction};
use crate::variants::code::{Code, Int, Linear, Loop};

/// A comparison of integers. Where it does not hold, the term is 0, and nothing is read to know it.
pub(super) struct Limit<'c> {
    comparison: Comparison,
    left: &'c Linear,
    right: &'c Linear,
    /// The loop in which it is known.
    pub depth: usize,
    /// The iterations of the loops inside of that.
    pub inside: u64,
}

impl Limit<'_> {
    pub(super) fn holds(&self, env: &[i64]) -> bool {
        self.comparison.holds(self.left.value(env) as f64, self.right.value(env) as f64)
    }
}

/// The limits of `body` in these loops. `current` is what stands in the place of a code.
pub(super) fn limits<'c>(
    kind: Reduction,
    ranges: &[Loop],
    body: &'c Code,
    current: &dyn Fn(&'c Code) -> &'c Code,
) -> Vec<Limit<'c>> {
    let mut limits = Vec::new();
    if let (Reduction::Sum, Code::Select(condition, _, no)) = (kind, current(body))
        && let Code::Number(0.0) = current(no)
    {
        add(condition, ranges, current, &mut limits);
    }
    limits
}

/// Adds the comparisons of integers that come first in a condition, all of which must hold. Whether it consists of such.
fn add<'c>(
    condition: &'c Condition<Code>,
    ranges: &[Loop],
    current: &dyn Fn(&'c Code) -> &'c Code,
    limits: &mut Vec<Limit<'c>>,
) -> bool {
    match condition {
        Condition::Compare(comparison, left, right) => {
            let (Code::Int(Int::Linear(left)), Code::Int(Int::Linear(right))) =
                (current(left), current(right))
            else {
                return false;
            };
            let indices = || left.indices().chain(right.indices());
            let uses = |range: &Loop| indices().any(|index| index == range.index);
            let known = ranges.iter().rposition(uses).unwrap_or(0);
            // What is inside must be counted, or nothing may be.
            let last = ranges.len().saturating_sub(1);
            let (depth, inside) = inside(ranges, known).map_or((last, 1), |inside| (known, inside));
            limits.push(Limit { comparison: *comparison, left, right, depth, inside });
            true
        }
        Condition::Join(Connective::And, left, right) => {
            add(left, ranges, current, limits) && add(right, ranges, current, limits)
        }
        Condition::Join(Connective::Or, ..) => false,
    }
}

/// The iterations of the loops inside of one, if they are always as many.
fn inside(ranges: &[Loop], depth: usize) -> Option<u64> {
    let mut sizes = ranges.iter().skip(depth + 1).map(Loop::constant_size);
    sizes.try_fold(1, |product: u64, size| product.checked_mul(size?))
}
