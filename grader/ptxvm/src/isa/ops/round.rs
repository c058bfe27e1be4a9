//! Rounding in one step from an exact value, in any direction.
//!
//! The exact result is first rounded *to odd* into an `f64`: where bits are lost, the last bit kept becomes 1. With two bits
//! more than the target has, a second rounding of that value then gives what one rounding of the exact value would
//! (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).

/// `.rn`, `.rz`, `.rm`, `.rp`, `.rna`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Rounds to the nearest value, ties to even.
    Nearest,
    /// Rounds toward zero, `.rz`.
    Zero,
    /// Rounds toward minus infinity, `.rm`.
    Down,
    /// Rounds toward plus infinity, `.rp`.
    Up,
}

/// Rounds `value + residual` to odd, where `value` is the nearest `f64` of the sum.
#[inline(always)]
fn to_odd(value: f64, residual: f64) -> f64 {
    if residual == 0.0 || !residual.is_finite() || !value.is_finite() || value.to_bits() & 1 == 1 {
        return value;
    }
    // `value` is even and inexact; its odd neighbour on the residual's side.
    if residual > 0.0 { value.next_up() } else { value.next_down() }
}

/// The sum and what rounding it lost (Knuth's two-sum).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `a + b` rounded to odd.
#[inline(always)]
pub fn add_odd(a: f64, b: f64) -> f64 {
    let (sum, lost) = two_sum(a, b);
    to_odd(sum, lost)
}

/// `a / b` of numbers that came from `f32`, rounded to odd.
#[inline(always)]
pub fn div_odd(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if !quotient.is_finite() || b.is_infinite() {
        return quotient;
    }
    // remainder / b has the sign of what is missing.
    let remainder = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -remainder } else { remainder })
}

/// `sqrt(a)` of a number that came from `f32`, rounded to odd.
#[inline(always)]
pub fn sqrt_odd(a: f64) -> f64 {
    let root = a.sqrt();
    to_odd(root, (-root).mul_add(root, a))
}

/// To `f32` in a given direction.
#[inline(always)]
pub fn to_f32(value: f64, mode: Mode) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let too_high = back > value;
    let too_low = back < value;
    match mode {
        Mode::Zero if value > 0.0 && too_high => nearest.next_down(),
        Mode::Zero if value < 0.0 && too_low => nearest.next_up(),
        Mode::Down if too_high => nearest.next_down(),
        Mode::Up if too_low => nearest.next_up(),
        _ => nearest,
    }
}

/// Moves the nearest `f64` to the given direction; `residual` has the sign of (exact - nearest).
#[inline(always)]
pub fn adjust_f64(nearest: f64, residual: f64, mode: Mode) -> f64 {
    if residual == 0.0 || residual.is_nan() || nearest.is_nan() {
        return nearest;
    }
    let up = residual > 0.0;
    match mode {
        Mode::Zero if nearest > 0.0 && !up => nearest.next_down(),
        Mode::Zero if nearest < 0.0 && up => nearest.next_up(),
        Mode::Down if !up => nearest.next_down(),
        Mode::Up if up => nearest.next_up(),
        _ => nearest,
    }
}

/// A sum that is exactly zero takes the sign of the direction (IEEE 754, 6.3).
#[inline(always)]
pub fn zero_sum(sum: f64, a: f64, b: f64, mode: Mode) -> f64 {
    if sum == 0.0 && mode == Mode::Down && (a.is_sign_negative() || b.is_sign_negative()) {
        -0.0
    } else {
        sum
    }
}

/// A 16-bit float format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Stored bits of the significand.
    pub mantissa: u32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Exponent of the largest finite number.
    pub max_exponent: i32,
}

pub const F16: Format = Format { mantissa: 10, min_exponent: -14, max_exponent: 15 };
pub const BF16: Format = Format { mantissa: 7, min_exponent: -126, max_exponent: 127 };

/// To 16 bits in a given direction; NaN becomes `0x7FFF`.
#[inline(always)]
pub fn to_16(value: f64, format: Format, mode: Mode) -> u32 {
    if value.is_nan() {
        return 0x7FFF;
    }
    let negative = value.is_sign_negative();
    let sign = u32::from(negative) << 15;
    let infinity = ((format.max_exponent - format.min_exponent + 2) as u32) << format.mantissa;
    if value.is_infinite() {
        return sign | infinity;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32 - 1023;
    if exponent == -1023 {
        // Zero, or an f64 subnormal: far below the smallest step of either format.
        let rounds_away =
            value != 0.0 && (mode == Mode::Up && !negative || mode == Mode::Down && negative);
        return sign | u32::from(rounds_away);
    }
    let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
    let kept_exponent = exponent.max(format.min_exponent);
    let shift = (52 - format.mantissa as i32 + (kept_exponent - exponent)).min(63) as u32;
    let kept = significand >> shift;
    let lost = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let away = match mode {
        Mode::Nearest => lost > half || lost == half && kept & 1 == 1,
        Mode::Zero => false,
        Mode::Down => negative && lost != 0,
        Mode::Up => !negative && lost != 0,
    };
    // The hidden bit adds one to the exponent field; a carry of the rounding moves on to the next exponent.
    let biased = (kept_exponent - format.min_exponent) as u64;
    let magnitude = ((biased << format.mantissa) + kept + u64::from(away)) as u32;
    if magnitude >= infinity {
        let finite = match mode {
            Mode::Nearest => false,
            Mode::Zero => true,
            Mode::Down => !negative,
            Mode::Up => negative,
        };
        return sign | if finite { infinity - 1 } else { infinity };
    }
    sign | magnitude
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_f16_and_bf16_survives() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            if !value.is_nan() {
                for mode in [Mode::Nearest, Mode::Zero, Mode::Down, Mode::Up] {
                    assert_eq!(to_16(value.to_f64(), F16, mode), u32::from(bits));
                }
            }
            let value = bf16::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(to_16(value.to_f64(), BF16, Mode::Nearest), u32::from(bits));
            }
        }
    }

    #[test]
    fn nearest_agrees_with_the_half_crate_from_f32() {
        let mut bits = 0u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(bits);
            if !value.is_nan() {
                let ours = to_16(f64::from(value), F16, Mode::Nearest);
                assert_eq!(ours, u32::from(f16::from_f32(value).to_bits()), "{value:e}");
                let ours = to_16(f64::from(value), BF16, Mode::Nearest);
                assert_eq!(ours, u32::from(bf16::from_f32(value).to_bits()), "{value:e}");
            }
        }
    }

    #[test]
    fn a_tie_broken_by_the_last_bit_of_an_f64() {
        // 1 + 2^-11 is a tie of f16; one f64 step above it must round up.
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(to_16(tie, F16, Mode::Nearest), 0x3C00);
        assert_eq!(to_16(tie.next_up(), F16, Mode::Nearest), 0x3C01);
    }

    #[test]
    fn directions() {
        assert_eq!(to_f32(0.1, Mode::Down), 0.1f32.next_down());
        assert_eq!(to_f32(0.1, Mode::Up), 0.1f32);
        assert_eq!(to_f32(1e300, Mode::Zero), f32::MAX);
        assert_eq!(to_f32(1e300, Mode::Up), f32::INFINITY);
        assert_eq!(to_16(1e9, F16, Mode::Zero), 0x7BFF);
        assert_eq!(to_16(-1e9, F16, Mode::Up), 0xFBFF);
        assert_eq!(f64::from(to_f32(sqrt_odd(2.0), Mode::Down)) * 1.0, 1.414_213_538_169_860_8);
    }
}
