//! Interval arithmetic: between which bounds the values of an integer expression lie (Moore, "Interval Analysis", 1966).

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::integer::affine::{Affine, overflow};
use crate::integer::arithmetic::{MAX_SHIFT, apply};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};

/// The integers `low ..= high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: i64,
    pub high: i64,
}

impl Interval {
    /// The values of an element of a tensor of this type; 0 alone if it is not one of integers.
    #[inline]
    pub fn of_type(dtype: DType) -> Self {
        let (low, high) = dtype.integers().unwrap_or((0, 0));
        Self { low, high }
    }

    /// The interval from the least to the greatest of `values`.
    fn hull(values: [i64; 4]) -> Self {
        let low = values.into_iter().fold(i64::MAX, i64::min);
        let high = values.into_iter().fold(i64::MIN, i64::max);
        Self { low, high }
    }

    /// An interval that holds every value of `int` where index `i` lies in `ranges(i)`. It is the smallest one where
    /// `int` is affine.
    ///
    /// # Errors
    /// A divisor that can be 0, and bounds that do not fit into 64 bits.
    pub fn of(int: &IntExpr, ranges: &impl Fn(usize) -> Self) -> Result<Self> {
        if let Some(affine) = Affine::of(int)? {
            return Self::of_affine(&affine, ranges).ok_or_else(|| overflow(int));
        }
        match &int.kind {
            IntKind::Const(value) => Ok(Self { low: *value, high: *value }),
            IntKind::Index(id) => Ok(ranges(*id)),
            IntKind::Name(_) => Err(Error::new(int.span, "a size without a value")),
            // Lowering puts an index of its own in this place.
            IntKind::Element(_) => Err(Error::new(int.span, "an element of an unknown tensor")),
            IntKind::Neg(inner) => {
                let inner = Self::of(inner, ranges)?;
                let negated = inner.high.checked_neg().zip(inner.low.checked_neg());
                negated.map(|(low, high)| Self { low, high }).ok_or_else(|| overflow(int))
            }
            IntKind::Binary(op, left, right) => {
                let (a, b) = (Self::of(left, ranges)?, Self::of(right, ranges)?);
                let divides = matches!(op, IntOp::Div | IntOp::Mod | IntOp::CeilDiv);
                if divides && b.low <= 0 && b.high >= 0 {
                    return Err(Error::new(right.span, "this divisor can be 0")
                        .help("divide by a size or a positive integer"));
                }
                match op {
                    IntOp::Mod => return Ok(Self::of_remainder(a, b)),
                    IntOp::And | IntOp::Or | IntOp::Xor => return Ok(Self::of_bits(*op, a, b)),
                    IntOp::ShiftLeft | IntOp::ShiftRight if b.low < 0 || b.high > MAX_SHIFT => {
                        let message = "this shift can be by less than 0 or more than 62 places";
                        return Err(
                            Error::new(right.span, message).help("cut it: `& 31`, for example")
                        );
                    }
                    _ => {}
                }
                // The other operations are monotonic in each operand where the divisor keeps its sign.
                let corner = |x, y| apply(*op, x, y).map_err(|_| overflow(int));
                Ok(Self::hull([
                    corner(a.low, b.low)?,
                    corner(a.low, b.high)?,
                    corner(a.high, b.low)?,
                    corner(a.high, b.high)?,
                ]))
            }
        }
    }

    /// The interval of an affine form; `None` on overflow.
    pub fn of_affine(affine: &Affine, ranges: &impl Fn(usize) -> Self) -> Option<Self> {
        let (mut low, mut high) = (affine.constant, affine.constant);
        for (id, coefficient) in &affine.terms {
            let range = ranges(*id);
            let (a, b) =
                (coefficient.checked_mul(range.low)?, coefficient.checked_mul(range.high)?);
            low = low.checked_add(a.min(b))?;
            high = high.checked_add(a.max(b))?;
        }
        Some(Self { low, high })
    }

    /// An interval of a bitwise operation: of as many bits as the operands have.
    fn of_bits(op: IntOp, a: Self, b: Self) -> Self {
        let size = |value: i64| if value < 0 { !value } else { value };
        let largest = [a.low, a.high, b.low, b.high].map(size).into_iter().max().unwrap_or(0);
        let bits = i64::BITS - largest.leading_zeros();
        let high = if bits >= 63 { i64::MAX } else { (1 << bits) - 1 };
        match op {
            IntOp::And if a.low >= 0 && b.low >= 0 => Self { low: 0, high: a.high.min(b.high) },
            IntOp::And if a.low >= 0 => Self { low: 0, high: a.high },
            IntOp::And if b.low >= 0 => Self { low: 0, high: b.high },
            _ if a.low >= 0 && b.low >= 0 => Self { low: 0, high },
            _ => Self { low: !high, high },
        }
    }

    /// The interval of `a mod b`, where `b` does not hold 0.
    fn of_remainder(a: Self, b: Self) -> Self {
        if b.low == b.high {
            let quotient = |x| apply(IntOp::Div, x, b.low);
            let remainder = |x| apply(IntOp::Mod, x, b.low);
            if let (Ok(first), Ok(last), Ok(low), Ok(high)) =
                (quotient(a.low), quotient(a.high), remainder(a.low), remainder(a.high))
                && first == last
            {
                return Self { low, high };
            }
        }
        if b.low > 0 { Self { low: 0, high: b.high - 1 } } else { Self { low: b.low + 1, high: 0 } }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::integer::evaluate::{Dims, evaluate, evaluate_proved};

    fn int() -> impl Strategy<Value = IntExpr> {
        let leaf = prop_oneof![
            (-5_i64..6).prop_map(IntExpr::constant),
            (0_usize..3).prop_map(IntExpr::index),
        ];
        leaf.prop_recursive(4, 16, 2, |inner| {
            prop_oneof![
                1 => inner.clone().prop_map(IntExpr::negate),
                4 => (select(IntOp::ALL.to_vec()), inner.clone(), inner)
                    .prop_map(|(op, a, b)| IntExpr::binary(op, a, b)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn intervals_hold_every_value(int in int(), ends in prop::array::uniform3(0_i64..5)) {
            let ranges = |id: usize| Interval { low: 0, high: ends[id] };
            let Ok(Interval { low, high }) = Interval::of(&int, &ranges) else { return Ok(()) };
            let (mut least, mut most) = (i64::MAX, i64::MIN);
            for a in 0..=ends[0] {
                for b in 0..=ends[1] {
                    for c in 0..=ends[2] {
                        let found = evaluate_proved(&int, &|id| [a, b, c][id]);
                        (least, most) = (least.min(found), most.max(found));
                        // A divisor that can be 0 was refused.
                        let checked = evaluate(&int, &Dims::new(), &|id| Some([a, b, c][id]));
                        prop_assert_eq!(checked, Ok(found));
                    }
                }
            }
            prop_assert!(low <= least && most <= high, "{low}..{high} for {least}..{most}");
            if Affine::of(&int).is_ok_and(|affine| affine.is_some()) {
                prop_assert_eq!((low, high), (least, most));
            }
        }
    }
}
