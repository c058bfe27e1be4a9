//! Subscripts at fixed sizes: affine forms, intervals, values.

use crate::ast::{Int, IntKind, IntOp};
use crate::error::{Error, Result};
use crate::ir::IndexId;
use crate::shape::{Dims, apply, eval};

/// `constant + Σ coefficient · index`; each index once, no coefficient 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Affine {
    pub constant: i64,
    pub terms: Vec<(IndexId, i64)>,
}

impl Affine {
    fn constant(constant: i64) -> Self {
        Self { constant, terms: Vec::new() }
    }

    pub(crate) fn index(id: IndexId) -> Self {
        Self { constant: 0, terms: vec![(id, 1)] }
    }

    pub(crate) fn coefficient(&self, index: IndexId) -> i64 {
        self.terms.iter().find(|(id, _)| *id == index).map_or(0, |(_, coefficient)| *coefficient)
    }

    /// `self + factor · other`; `None` on overflow.
    pub(crate) fn plus(&self, factor: i64, other: &Self) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(factor.checked_mul(other.constant)?)?;
        for (id, coefficient) in &other.terms {
            let change = factor.checked_mul(*coefficient)?;
            match sum.terms.iter_mut().find(|(other, _)| other == id) {
                Some((_, sum)) => *sum = sum.checked_add(change)?,
                None => sum.terms.push((*id, change)),
            }
        }
        sum.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(sum)
    }
}

/// One subscript at fixed sizes.
#[derive(Clone, Debug)]
pub(crate) enum Sub {
    Affine(Affine),
    /// Constants and indices only.
    General(Int),
}

impl Sub {
    pub(crate) fn new(int: &Int, dims: &Dims) -> Result<Self> {
        let int = substitute(int, dims)?;
        Ok(match affine(&int)? {
            Some(affine) => Self::Affine(affine),
            None => Self::General(int),
        })
    }
}

/// Sizes replaced by their values, constant parts evaluated.
fn substitute(int: &Int, dims: &Dims) -> Result<Int> {
    let constant = |value| Int::new(IntKind::Const(value), int.span);
    Ok(match &int.kind {
        IntKind::Const(_) | IntKind::Index(_) => int.clone(),
        IntKind::Name(_) => constant(eval(int, dims, &|_| None)?),
        IntKind::Neg(inner) => {
            let inner = substitute(inner, dims)?;
            let whole = Int::new(IntKind::Neg(Box::new(inner)), int.span);
            fold(whole, dims)?
        }
        IntKind::Binary(op, left, right) => {
            let (left, right) = (substitute(left, dims)?, substitute(right, dims)?);
            let whole = IntKind::Binary(*op, Box::new(left), Box::new(right));
            fold(Int::new(whole, int.span), dims)?
        }
    })
}

/// `int` evaluated if its operands are constants.
fn fold(int: Int, dims: &Dims) -> Result<Int> {
    let constant = |operand: &Int| matches!(operand.kind, IntKind::Const(_));
    let all = match &int.kind {
        IntKind::Neg(inner) => constant(inner),
        IntKind::Binary(_, left, right) => constant(left) && constant(right),
        _ => false,
    };
    if !all {
        return Ok(int);
    }
    let value = eval(&int, dims, &|_| None)?;
    Ok(Int::new(IntKind::Const(value), int.span))
}

fn overflow(int: &Int) -> Error {
    Error::new(int.span, "this subscript does not fit 64 bits")
}

/// The affine form of an expression over constants and indices, if it is affine.
fn affine(int: &Int) -> Result<Option<Affine>> {
    let zero = Affine::default();
    Ok(match &int.kind {
        IntKind::Const(value) => Some(Affine::constant(*value)),
        IntKind::Index(id) => Some(Affine::index(*id)),
        IntKind::Name(_) => None,
        IntKind::Neg(inner) => match affine(inner)? {
            Some(inner) => Some(zero.plus(-1, &inner).ok_or_else(|| overflow(int))?),
            None => None,
        },
        IntKind::Binary(op, left, right) => {
            let (Some(a), Some(b)) = (affine(left)?, affine(right)?) else { return Ok(None) };
            let sum = match op {
                IntOp::Add => a.plus(1, &b),
                IntOp::Sub => a.plus(-1, &b),
                IntOp::Mul if a.terms.is_empty() => zero.plus(a.constant, &b),
                IntOp::Mul if b.terms.is_empty() => zero.plus(b.constant, &a),
                _ => return Ok(None),
            };
            Some(sum.ok_or_else(|| overflow(int))?)
        }
    })
}

