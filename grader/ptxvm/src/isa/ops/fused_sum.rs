//! The sum of several exact terms with one rounding, as Hopper's tensor cores form it.

use super::round::{self, F16, Mode};
use crate::isa::matrix::Scalar;

/// A matrix row by row, each element as the bits of its type.
pub type BitMatrix = Vec<u64>;

/// The bits that stand for a NaN in `f32`.
pub(super) const NAN: u32 = 0x7FFF_FFFF;

/// Bits that a term keeps below that of the largest term's exponent.
const KEPT: i32 = 25;

/// The exponent that a zero has, whatever its type.
const ZERO: i32 = -126;

/// A finite float: `significand` times two to the power of `exponent - bits`.
#[derive(Clone, Copy)]
pub(super) struct Term {
    significand: i64,
    /// Of the largest bit that a normal number has in its significand; a product of two may have one more.
    exponent: i32,
    /// Places behind the point of the significand.
    bits: i32,
    /// The number itself, which may be infinite or no number.
    value: f64,
}

impl Term {
    pub fn new(bits: u64, scalar: Scalar) -> Self {
        let (exponent_bits, mantissa, bits) = match scalar {
            Scalar::F16 => (5, 10, bits),
            Scalar::Bf16 => (8, 7, bits),
            // The lowest 13 bits do not count.
            Scalar::Tf32 => (8, 10, bits >> 13),
            _ => (8, 23, bits),
        };
        let fraction = (bits & ((1 << mantissa) - 1)) as i64;
        let all = (1 << exponent_bits) - 1;
        let field = (bits >> mantissa) as i32 & all;
        let significand = if field == 0 { fraction } else { fraction | 1 << mantissa };
        let exponent = if significand == 0 { ZERO } else { field.max(1) - all / 2 };
        let negative = bits >> (exponent_bits + mantissa) & 1 == 1;
        let magnitude = match (field == all, fraction) {
            (true, 0) => f64::INFINITY,
            (true, _) => f64::NAN,
            _ => significand as f64 * power_of_two(exponent - mantissa),
        };
        let (significand, value) =
            if negative { (-significand, -magnitude) } else { (significand, magnitude) };
        Self { significand, exponent, bits: mantissa, value }
    }

    pub fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
            bits: self.bits + other.bits,
            value: self.value * other.value,
        }
    }

    /// Its bits down to `KEPT` places below those of an exponent that is as large or larger.
    fn cut(self, top: i32) -> i64 {
        let left = KEPT - self.bits + self.exponent - top;
        let magnitude = self.significand.unsigned_abs();
        let magnitude = if left >= 0 {
            magnitude << left
        } else {
            magnitude.checked_shr(left.unsigned_abs()).unwrap_or(0)
        };
        magnitude as i64 * self.significand.signum()
    }
}

/// Two to a power in the range of normal `f64` numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The sum of terms, as the bits of an `f16` or `f32`.
pub(super) fn fused(terms: &[Term], to: Scalar) -> u64 {
    // The order does not matter to what is infinite or no number, and nothing else is too large for an f64.
    let special: f64 = terms.iter().map(|term| term.value).sum();
    let sum = if special.is_finite() {
        let top = terms.iter().map(|term| term.exponent).max().unwrap_or(ZERO);
        let sum: i64 = terms.iter().map(|term| term.cut(top)).sum();
        sum as f64 * power_of_two(top - KEPT)
    } else {
        special
    };
    if to == Scalar::F16 {
        return round::to_16(sum, F16, Mode::Nearest).into();
    }
    let cut = round::to_f32(sum, Mode::Zero);
    let bits = match () {
        () if sum.is_nan() => NAN,
        // What f32 has no exponent for becomes infinite all the same.
        () if sum.abs() >= power_of_two(128) => f32::INFINITY.copysign(cut).to_bits(),
        () => cut.to_bits(),
    };
    bits.into()
}
