//! What is known about the values of an expression at all iterations, before any of them is computed: how
//! many roundings there are, whether they can be exact, and whether they are irregular enough not to conspire.

use crate::ops::{Func, Op};
use crate::shape::DType;

/// So few different values count as a repeating pattern.
const PATTERN: usize = 16;

/// Neighbours that differ by less than this part of the standard deviation make a smooth curve.
const SMOOTH: f64 = 0.25;

/// Data are irregular enough for a sum of `n` terms if their relative spread is `n` times this.
const SPREAD_PER_TERM: f64 = 1.0 / (1 << 20) as f64;

/// What is known about an expression at all its iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Roundings inside a term, at most.
    pub roundings: f64,
    /// Additions inside a term's factors, at most: they become roundings where it is a factor.
    pub additions: f64,
    /// All terms are multiples of `2^-grain`.
    pub grain: Option<i32>,
    /// Standard deviation of the terms' sizes, relative to their mean; 0 for regular data.
    pub spread: f64,
    /// A factor is a sum whose roundings may conspire.
    pub conspiring: bool,
    /// The value, where it is a constant.
    pub constant: Option<f64>,
}

impl Facts {
    /// Before anything was added.
    pub(crate) const NOTHING: Self = Self {
        roundings: 0.0,
        additions: 0.0,
        grain: Some(0),
        spread: f64::INFINITY,
        conspiring: false,
        constant: None,
    };

    /// Values as they lie in memory.
    pub(crate) fn data(values: &[f64]) -> Self {
        Self { grain: grain(values), spread: spread(values), ..Self::NOTHING }
    }

    /// A number in a formula, which a kernel of type `dtype` may have to round.
    pub(crate) fn number(value: f64, dtype: DType) -> Self {
        let exact = dtype == DType::F64 || f64::from(value as f32) == value;
        Self {
            roundings: if exact { 0.0 } else { 1.0 },
            grain: grain(&[value]),
            spread: 0.0,
            constant: Some(value),
            ..Self::NOTHING
        }
    }

    /// May the roundings of a sum of `terms` such terms conspire?
    pub(crate) fn is_regular(&self, terms: f64) -> bool {
        self.conspiring || self.spread < terms * SPREAD_PER_TERM
    }

    /// All roundings on the way to the value of a factor.
    pub(crate) fn path(&self) -> f64 {
        self.roundings + self.additions
    }

    /// All roundings on the way to the value, as an error of its own from here on.
    pub(crate) fn settled(self) -> Self {
        Self { roundings: 0.0, additions: 0.0, conspiring: false, ..self }
    }

    /// A function of settled values. How irregular its values are is not known, so that they count as
    /// regular; only a zero changes nothing (`max(x, 0)`).
    pub(crate) fn call(func: Func, a: Self, b: Self) -> Self {
        let constant = a.constant.zip(b.constant).map(|(a, b)| func.value(a, b));
        let unknown = Self { grain: None, spread: 0.0, constant, ..Self::NOTHING };
        match func {
            Func::Abs => Self { constant: a.constant.map(f64::abs), ..a },
            Func::Cast(_) => Self { constant: a.constant.map(|a| func.value(a, a)), ..a },
            Func::Max | Func::Min => {
                let spread = match (a.constant, b.constant) {
                    (_, Some(0.0)) => a.spread,
                    (Some(0.0), _) => b.spread,
                    _ => 0.0,
                };
                let grain = a.grain.zip(b.grain).map(|(a, b)| a.max(b));
                Self { grain, spread, ..unknown }
            }
            _ => Self { grain: constant.and_then(|value| grain(&[value])), ..unknown },
        }
    }

    /// One or the other.
    pub(crate) fn either(a: Self, b: Self) -> Self {
        Self {
            roundings: a.roundings.max(b.roundings),
            additions: a.additions.max(b.additions),
            grain: a.grain.zip(b.grain).map(|(a, b)| a.max(b)),
            spread: a.spread.min(b.spread),
            conspiring: a.conspiring || b.conspiring,
            constant: None,
        }
    }