/// An interval that holds every value of `int` where index `i` is in `ranges(i)`, ends included.
/// Exact where `int` is affine in indices that appear in one place only.
pub(crate) fn interval(int: &Int, ranges: &impl Fn(IndexId) -> (i64, i64)) -> Result<(i64, i64)> {
    if let Some(affine) = affine(int)? {
        return affine_interval(&affine, ranges).ok_or_else(|| overflow(int));
    }
    match &int.kind {
        IntKind::Const(value) => Ok((*value, *value)),
        IntKind::Index(id) => Ok(ranges(*id)),
        IntKind::Name(_) => Err(Error::new(int.span, "a size without a value")),
        IntKind::Neg(inner) => {
            let (low, high) = interval(inner, ranges)?;
            let negated = high.checked_neg().zip(low.checked_neg());
            negated.ok_or_else(|| overflow(int))
        }
        IntKind::Binary(op, left, right) => {
            let (a, b) = (interval(left, ranges)?, interval(right, ranges)?);
            let divides = matches!(op, IntOp::Div | IntOp::Mod | IntOp::CeilDiv);
            if divides && b.0 <= 0 && b.1 >= 0 {
                return Err(Error::new(right.span, "this divisor can be 0")
                    .help("divide by a size or a positive integer"));
            }
            if *op == IntOp::Mod {
                return Ok(mod_interval(a, b));
            }
            // The other operations are monotonic in each operand where the divisor keeps its sign.
            let mut ends = Vec::with_capacity(4);
            for x in [a.0, a.1] {
                for y in [b.0, b.1] {
                    let value = apply(*op, x, y);
                    ends.push(value.map_err(|problem| problem.at(int.span, right.span))?);
                }
            }
            let low = ends.iter().copied().fold(i64::MAX, i64::min);
            let high = ends.iter().copied().fold(i64::MIN, i64::max);
            Ok((low, high))
        }
    }
}

fn affine_interval(affine: &Affine, ranges: &impl Fn(IndexId) -> (i64, i64)) -> Option<(i64, i64)> {
    let (mut low, mut high) = (affine.constant, affine.constant);
    for (id, coefficient) in &affine.terms {
        let (first, last) = ranges(*id);
        let (a, b) = (coefficient.checked_mul(first)?, coefficient.checked_mul(last)?);
        low = low.checked_add(a.min(b))?;
        high = high.checked_add(a.max(b))?;
    }
    Some((low, high))
}

fn mod_interval(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    if b.0 == b.1 {
        let floor = |x| apply(IntOp::Div, x, b.0);
        let rest = |x| apply(IntOp::Mod, x, b.0);
        if let (Ok(first), Ok(last), Ok(low), Ok(high)) =
            (floor(a.0), floor(a.1), rest(a.0), rest(a.1))
            && first == last
        {
            return (low, high);
        }
    }
    if b.0 > 0 { (0, b.1 - 1) } else { (b.0 + 1, 0) }
}

/// The value of an expression that [`interval`] has accepted.
pub(crate) fn value(int: &Int, index: &impl Fn(IndexId) -> i64) -> i64 {
    match &int.kind {
        IntKind::Const(value) => *value,
        IntKind::Index(id) => index(*id),
        // Sizes were replaced by their values.
        IntKind::Name(_) => 0,
        IntKind::Neg(inner) => value(inner, index).wrapping_neg(),
        // Neither overflow nor a zero divisor is left: the interval was computed.
        IntKind::Binary(op, left, right) => {
            apply(*op, value(left, index), value(right, index)).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::span::Span;

    fn int() -> impl Strategy<Value = Int> {
        let leaf =
            prop_oneof![(-5_i64..6).prop_map(Int::constant), (0_usize..3).prop_map(Int::index),];
        leaf.prop_recursive(4, 16, 2, |inner| {
            let ops = [
                IntOp::Add,
                IntOp::Sub,
                IntOp::Mul,
                IntOp::Div,
                IntOp::Mod,
                IntOp::CeilDiv,
                IntOp::Min,
                IntOp::Max,
            ];
            prop_oneof![
                1 => inner.clone().prop_map(|int| {
                    Int::new(IntKind::Neg(Box::new(int)), Span::default())
                }),
                4 => (select(ops.to_vec()), inner.clone(), inner)
                    .prop_map(|(op, a, b)| Int::binary(op, a, b)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn intervals_hold_every_value(int in int(), ends in prop::array::uniform3(0_i64..5)) {
            let Ok((low, high)) = interval(&int, &|id| (0, ends[id])) else { return Ok(()) };
            let (mut least, mut most) = (i64::MAX, i64::MIN);
            for a in 0..=ends[0] {
                for b in 0..=ends[1] {
                    for c in 0..=ends[2] {
                        let found = value(&int, &|id| [a, b, c][id]);
                        (least, most) = (least.min(found), most.max(found));
                        // A divisor that can be 0 was refused.
                        let checked = eval(&int, &Dims::new(), &|id| Some([a, b, c][id]));
                        prop_assert_eq!(checked, Ok(found));
                    }
                }
            }
            prop_assert!(low <= least && most <= high, "{low}..{high} for {least}..{most}");
            if affine(&int).is_ok_and(|affine| affine.is_some()) {
                prop_assert_eq!((low, high), (least, most));
            }
        }
    }
}
