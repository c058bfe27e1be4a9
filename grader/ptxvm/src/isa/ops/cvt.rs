//! Conversions (PTX ISA 9.7.9.21, `cvt`).

use super::float::{NAN_F32, QUIET};
use super::round::{self, BF16, F16, Format, Mode};

#[inline(always)]
fn narrow_bits(value: f32) -> u32 {
    if value.is_nan() { NAN_F32 } else { value.to_bits() }
}
#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}
#[inline(always)]
fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

// Integer to float, to nearest.
#[inline(always)]
pub fn f32_from_u32(a: u32) -> u32 {
    (a as f32).to_bits()
}
#[inline(always)]
pub fn f32_from_s32(a: u32) -> u32 {
    (a as i32 as f32).to_bits()
}
#[inline(always)]
pub fn f64_from_u32(a: u32) -> u64 {
    f64::from(a).to_bits()
}
#[inline(always)]
pub fn f64_from_s32(a: u32) -> u64 {
    f64::from(a as i32).to_bits()
}

/// The nearest `f64` of an integer, and the sign of what it lost.
#[inline(always)]
fn wide(value: i128) -> (f64, f64) {
    let nearest = value as f64;
    (nearest, (value - nearest as i128).signum() as f64)
}
/// An integer as `f64`, rounded to odd, so that a second rounding is right.
#[inline(always)]
fn odd(value: i128) -> f64 {
    let (nearest, lost) = wide(value);
    if lost == 0.0 || nearest.to_bits() & 1 == 1 {
        nearest
    } else if lost > 0.0 {
        nearest.next_up()
    } else {
        nearest.next_down()
    }
}

/// A NaN of `f64` as one of `f32`: quiet, with its sign and the upper bits of its payload, as an H100 gives it.
#[inline(always)]
fn f32_of_nan(a: u64) -> u32 {
    (a >> 32 & 0x8000_0000) as u32 | 0x7FC0_0000 | (a >> 29 & 0x3F_FFFF) as u32
}

/// A NaN of `f64` keeps its sign and the top of its payload, and is quiet, as on an H100.
#[inline(always)]
fn half_of_nan(a: u64, format: Format) -> u32 {
    let sign = (a >> 48) as u32 & 0x8000;
    let fraction = (a << 12 >> (64 - format.mantissa)) as u32;
    sign | 0x7FFF >> format.mantissa << format.mantissa | 1 << (format.mantissa - 1) | fraction
}

macro_rules! directions {
    ($($module:ident $mode:expr;)*) => {$(
        /// The conversions with one direction of rounding.
        pub mod $module {
            use super::{BF16, F16, Mode, f, f32_of_nan, g, half_of_nan, odd, round, wide};
            const MODE: Mode = $mode;

            #[inline(always)]
            pub fn f32_from_f64(a: u64) -> u32 {
                if g(a).is_nan() { f32_of_nan(a) } else { round::to_f32(g(a), MODE).to_bits() }
            }
            #[inline(always)]
            pub fn f32_from_u64(a: u64) -> u32 {
                round::to_f32(odd(a.into()), MODE).to_bits()
            }
            #[inline(always)]
            pub fn f32_from_s64(a: u64) -> u32 {
                round::to_f32(odd((a as i64).into()), MODE).to_bits()
            }
            #[inline(always)]
            pub fn f64_from_u64(a: u64) -> u64 {
                let (nearest, lost) = wide(a.into());
                round::adjust_f64(nearest, lost, MODE).to_bits()
            }
            #[inline(always)]
            pub fn f64_from_s64(a: u64) -> u64 {
                let (nearest, lost) = wide((a as i64).into());
                round::adjust_f64(nearest, lost, MODE).to_bits()
            }
            #[inline(always)]
            pub fn f16_from_f32(a: u32) -> u32 {
                round::to_16(f64::from(f(a)), F16, MODE)
            }
            #[inline(always)]
            pub fn bf16_from_f32(a: u32) -> u32 {
                round::to_16(f64::from(f(a)), BF16, MODE)
            }
            #[inline(always)]
            pub fn f16_from_f64(a: u64) -> u32 {
                if g(a).is_nan() { half_of_nan(a, F16) } else { round::to_16(g(a), F16, MODE) }
            }
            #[inline(always)]
            pub fn bf16_from_f64(a: u64) -> u32 {
                if g(a).is_nan() { half_of_nan(a, BF16) } else { round::to_16(g(a), BF16, MODE) }
            }
            #[inline(always)]
            pub fn f16_from_s64(a: u64) -> u32 {
                round::to_16(odd((a as i64).into()), F16, MODE)
            }
            #[inline(always)]
            pub fn f16_from_u64(a: u64) -> u32 {
                round::to_16(odd(a.into()), F16, MODE)
            }
            #[inline(always)]
            pub fn bf16_from_s64(a: u64) -> u32 {
                round::to_16(odd((a as i64).into()), BF16, MODE)
            }
            #[inline(always)]
            pub fn bf16_from_u64(a: u64) -> u32 {
                round::to_16(odd(a.into()), BF16, MODE)
            }
        }
    )*};
}
directions! {
    nearest Mode::Nearest;
    zero Mode::Zero;
    down Mode::Down;
    up Mode::Up;
}

// Between float widths, exact.
#[inline(always)]
pub fn f64_from_f32(a: u32) -> u64 {
    let quiet =
        u64::from(a << 1) << 28 | u64::from(a >> 31) << 63 | QUIET | f64::INFINITY.to_bits();
    if f(a).is_nan() { quiet } else { f64::from(f(a)).to_bits() }
}
#[inline(always)]
pub fn f32_from_f16(a: u32) -> u32 {
    narrow_bits(half::f16::from_bits(a as u16).to_f32())
}
#[inline(always)]
pub fn f32_from_bf16(a: u32) -> u32 {
    // A shift on an H100, too: NaNs keep their payload.
    a << 16
}

