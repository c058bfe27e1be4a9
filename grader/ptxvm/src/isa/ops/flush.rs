//! Products and their sums, quotients and conversions with `.ftz` (PTX ISA 9.7.3 and 9.7.9).
//!
//! A result is flushed if it is below the smallest normal number when rounded to all bits of a significand, as if exponents
//! had no end. Rounded as a subnormal it has a bit less, and may round up to the smallest normal number: that is too late.
//! Sums alone are exact down there, and need nothing of this.

use super::float::NAN_F32;
use super::round::{self, F16, Mode};

const SIGN: u32 = 1 << 31;

/// Brings what is near the smallest normal number well above it, so that it has all its bits. Operands that this makes
/// infinite never have a result down there.
const SCALE: f32 = (1u64 << 32) as f32;
/// The smallest normal number so scaled.
const LIMIT: f32 = f32::MIN_POSITIVE * SCALE;

#[inline(always)]
fn flushed(value: f32, scaled: f32) -> u32 {
    let bits = if value.is_nan() { NAN_F32 } else { value.to_bits() };
    if scaled.abs() < LIMIT { bits & SIGN } else { bits }
}
/// `mul.rn.ftz.f32` of flushed operands.
#[inline(always)]
pub fn mul_f32(a: u32, b: u32) -> u32 {
    let (a, b) = (f32::from_bits(a), f32::from_bits(b));
    flushed(a * b, (a * SCALE) * b)
}
/// `fma.rn.ftz.f32` of flushed operands.
#[inline(always)]
pub fn fma_f32(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
    flushed(a.mul_add(b, c), (a * SCALE).mul_add(b, c * SCALE))
}

/// A result, rounded to odd, in a direction. Toward zero nothing rounds up.
fn directed(exact: f64, mode: Mode) -> u32 {
    let scale = f64::from(SCALE);
    flushed(round::to_f32(exact, mode), round::to_f32(exact * scale, mode))
}
macro_rules! directions {
    ($($module:ident $mode:expr;)*) => {$(
        pub mod $module {
            use super::{Mode, directed, round};

            pub fn mul_f32(a: u32, b: u32) -> u32 {
                directed(f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b)), $mode)
            }
            pub fn fma_f32(a: u32, b: u32, c: u32) -> u32 {
                let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
                let c = f64::from(f32::from_bits(c));
                directed(round::zero_sum(round::add_odd(product, c), product, c, $mode), $mode)
            }
            /// Rounded to nearest, no quotient comes from below to the smallest normal number.
            pub fn div_f32(a: u32, b: u32) -> u32 {
                let (a, b) = (f32::from_bits(a), f32::from_bits(b));
                directed(round::div_odd(f64::from(a), f64::from(b)), $mode)
            }
            pub fn rcp_f32(a: u32) -> u32 {
                div_f32(1f32.to_bits(), a)
            }
            pub fn f32_from_f64(a: u64) -> u32 {
                directed(f64::from_bits(a), $mode)
            }
        }
    )*};
}
directions! {
    down Mode::Down;
    up Mode::Up;
}

pub mod nearest {
    use super::{Mode, directed};

    pub fn f32_from_f64(a: u64) -> u32 {
        directed(f64::from_bits(a), Mode::Nearest)
    }
}

/// Half way between the two largest numbers below the smallest normal `f16`, which is 2^-14.
const LIMIT_F16: f64 = (1.0 / 16_384.0) * (1.0 - 1.0 / 4096.0);

