//! What is known about the values of an expression at all iterations, before any of them is computed: how
//! many roundings there are at most, whether the values can be exact, and whether they are irregular enough for roundings to
//! be unrelated. A profile is an abstract value, and its operations are the transfer functions, in the sense of abstract
//! interpretation (Cousot and Cousot, "Abstract Interpretation: A Unified Lattice Model for Static Analysis of Programs",
//! POPL 1977).

use crate::dtype::DType;
use crate::rounding::functions;
use crate::syntax::operators::{Function, Op};

/// Data of so few different values count as a repeating pattern.
const PATTERN: usize = 16;

/// Neighbours that differ by less than this part of the standard deviation make a smooth curve.
const SMOOTH: f64 = 0.25;

/// Data are irregular enough for a sum of `n` terms if their coefficient of variation is at least `n` times this.
const VARIATION_PER_TERM: f64 = 1.0 / (1 << 20) as f64;

/// What is known about the values of an expression at all iterations. A value is a sum of terms, each a product of factors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundingProfile {
    /// The number of roundings inside a term, at most.
    pub roundings: f64,
    /// The number of additions inside a term's factors, at most: they become roundings where the value is itself a factor.
    pub additions: f64,
    /// All terms are multiples of `2^-fraction_bits`; `None` where no such number is known.
    pub fraction_bits: Option<i32>,
    /// The coefficient of variation of the terms' sizes: their standard deviation relative to their mean. It is 0 for data
    /// that are regular, and for values of which nothing is known.
    pub variation: f64,
    /// Whether a factor is a sum whose roundings may be correlated.
    pub correlated: bool,
    /// The value, where it is a constant.
    pub constant: Option<f64>,
    /// No sum of the sizes of the terms is greater, with all sums multiplied out; 0 where nothing is known.
    pub largest: f64,
}

impl RoundingProfile {
    /// The profile of no value at all: the neutral element of [`Self::either`].
    pub(crate) const EXACT: Self = Self {
        roundings: 0.0,
        additions: 0.0,
        fraction_bits: Some(0),
        variation: f64::INFINITY,
        correlated: false,
        constant: None,
        largest: 0.0,
    };

    /// The profile of values as they lie in memory.
    pub(crate) fn of_data(values: &[f64]) -> Self {
        let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let (fraction_bits, variation) = (fraction_bits(values), variation(values));
        Self { fraction_bits, variation, largest, ..Self::EXACT }
    }

    /// The profile of a number in a formula, which a kernel that computes in `dtype` may have to round.
    pub(crate) fn of_number(value: f64, dtype: DType) -> Self {
        let exact = dtype == DType::F64 || f64::from(value as f32) == value;
        Self {
            roundings: if exact { 0.0 } else { 1.0 },
            fraction_bits: fraction_bits(&[value]),
            variation: 0.0,
            constant: Some(value),
            largest: value.abs(),
            ..Self::EXACT
        }
    }

    /// Whether the roundings of a sum of `terms` such terms may be correlated, so that they add up instead of cancelling.
    pub(crate) fn may_correlate(&self, terms: f64) -> bool {
        self.correlated || self.variation < terms * VARIATION_PER_TERM
    }

    /// The number of roundings on the way to the value where it is a factor.
    pub(crate) fn path(&self) -> f64 {
        self.roundings + self.additions
    }

    /// The profile of the values once they are enclosed: the roundings so far are an error of their own.
    pub(crate) fn enclosed(self) -> Self {
        Self { roundings: 0.0, additions: 0.0, correlated: false, ..self }
    }

