//! Formats that values are stored in but not computed with: `tf32`, `e4m3`, `e5m2` (PTX ISA 9.7.9.21, `cvt`).

use super::float::NAN_F32;
use super::round::{self, F16, Format, Mode};

/// An 8-bit float format; `e4m3` has neither infinities nor, but for one pattern, NaNs.
const E4M3: Format = Format { mantissa: 3, min_exponent: -6, max_exponent: 8 };
const E5M2: Format = Format { mantissa: 2, min_exponent: -14, max_exponent: 15 };
const LARGEST_E4M3: u32 = 0x7E;
const LARGEST_E5M2: u32 = 0x7B;
const NAN_8: u32 = 0x7F;

/// Bits of a `tf32` significand that `f32` has more.
const LOST: u32 = 13;

/// `f32` to `tf32`, whose 13 lowest bits are zero.
fn to_tf32(a: u32, up: u32) -> u32 {
    let rest = (1 << LOST) - 1;
    if f32::from_bits(a).is_nan() { NAN_F32 & !rest } else { (a + up) & !rest }
}
/// Ties go to even.
#[inline(always)]
pub fn tf32_even(a: u32) -> u32 {
    to_tf32(a, (1 << (LOST - 1)) - 1 + (a >> LOST & 1))
}
/// `.rna`: ties go away from zero. A NaN whose payload lies in the lost bits alone becomes an infinity, as an H200 gives.
#[inline(always)]
pub fn tf32_away(a: u32) -> u32 {
    if f32::from_bits(a).is_finite() { to_tf32(a, 1 << (LOST - 1)) } else { a & !((1 << LOST) - 1) }
}
#[inline(always)]
pub fn tf32_zero(a: u32) -> u32 {
    to_tf32(a, 0)
}
/// `.satfinite`: infinities become the largest number. A GPU takes one step toward zero from every pattern above, so the
/// first NaN becomes an infinity.
#[inline(always)]
pub fn tf32_finite(a: u32) -> u32 {
    if f32::from_bits(a).is_finite() { a } else { a - (1 << LOST) }
}
/// `.relu`: negative values become +0; a NaN stays one.
#[inline(always)]
pub fn relu_f32(a: u32) -> u32 {
    if f32::from_bits(a) <= 0.0 { 0 } else { a }
}
#[inline(always)]
pub fn f16_finite(a: u32) -> u32 {
    if a & 0x7FFF == 0x7C00 { a - 1 } else { a }
}
#[inline(always)]
pub fn bf16_finite(a: u32) -> u32 {
    if a & 0x7FFF == 0x7F80 { a - 1 } else { a }
}

fn to_8(a: u32, format: Format, largest: u32) -> u32 {
    let value = f32::from_bits(a);
    if value.is_nan() {
        return NAN_8;
    }
    let rounded = round::to_16(value.into(), format, Mode::Nearest);
    (rounded >> 15) << 7 | (rounded & 0x7FFF).min(largest)
}
/// `cvt.rn.satfinite.e4m3x2.f32` of one element.
#[inline(always)]
pub fn e4m3_from_f32(a: u32) -> u32 {
    to_8(a, E4M3, LARGEST_E4M3)
}
/// `cvt.rn.satfinite.e5m2x2.f32` of one element.
#[inline(always)]
pub fn e5m2_from_f32(a: u32) -> u32 {
    to_8(a, E5M2, LARGEST_E5M2)
}

/// The `f16` of a number of so many mantissa bits, exactly.
fn f16_from_8(a: u32, format: Format) -> u32 {
    let (fraction, field) =
        (a & ((1 << format.mantissa) - 1), a >> format.mantissa & (0x7F >> format.mantissa));
    let significand = f64::from(fraction | u32::from(field > 0) << format.mantissa);
    let exponent = field.max(1) as i32 - 1 + format.min_exponent - format.mantissa as i32;
    round::to_16(significand * f64::from(exponent).exp2(), F16, Mode::Nearest) | (a >> 7 & 1) << 15
}
/// Converts the low byte.
#[inline(always)]
pub fn f16_from_e4m3(a: u32) -> u32 {
    if a & 0x7F == 0x7F { 0x7FFF } else { f16_from_8(a, E4M3) }
}
/// Of the low byte: its pattern is the upper half of an `f16`.
#[inline(always)]
pub fn f16_from_e5m2(a: u32) -> u32 {
    let half = (a & 0xFF) << 8;
    if half & 0x7FFF > 0x7C00 { 0x7FFF } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        for byte in 0..=255u32 {
            for (widen, narrow, largest) in [
                (f16_from_e4m3 as fn(u32) -> u32, e4m3_from_f32 as fn(u32) -> u32, LARGEST_E4M3),
                (f16_from_e5m2, e5m2_from_f32, LARGEST_E5M2),
            ] {
                let wide = half::f16::from_bits(widen(byte) as u16).to_f32().to_bits();
                let expected = match byte & 0x7F {
                    0x7C if largest == LARGEST_E5M2 => byte - 1,
                    magnitude if magnitude > largest => NAN_8,
                    _ => byte,
                };
                assert_eq!(narrow(wide), expected, "{byte:#x}");
            }
        }
    }

    #[test]
    fn tf32_ties() {
        let tie = 0x3F80_1000;
        assert_eq!(tf32_even(tie), 0x3F80_0000);
        assert_eq!(tf32_away(tie), 0x3F80_2000);
        assert_eq!(tf32_even(0x3F80_3000), 0x3F80_4000);
        assert_eq!(tf32_zero(0xBF80_1FFF), 0xBF80_0000);
        assert_eq!(tf32_finite(tf32_away(0xFF7F_FFFF)), 0xFF7F_E000);
    }

    #[test]
    fn large_numbers_stop() {
        assert_eq!(e4m3_from_f32(1e9f32.to_bits()), LARGEST_E4M3);
        assert_eq!(e4m3_from_f32(f32::NEG_INFINITY.to_bits()), 0x80 | LARGEST_E4M3);
        assert_eq!(e5m2_from_f32(1e9f32.to_bits()), LARGEST_E5M2);
        assert_eq!(f16_finite(0xFC00), 0xFBFF);
        assert_eq!(bf16_finite(0x7F80), 0x7F7F);
    }
}