fn f16(bits: u32) -> f64 {
    half::f16::from_bits(bits as u16).to_f64()
}
fn to_f16(exact: f64) -> u32 {
    let bits = round::to_16(exact, F16, Mode::Nearest);
    if exact.abs() < LIMIT_F16 { bits & 0x8000 } else { bits }
}
/// `mul.rn.ftz.f16` of flushed operands.
pub fn mul_f16(a: u32, b: u32) -> u32 {
    to_f16(f16(a) * f16(b))
}
/// `fma.rn.ftz.f16` of flushed operands.
pub fn fma_f16(a: u32, b: u32, c: u32) -> u32 {
    to_f16(round::add_odd(f16(a) * f16(b), f16(c)))
}
pub fn mul_f16x2(a: u32, b: u32) -> u32 {
    mul_f16(a & 0xFFFF, b & 0xFFFF) | mul_f16(a >> 16, b >> 16) << 16
}
pub fn fma_f16x2(a: u32, b: u32, c: u32) -> u32 {
    fma_f16(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | fma_f16(a >> 16, b >> 16, c >> 16) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors of a product just below the smallest normal number.
    fn below(ulps: f32) -> (u32, u32) {
        ((1.0 - ulps * 2f32.powi(-24)).to_bits(), f32::MIN_POSITIVE.to_bits())
    }

    #[test]
    fn what_rounds_up_only_as_a_subnormal_is_flushed() {
        // 2^-126 - 2^-150 has 24 bits, and as a subnormal is a tie.
        let (a, b) = below(1.0);
        assert_eq!(f32::from_bits(a) * f32::from_bits(b), f32::MIN_POSITIVE);
        assert_eq!(mul_f32(a, b), 0);
        assert_eq!(mul_f32(a | SIGN, b), SIGN);
        assert_eq!(fma_f32(a, b, 0), 0);
        // 2^-126 - 2^-152 is nearer to 2^-126 than to that.
        let (a, b) = (0.5 + 2f32.powi(-14), 2f32.powi(-125) * (1.0 - 2f32.powi(-13)));
        assert_eq!(mul_f32(a.to_bits(), b.to_bits()), f32::MIN_POSITIVE.to_bits());
    }

    #[test]
    fn directions_round_all_bits() {
        let (a, b) = below(1.0);
        assert_eq!(up::mul_f32(a, b), 0);
        let (c, _) = below(3.0);
        assert_eq!(down::fma_f32(c | SIGN, b, 0), SIGN);
        assert_eq!(up::mul_f32(1f32.to_bits(), b), f32::MIN_POSITIVE.to_bits());
    }

    #[test]
    fn conversions_round_all_bits() {
        let below = |shift: i32| 2f64.powi(-126) - 2f64.powi(-126 - shift);
        let normal = f32::MIN_POSITIVE.to_bits();
        let nearest = |value: f64| nearest::f32_from_f64(value.to_bits());
        assert_eq!([23, 24, 25, 26].map(|shift| nearest(below(shift))), [0, 0, normal, normal]);
        assert_eq!(nearest(-below(24)), SIGN);
        let upwards = |value: f64| up::f32_from_f64(value.to_bits());
        assert_eq!([23, 24, 25].map(|shift| upwards(below(shift))), [0, 0, normal]);
        assert_eq!(upwards(-below(40)), SIGN);
        assert_eq!(down::f32_from_f64((-below(40)).to_bits()), SIGN | normal);
        assert_eq!(nearest(f64::NAN), NAN_F32);
        assert_eq!(nearest(1e300), f32::INFINITY.to_bits());
    }

    #[test]
    fn quotients_below_the_smallest_normal_number_are_flushed() {
        // Measured on an H200; the quotient is that number less nearly 2^-150.
        assert_eq!(up::div_f32(0x1EC2_FF64, 0x5DC2_FF65), 0);
        assert_eq!(up::div_f32(0x1EC2_FF65, 0x5DC2_FF65), f32::MIN_POSITIVE.to_bits());
        assert_eq!(down::div_f32(0x9EC2_FF64, 0x5DC2_FF65), SIGN);
    }

    #[test]
    fn reciprocals_of_more_than_2_to_the_126_are_flushed() {
        // Measured on an H200, for all operands and in every direction.
        let (exact, next) = (2f32.powi(126).to_bits(), 2f32.powi(126).to_bits() + 1);
        assert_eq!([up::rcp_f32(exact), up::rcp_f32(next)], [f32::MIN_POSITIVE.to_bits(), 0]);
        assert_eq!(down::rcp_f32(exact | SIGN), f32::MIN_POSITIVE.to_bits() | SIGN);
        assert_eq!([down::rcp_f32(next | SIGN), up::rcp_f32(f32::MAX.to_bits())], [SIGN, 0]);
    }

    #[test]
    fn large_operands_are_not_disturbed() {
        let (large, one) = (f32::MAX.to_bits(), 1f32.to_bits());
        assert_eq!(mul_f32(large, one), large);
        assert_eq!(mul_f32(large, 0), 0);
        assert_eq!(fma_f32(large, one, large | SIGN), 0);
        assert_eq!(mul_f32(f32::INFINITY.to_bits(), 0), NAN_F32);
    }
}
