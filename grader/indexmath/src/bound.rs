//! Running error analysis: how far a right kernel may be from the exact value.
//!
//! A value is a sum of `n` terms with magnitude `m = Σ|term|`. Computed in any order with unit
//! roundoff `u`, each term passes `k` roundings at most: `n - 1` additions and those of its own
//! products. Then the error is at most `γ(k)·m` with `γ(k) = k·u / (1 - k·u)`, always; and because
//! roundings of unrelated values do not conspire, in practice at most `λ·√k·u·m` (Higham and Mary,
//! "A new approach to probabilistic rounding error analysis", 2019). The smaller one is taken, unless
//! the data are regular: 0.1 added a thousand times is off in one direction, and a ramp or values that
//! differ by less than the last bit of the partial sum are no better. Then only `γ` is safe.
//!
//! Where everything is a multiple of some `2^-g` and the magnitude fits the accumulator's precision,
//! every partial sum in every order is exact, and so the bound is 0.

use crate::ast::Op;
use crate::shape::DType;

/// λ of the probabilistic bound. Right results of irregular data were seen to need 2 (lognormal products,
/// nine terms) and less for longer sums; `tests/rounding.rs` repeats that.
pub(crate) const LAMBDA: f64 = 4.0;

/// So few different values count as a repeating pattern.
const PATTERN: usize = 16;

/// Neighbours that differ by less than this part of the standard deviation make a smooth curve.
const SMOOTH: f64 = 0.25;

/// Data are irregular enough for a sum of `n` terms if their relative spread is `n` times this.
const SPREAD_PER_TERM: f64 = 1.0 / (1 << 20) as f64;

/// An element's value and what rounding may do to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approx {
    /// Value in f64.
    pub value: f64,
    /// A right kernel differs from `value` by no more than this; 0.0: it must be equal. Infinite where
    /// the element type may overflow or the value is not finite.
    pub bound: f64,
    /// Sum of the absolute values of the terms.
    pub magnitude: f64,
    /// The number of terms.
    pub terms: u64,
}

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
    fn path(&self) -> f64 {
        self.roundings + self.additions
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

/// A sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub value: f64,
    pub magnitude: f64,
    pub terms: f64,
    /// What the errors of intermediate tensors contribute, at most.
    pub inherited: f64,
}

/// The element, stored as `dtype`, of a kernel that accumulates in f32 (f64 for an f64 tensor, and in
/// 32-bit integers for an integer tensor).
pub(crate) fn store(sum: Sum, facts: &Facts, regular: bool, dtype: DType) -> Approx {
    let Sum { value, magnitude, terms, inherited } = sum;
    let done = |bound: f64| Approx { value, bound, magnitude, terms: terms as u64 };
    let format = Format::of(dtype);
    let roundings = (terms - 1.0).max(0.0) + facts.roundings;
    let precise = facts.grain.is_some_and(|g| magnitude * 2_f64.powi(g) <= format.exact);
    let exact = inherited == 0.0 && (precise || roundings == 0.0 || magnitude == 0.0);
    if exact && format.holds(value) && magnitude <= format.max {
        return done(0.0);
    }
    let mut bound = inherited;
    if !exact {
        let unit = relative(roundings, format.accumulator, regular);
        // The second part is the f64 evaluation's own error.
        let own = relative(roundings, f64::EPSILON / 2.0, true);
        bound += (unit + own) * (magnitude + inherited) + (roundings + 1.0) * format.tiny;
    }
    let stored = value.abs() + bound;
    bound += stored * format.unit + format.step;
    if stored <= format.max && magnitude <= f64::from(f32::MAX).max(format.max) && bound.is_finite()
    {
        done(bound)
    } else {
        done(f64::INFINITY)
    }
}

/// Error of a sum relative to its magnitude, after `roundings`.
fn relative(roundings: f64, unit: f64, regular: bool) -> f64 {
    let worst = roundings * unit / (1.0 - (roundings * unit).min(0.5));
    if regular { worst } else { worst.min(LAMBDA * roundings.sqrt() * unit) }
}

/// What storing and accumulating does to a value.
struct Format {
    /// Unit roundoff of the accumulator.
    accumulator: f64,
    /// Integers up to this are exact in the accumulator.
    exact: f64,
    /// Unit roundoff of the store, 0 if the accumulator's type is stored.
    unit: f64,
    /// Half the distance of subnormal numbers of the store; 1 for integers.
    step: f64,
    /// What an operation may lose to underflow, subnormal numbers flushed to zero included.
    tiny: f64,
    /// The greatest finite value.
    max: f64,
    significand: i32,
    /// The lowest bit of the smallest number.
    lowest: i32,
}

impl Format {
    fn of(dtype: DType) -> Self {
        let single = Self {
            accumulator: 2_f64.powi(-24),
            exact: 2_f64.powi(24),
            unit: 0.0,
            step: 0.0,
            tiny: 2_f64.powi(-126),
            max: f64::from(f32::MAX),
            significand: 24,
            lowest: -149,
        };
        match dtype {
            DType::F32 => single,
            DType::F64 => Self {
                accumulator: 2_f64.powi(-53),
                exact: 2_f64.powi(53),
                tiny: f64::MIN_POSITIVE,
                max: f64::MAX,
                significand: 53,
                lowest: -1074,
                ..single
            },
            DType::F16 => Self {
                unit: 2_f64.powi(-11),
                step: 2_f64.powi(-25),
                max: 65504.0,
                significand: 11,
                lowest: -24,
                ..single
            },
            DType::BF16 => Self {
                unit: 2_f64.powi(-8),
                step: 2_f64.powi(-134),
                max: 255.0 * 2_f64.powi(120),
                significand: 8,
                lowest: -133,
                ..single
            },
            DType::I32 => Self {
                exact: f64::from(i32::MAX),
                step: 1.0,
                max: f64::from(i32::MAX),
                significand: 32,
                lowest: 0,
                ..single
            },
        }
    }

    /// Can the value be stored without rounding?
    fn holds(&self, value: f64) -> bool {
        if value == 0.0 {
            return true;
        }
        if value.abs() > self.max {
            return false;
        }
        let exponent = value.abs().log2().floor() as i32;
        let step = (exponent - self.significand + 1).max(self.lowest);
        // Scaling by a power of two is exact here; two steps, since 2^-step may overflow.
        let half = step / 2;
        let scaled = value * 2_f64.powi(-half) * 2_f64.powi(half - step);
        scaled.fract() == 0.0
    }
}