// Float to integer: what was rounded to an integer before, clamped to the range. NaN gives 0 where neither side has 64 bits,
// else the top bit alone.
#[inline(always)]
pub fn s32_from_f32(a: u32) -> u32 {
    f(a) as i32 as u32
}
#[inline(always)]
pub fn u32_from_f32(a: u32) -> u32 {
    f(a) as u32
}
const INDEFINITE_32: u32 = 1 << 31;
const INDEFINITE_64: u64 = 1 << 63;
#[inline(always)]
pub fn s64_from_f32(a: u32) -> u64 {
    if f(a).is_nan() { INDEFINITE_64 } else { f(a) as i64 as u64 }
}
#[inline(always)]
pub fn u64_from_f32(a: u32) -> u64 {
    if f(a).is_nan() { INDEFINITE_64 } else { f(a) as u64 }
}
#[inline(always)]
pub fn s32_from_f64(a: u64) -> u32 {
    if g(a).is_nan() { INDEFINITE_32 } else { g(a) as i32 as u32 }
}
#[inline(always)]
pub fn u32_from_f64(a: u64) -> u32 {
    if g(a).is_nan() { INDEFINITE_32 } else { g(a) as u32 }
}
#[inline(always)]
pub fn u16_from_f64(a: u64) -> u32 {
    if g(a).is_nan() { 1 << 15 } else { (g(a) as u16).into() }
}
#[inline(always)]
pub fn u8_from_f64(a: u64) -> u32 {
    if g(a).is_nan() { 1 << 7 } else { (g(a) as u8).into() }
}
#[inline(always)]
pub fn s64_from_f64(a: u64) -> u64 {
    if g(a).is_nan() { INDEFINITE_64 } else { g(a) as i64 as u64 }
}
#[inline(always)]
pub fn u64_from_f64(a: u64) -> u64 {
    if g(a).is_nan() { INDEFINITE_64 } else { g(a) as u64 }
}

// Saturation of integers to a narrower or differently signed range, from 64 bits.
macro_rules! saturate {
    ($($from_s:ident $from_u:ident $int:ty;)*) => {$(
        #[inline(always)]
        pub fn $from_s(a: u64) -> u64 {
            (a as i64 as i128).clamp(<$int>::MIN as i128, <$int>::MAX as i128) as u64
        }
        #[inline(always)]
        pub fn $from_u(a: u64) -> u64 {
            (a as i128).min(<$int>::MAX as i128) as u64
        }
    )*};
}
#[expect(clippy::cast_lossless, reason = "the macro casts from and to every width")]
mod saturation {
    saturate! {
        s8_sat_s s8_sat_u i8;
        s16_sat_s s16_sat_u i16;
        s32_sat_s s32_sat_u i32;
        s64_sat_s s64_sat_u i64;
        u8_sat_s u8_sat_u u8;
        u16_sat_s u16_sat_u u16;
        u32_sat_s u32_sat_u u32;
        u64_sat_s u64_sat_u u64;
    }
}
pub use saturation::*;

#[cfg(test)]
mod tests {
    use super::*;

    /// As an H100 gives them.
    #[test]
    fn nans_of_doubles_keep_their_sign_and_payload_as_halves() {
        for (from, bf16, f16) in [
            (0x7FF8_0000_0000_0000, 0x7FC0, 0x7E00),
            (0xFFF4_0000_0000_0000, 0xFFE0, 0xFF00),
            (0x7FF1_2345_6789_0000, 0x7FC9, 0x7E48),
            (0x7FF8_1234_5678_9ABC, 0x7FC0, 0x7E04),
            (0xFFF0_0000_1234_5678, 0xFFC0, 0xFE00),
        ] {
            assert_eq!((nearest::bf16_from_f64(from), nearest::f16_from_f64(from)), (bf16, f16));
        }
    }

    #[test]
    fn float_to_integer_clamps() {
        assert_eq!(s32_from_f32(1e20f32.to_bits()), i32::MAX as u32);
        assert_eq!(s32_from_f32((-1e20f32).to_bits()), i32::MIN as u32);
        assert_eq!(u32_from_f32((-1f32).to_bits()), 0);
        assert_eq!(s32_from_f32(f32::NAN.to_bits()), 0);
        assert_eq!(s32_from_f64(f64::NAN.to_bits()), 1 << 31);
        assert_eq!(s64_from_f32(f32::NAN.to_bits()), 1 << 63);
    }

    #[test]
    fn integers_round_in_the_direction() {
        let value = (1u64 << 53) + 1;
        assert_eq!(zero::f64_from_u64(value), (2f64.powi(53)).to_bits());
        assert_eq!(up::f64_from_u64(value), (2f64.powi(53) + 2.0).to_bits());
        assert_eq!(down::f32_from_s64(u64::MAX), (-1f32).to_bits());
        // A tie of f32 that a first rounding to f64 would hide.
        let value = (1u64 << 60) + (1 << 36) + 1;
        assert_eq!(nearest::f32_from_u64(value), (value as f32).to_bits());
        assert_eq!(nearest::f32_from_u64(value), 2f32.powi(60).to_bits() + 1);
    }

    #[test]
    fn integer_saturation() {
        assert_eq!(u8_sat_s((-5i64) as u64), 0);
        assert_eq!(u8_sat_s(300), 255);
        assert_eq!(s8_sat_u(300), 127);
        assert_eq!(s32_sat_s(i64::MIN as u64), i64::from(i32::MIN) as u64);
        assert_eq!(u64_sat_s((-5i64) as u64), 0);
    }
}