    pub(crate) fn binary(op: Op, a: Self, b: Self) -> Self {
        match op {
            Op::Add | Op::Sub => Self {
                roundings: a.roundings.max(b.roundings),
                additions: a.additions + b.additions + 1.0,
                grain: a.grain.zip(b.grain).map(|(a, b)| a.max(b)),
                spread: a.spread.min(b.spread),
                conspiring: a.conspiring || b.conspiring,
                constant: None,
            },
            Op::Mul => Self {
                roundings: a.path() + b.path() + 1.0,
                additions: 0.0,
                grain: a.grain.zip(b.grain).map(|(a, b)| a + b).filter(|g| *g <= MAX_GRAIN),
                spread: a.spread.max(b.spread),
                conspiring: a.conspiring || b.conspiring,
                constant: a.constant.zip(b.constant).map(|(a, b)| a * b),
            },
            Op::Div => Self {
                // A multiplication by the reciprocal rounds twice, a quick division once more.
                roundings: a.path() + b.path() + 3.0,
                additions: 0.0,
                grain: b
                    .constant
                    .and_then(power_of_two)
                    .zip(a.grain)
                    .map(|(power, a)| (a + power).max(0)),
                spread: a.spread.max(b.spread),
                conspiring: a.conspiring || b.conspiring,
                constant: a.constant.zip(b.constant).map(|(a, b)| a / b),
            },
        }
    }
}

/// Products of multiples of 2^-60 stay far from the subnormal numbers of binary32.
const MAX_GRAIN: i32 = 60;

/// The least `g >= 0` so that all values are multiples of `2^-g`, if there is one up to 60.
fn grain(values: &[f64]) -> Option<i32> {
    let mut grain = 0;
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
        grain = grain.max(-lowest);
    }
    (grain <= MAX_GRAIN).then_some(grain)
}

/// `k` if the value is ±2^k.
fn power_of_two(value: f64) -> Option<i32> {
    let mantissa = value.to_bits() & ((1 << 52) - 1);
    (value.is_normal() && mantissa == 0).then(|| ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023)
}

/// Standard deviation of the sizes of the values that are not 0, relative to their mean; 0 where they
/// are a few repeated values or follow a smooth curve.
fn spread(values: &[f64]) -> f64 {
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
    let spread = deviation / mean;
    let rough = steps / count >= SMOOTH * deviation;
    if seen.len() > PATTERN && rough && spread.is_finite() { spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grain_is_the_finest_bit() {
        assert_eq!(grain(&[]), Some(0));
        assert_eq!(grain(&[3.0, -4096.0, 0.0]), Some(0));
        assert_eq!(grain(&[1.5, 0.75]), Some(2));
        assert_eq!(grain(&[2_f64.powi(-60), 1.0]), Some(60));
        assert_eq!(grain(&[2_f64.powi(-61)]), None);
        assert_eq!(grain(&[0.1]), Some(55));
        assert_eq!(grain(&[1.0, f64::NAN]), None);
        assert_eq!(grain(&[f64::INFINITY]), None);
        assert_eq!(grain(&[f64::MIN_POSITIVE / 4.0]), None);
    }

    #[test]
    fn powers_of_two() {
        assert_eq!(power_of_two(8.0), Some(3));
        assert_eq!(power_of_two(-0.25), Some(-2));
        assert_eq!([0.0, 3.0, f64::INFINITY, f64::NAN].map(power_of_two), [None; 4]);
    }

    #[test]
    fn regular_data() {
        let spread_of = |f: fn(usize) -> f64| spread(&(0..1000).map(f).collect::<Vec<f64>>());
        // A constant, a period, a ramp, a wave, signs, and a few values among zeros.
        assert_eq!(spread_of(|_| 0.1), 0.0);
        assert_eq!(spread_of(|i| (i % 7) as f64 / 10.0), 0.0);
        assert_eq!(spread_of(|i| i as f64 * 0.1), 0.0);
        assert_eq!(spread_of(|i| (i as f64 * 0.01).sin()), 0.0);
        assert_eq!(spread_of(|i| if i % 3 == 0 { 0.3 } else { -0.3 }), 0.0);
        assert_eq!(spread_of(|i| if i % 5 == 0 { 0.3 } else { 0.0 }), 0.0);
        assert_eq!(spread(&[]), 0.0);
        assert_eq!(spread_of(|i| if i == 5 { f64::NAN } else { i as f64 }), 0.0);
        // Irregular, but so close to each other that it matters in long sums only.
        let close = Facts { spread: spread_of(|i| 1.0 + 1e-4 * noise(i)), ..Facts::NOTHING };
        assert!(!close.is_regular(20.0) && close.is_regular(1000.0));
        let wide = Facts { spread: spread_of(noise), ..Facts::NOTHING };
        assert!(!wide.is_regular(100_000.0));
    }

    /// In 0..1.
    fn noise(i: usize) -> f64 {
        let x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }
}