    /// The profile of a function of enclosed values. How irregular its values are is not known, so that they count as
    /// regular; only a zero changes nothing (`max(x, 0)`).
    pub(crate) fn call(function: Function, a: Self, b: Self) -> Self {
        let constant = a.constant.zip(b.constant).map(|(a, b)| functions::value(function, a, b));
        let unknown = Self { fraction_bits: None, variation: 0.0, constant, ..Self::EXACT };
        match function {
            Function::Abs => Self { constant: a.constant.map(f64::abs), ..a },
            Function::Cast(_) => {
                Self { constant: a.constant.map(|a| functions::value(function, a, a)), ..a }
            }
            Function::Max | Function::Min => {
                let variation = match (a.constant, b.constant) {
                    (_, Some(0.0)) => a.variation,
                    (Some(0.0), _) => b.variation,
                    _ => 0.0,
                };
                let largest = a.largest.max(b.largest);
                Self { fraction_bits: Self::finer(a, b), variation, largest, ..unknown }
            }
            _ => {
                let fraction_bits = constant.and_then(|value| fraction_bits(&[value]));
                Self { fraction_bits, ..unknown }
            }
        }
    }

    /// The profile of values each of which is one of `a` or one of `b`: their least upper bound.
    pub(crate) fn either(a: Self, b: Self) -> Self {
        Self {
            roundings: a.roundings.max(b.roundings),
            additions: a.additions.max(b.additions),
            fraction_bits: Self::finer(a, b),
            variation: a.variation.min(b.variation),
            correlated: a.correlated || b.correlated,
            constant: None,
            largest: a.largest.max(b.largest),
        }
    }

    /// Whether a sum of terms may round, or its terms once they are multiplied out.
    pub(crate) fn may_round(&self, exact_up_to: f64) -> bool {
        self.fraction_bits.is_none_or(|bits| self.largest * 2_f64.powi(bits) > exact_up_to)
    }

    /// The fraction bits that hold the values of both.
    fn finer(a: Self, b: Self) -> Option<i32> {
        a.fraction_bits.zip(b.fraction_bits).map(|(a, b)| a.max(b))
    }

    /// The profile of `a op b`.
    pub(crate) fn binary(op: Op, a: Self, b: Self) -> Self {
        let product = Self {
            roundings: a.path() + b.path() + 1.0,
            additions: 0.0,
            fraction_bits: None,
            variation: a.variation.max(b.variation),
            correlated: a.correlated || b.correlated,
            constant: None,
            largest: a.largest * b.largest,
        };
        match op {
            // A sum's terms are those of both.
            Op::Add | Op::Sub => Self {
                additions: a.additions + b.additions + 1.0,
                largest: a.largest + b.largest,
                ..Self::either(a, b)
            },
            Op::Mul => {
                let bits = a.fraction_bits.zip(b.fraction_bits).map(|(a, b)| a + b);
                Self {
                    fraction_bits: bits.filter(|bits| *bits <= MAX_FRACTION_BITS),
                    constant: a.constant.zip(b.constant).map(|(a, b)| a * b),
                    ..product
                }
            }
            Op::Div => {
                let shift = b.constant.and_then(power_of_two).zip(a.fraction_bits);
                Self {
                    // A multiplication by the reciprocal rounds twice, a quick division once more.
                    roundings: a.path() + b.path() + 3.0,
                    fraction_bits: shift.map(|(power, a)| (a + power).max(0)),
                    constant: a.constant.zip(b.constant).map(|(a, b)| a / b),
                    largest: b.constant.map_or(0.0, |b| a.largest / b.abs()),
                    ..product
                }
            }
        }
    }
}

/// The greatest number of fraction bits that counts: products of multiples of 2^-60 stay far from the subnormal numbers of binary32.
const MAX_FRACTION_BITS: i32 = 60;

