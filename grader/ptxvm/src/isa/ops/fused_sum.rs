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

/// The parts of a float: its bits as an integer, and the exponent of the largest one that a normal number has.
struct Parts {
    significand: i32,
    exponent: i32,
    /// Places behind the point of the significand.
    bits: i32,
    is_finite: bool,
}

impl Parts {
    #[inline]
    fn new(bits: u64, scalar: Scalar) -> Self {
        let (exponent_bits, mantissa, bits) = match scalar {
            Scalar::F16 => (5, 10, bits),
            Scalar::Bf16 => (8, 7, bits),
            // The lowest 13 bits do not count.
            Scalar::Tf32 => (8, 10, bits >> 13),
            Scalar::E4m3 => (4, 3, bits),
            Scalar::E5m2 => (5, 2, bits),
            _ => (8, 23, bits),
        };
        let fraction = (bits & ((1 << mantissa) - 1)) as i32;
        let all = (1 << exponent_bits) - 1;
        let field = (bits >> mantissa) as i32 & all;
        let significand = if field == 0 { fraction } else { fraction | 1 << mantissa };
        let exponent = if significand == 0 { ZERO } else { field.max(1) - all / 2 };
        let negative = bits >> (exponent_bits + mantissa) & 1 == 1;
        let significand = if negative { -significand } else { significand };
        // The largest exponent of e4m3 has numbers too, and no infinity.
        let is_finite = field != all || scalar == Scalar::E4m3 && fraction != (1 << mantissa) - 1;
        Self { significand, exponent, bits: mantissa, is_finite }
    }
}

impl Term {
    pub fn new(bits: u64, scalar: Scalar) -> Self {
        let Parts { significand, exponent, bits: mantissa, is_finite } = Parts::new(bits, scalar);
        let infinity = significand.unsigned_abs() == 1 << mantissa;
        let value = match (is_finite, infinity) {
            (true, _) => f64::from(significand) * power_of_two(exponent - mantissa),
            (false, true) => f64::INFINITY.copysign(significand.into()),
            (false, false) => f64::NAN,
        };
        Self { significand: significand.into(), exponent, bits: mantissa, value }
    }

    pub fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
            bits: self.bits + other.bits,
            value: self.value * other.value,
        }
    }

    /// Its bits down to `kept` places below those of an exponent that is as large or larger.
    fn cut(self, top: i32, kept: i32) -> i64 {
        let left = kept - self.bits + self.exponent - top;
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
    fused_of(terms, KEPT, to)
}

/// The same, with terms that keep so many bits below that of the largest term's exponent.
pub(super) fn fused_of(terms: &[Term], kept: i32, to: Scalar) -> u64 {
    // The order does not matter to what is infinite or no number, and nothing else is too large for an f64.
    let special: f64 = terms.iter().map(|term| term.value).sum();
    if !special.is_finite() {
        return rounded(special, to);
    }
    let top = terms.iter().map(|term| term.exponent).max().unwrap_or(ZERO);
    let sum: i64 = terms.iter().map(|term| term.cut(top, kept)).sum();
    rounded(sum as f64 * power_of_two(top - kept), to)
}

/// A sum of terms that are cut below an exponent.
fn scaled(sum: i64, top: i32) -> f64 {
    sum as f64 * power_of_two(top - KEPT)
}

fn rounded(sum: f64, to: Scalar) -> u64 {
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

/// Columns of a product that are computed at a time.
pub const COLUMNS: usize = 8;

/// Products that an `i32` has room for, cut to 27 bits each.
const FEW: usize = 8;

/// Significands and exponents of a matrix, row by row.
#[derive(Debug)]
pub struct FiniteMatrix {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    /// Places behind the point of each significand.
    bits: i32,
}

impl FiniteMatrix {
    /// None if an element is infinite or no number.
    pub(super) fn new(matrix: &BitMatrix, scalar: Scalar) -> Option<Self> {
        let bits = Parts::new(0, scalar).bits;
        let mut all =
            Self { significands: vec![0; matrix.len()], exponents: vec![0; matrix.len()], bits };
        let parts = all.significands.iter_mut().zip(&mut all.exponents);
        let mut is_finite = true;
        for ((significand, exponent), &bits) in parts.zip(matrix) {
            let parts = Parts::new(bits, scalar);
            (*significand, *exponent) = (parts.significand, parts.exponent);
            is_finite &= parts.is_finite;
        }
        is_finite.then_some(all)
    }
}

/// Some neighbouring elements of D = A B + C, not rounded: the sums of what is left of the terms above the cut, and the exponent below
/// which they are cut.
#[derive(Debug, Default)]
pub struct Sums {
    sums: [i64; COLUMNS],
    tops: [i32; COLUMNS],
}

impl Sums {
    pub(super) fn rounded(&self, to: Scalar) -> [u64; COLUMNS] {
        std::array::from_fn(|i| rounded(scaled(self.sums[i], self.tops[i]), to))
    }
}

/// Computes the elements of a row of D = A B + C from a column on: what [`fused`] computes, for all of them at once, so that it
/// vectorises. A and B are of 16 bits, or `tf32`: their products have 27 bits above the cut at most.
#[inline(always)]
pub fn add_products(
    [a, b, c]: [&FiniteMatrix; 3],
    (n, depth): (usize, usize),
    (row, col): (usize, usize),
) -> Sums {
    let factors = || {
        let row = row * depth..(row + 1) * depth;
        a.significands[row.clone()].iter().zip(&a.exponents[row]).enumerate()
    };
    let of_b = |k: usize| {
        let place = k * n + col..k * n + col + COLUMNS;
        b.significands[place.clone()].iter().zip(&b.exponents[place]).enumerate()
    };
    let mut tops = [0; COLUMNS];
    tops.copy_from_slice(&c.exponents[row * n + col..row * n + col + COLUMNS]);
    for (k, (_, exponent)) in factors() {
        for (i, (_, other)) in of_b(k) {
            tops[i] = tops[i].max(exponent + other);
        }
    }
    let cut = |significand: i32, left: i32, below: i32| {
        let magnitude = (significand.unsigned_abs() << left) >> below.min(31);
        if significand < 0 { -(magnitude as i32) } else { magnitude as i32 }
    };
    let mut sums: [i64; COLUMNS] = std::array::from_fn(|i| {
        let at = row * n + col + i;
        cut(c.significands[at], KEPT - c.bits, tops[i] - c.exponents[at]).into()
    });
    let left = KEPT - a.bits - b.bits;
    let mut some = [0i32; COLUMNS];
    for (k, (significand, exponent)) in factors() {
        for (i, (other, other_exponent)) in of_b(k) {
            some[i] += cut(significand * other, left, tops[i] - exponent - other_exponent);
        }
        if k % FEW == FEW - 1 || k == depth - 1 {
            for (sum, some) in sums.iter_mut().zip(&mut some) {
                *sum += i64::from(std::mem::take(some));
            }
        }
    }
    Sums { sums, tops }
}