/// The least `n >= 0` so that all values are multiples of `2^-n`, if there is one up to [`MAX_FRACTION_BITS`].
fn fraction_bits(values: &[f64]) -> Option<i32> {
    let mut fraction_bits = 0;
    for &value in values {
        if value == 0.0 || (value.fract() == 0.0 && value.is_finite()) {
            continue;
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32;
        if exponent == 0 || exponent == 0x7ff {
            return None;
        }
        let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
        // value = mantissa · 2^(exponent - 1075)
        let lowest = exponent - 1075 + mantissa.trailing_zeros() as i32;
        fraction_bits = fraction_bits.max(-lowest);
    }
    (fraction_bits <= MAX_FRACTION_BITS).then_some(fraction_bits)
}

/// The exponent `k` of a value that is ±2^k.
fn power_of_two(value: f64) -> Option<i32> {
    let mantissa = value.to_bits() & ((1 << 52) - 1);
    (value.is_normal() && mantissa == 0).then(|| ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023)
}

/// The coefficient of variation of the sizes of the values that are not 0; 0 where they are a few repeated values or follow a
/// smooth curve.
fn variation(values: &[f64]) -> f64 {
    let mut seen: Vec<f64> = Vec::with_capacity(PATTERN + 1);
    let (mut count, mut sum, mut squares, mut steps) = (0.0, 0.0, 0.0, 0.0);
    let mut before = None;
    for size in values.iter().map(|value| value.abs()).filter(|size| *size != 0.0) {
        if seen.len() <= PATTERN && !seen.contains(&size) {
            seen.push(size);
        }
        count += 1.0;
        sum += size;
        squares += size * size;
        steps += (size - before.unwrap_or(size)).abs();
        before = Some(size);
    }
    let mean = sum / count;
    let deviation = (squares / count - mean * mean).max(0.0).sqrt();
    let variation = deviation / mean;
    let rough = steps / count >= SMOOTH * deviation;
    if seen.len() > PATTERN && rough && variation.is_finite() { variation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fraction_bits_reach_to_the_finest_bit() {
        assert_eq!(fraction_bits(&[]), Some(0));
        assert_eq!(fraction_bits(&[3.0, -4096.0, 0.0]), Some(0));
        assert_eq!(fraction_bits(&[1.5, 0.75]), Some(2));
        assert_eq!(fraction_bits(&[2_f64.powi(-60), 1.0]), Some(60));
        assert_eq!(fraction_bits(&[2_f64.powi(-61)]), None);
        assert_eq!(fraction_bits(&[0.1]), Some(55));
        assert_eq!(fraction_bits(&[1.0, f64::NAN]), None);
        assert_eq!(fraction_bits(&[f64::INFINITY]), None);
        assert_eq!(fraction_bits(&[f64::MIN_POSITIVE / 4.0]), None);
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(power_of_two(8.0), Some(3));
        assert_eq!(power_of_two(-0.25), Some(-2));
        assert_eq!([0.0, 3.0, f64::INFINITY, f64::NAN].map(power_of_two), [None; 4]);
    }

    #[test]
    fn regular_data() {
        let variation_of = |f: fn(usize) -> f64| variation(&(0..1000).map(f).collect::<Vec<f64>>());
        // A constant, a period, a ramp, a wave, signs, and a few values among zeros.
        assert_eq!(variation_of(|_| 0.1), 0.0);
        assert_eq!(variation_of(|i| (i % 7) as f64 / 10.0), 0.0);
        assert_eq!(variation_of(|i| i as f64 * 0.1), 0.0);
        assert_eq!(variation_of(|i| (i as f64 * 0.01).sin()), 0.0);
        assert_eq!(variation_of(|i| if i % 3 == 0 { 0.3 } else { -0.3 }), 0.0);
        assert_eq!(variation_of(|i| if i % 5 == 0 { 0.3 } else { 0.0 }), 0.0);
        assert_eq!(variation(&[]), 0.0);
        assert_eq!(variation_of(|i| if i == 5 { f64::NAN } else { i as f64 }), 0.0);
        // Irregular, but so close to each other that it matters in long sums only.
        let close = RoundingProfile {
            variation: variation_of(|i| 1.0 + 1e-4 * noise(i)),
            ..RoundingProfile::EXACT
        };
        assert!(!close.may_correlate(20.0) && close.may_correlate(1000.0));
        let wide = RoundingProfile { variation: variation_of(noise), ..RoundingProfile::EXACT };
        assert!(!wide.may_correlate(100_000.0));
    }

    /// A number in 0..1, without a pattern in `i`.
    fn noise(i: usize) -> f64 {
        let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }
}
