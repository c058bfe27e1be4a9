//! `f32` and `f64` arithmetic (PTX ISA 9.7.3), on register bits.
//!
//! A NaN of `f32` is the canonical one: PTX does not keep payloads of `f32`. One of `f64` is what an H100 gives, which PTX leaves open: an
//! operand that is a NaN passes, quiet, whatever its sign, and what operands that are numbers do not define is [`MADE`].

use super::exact;
use super::round::{self, Mode};

pub const NAN_F32: u32 = 0x7FFF_FFFF;
/// The NaN of infinity minus infinity, zero times infinity and the like in `f64`, whatever their signs.
pub const MADE: u64 = 0xFFF8_0000_0000_0000;
/// The bit that a NaN has unless it signals.
pub const QUIET: u64 = 1 << 51;

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}
#[inline(always)]
fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN_F32 } else { value.to_bits() }
}
#[inline(always)]
fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}
/// The bits of a result of these operands.
#[inline(always)]
fn narrow<const N: usize>(value: f32, _operands: [u32; N]) -> u32 {
    bits(value)
}
/// The same; of several operands that are NaNs the first passes.
#[inline(always)]
pub fn wide<const N: usize>(value: f64, operands: [u64; N]) -> u64 {
    let first = |nan, operand| if g(operand).is_nan() { operand | QUIET } else { nan };
    let nan = operands.into_iter().rev().fold(MADE, first);
    if value.is_nan() { nan } else { value.to_bits() }
}
#[inline(always)]
fn with_sign(a: u32, sign: u32) -> u32 {
    a & !(1 << 31) | sign
}
/// The additions of zero that these are on a GPU keep the sign of a NaN.
#[inline(always)]
fn with_wide_sign(a: u64, sign: u64) -> u64 {
    let value = a & !(1 << 63) | sign;
    wide(g(value), [a])
}

macro_rules! nearest {
    ($($module:ident $float:ty, $u:ty, $from:ident, $to:ident, $with_sign:ident;)*) => {$(
        /// The operations that round to nearest even.
        pub mod $module {
            use super::{$from, $to, $with_sign};

            const SIGN: $u = 1 << (<$u>::BITS - 1);

            #[inline(always)]
            pub fn add(a: $u, b: $u) -> $u {
                $to($from(a) + $from(b), [b, a])
            }
            #[inline(always)]
            pub fn sub(a: $u, b: $u) -> $u {
                $to($from(a) - $from(b), [b, a])
            }
            #[inline(always)]
            pub fn mul(a: $u, b: $u) -> $u {
                $to($from(a) * $from(b), [b, a])
            }
            #[inline(always)]
            pub fn div(a: $u, b: $u) -> $u {
                $to($from(a) / $from(b), [a, b])
            }
            #[inline(always)]
            pub fn fma(a: $u, b: $u, c: $u) -> $u {
                $to($from(a).mul_add($from(b), $from(c)), [b, c, a])
            }
            #[inline(always)]
            pub fn rcp(a: $u) -> $u {
                $to($from(a).recip(), [a])
            }
            #[inline(always)]
            pub fn sqrt(a: $u) -> $u {
                $to($from(a).sqrt(), [a])
            }
            #[inline(always)]
            pub fn neg(a: $u) -> $u {
                $with_sign(a, !a & SIGN)
            }
            #[inline(always)]
            pub fn abs(a: $u) -> $u {
                $with_sign(a, 0)
            }
            /// The sign of `a` on the magnitude of `b`.
            #[inline(always)]
            pub fn copysign(a: $u, b: $u) -> $u {
                (a & SIGN) | (b & !SIGN)
            }
            /// Of a NaN and a number the number; -0 is less than +0.
            #[inline(always)]
            pub fn min(a: $u, b: $u) -> $u {
                let (x, y) = ($from(a), $from(b));
                if x.is_nan() {
                    $to(y, [b])
                } else if y.is_nan() {
                    a
                } else if x == y {
                    a | b
                } else if x < y {
                    a
                } else {
                    b
                }
            }
            /// Of a NaN and a number the number; +0 is greater than -0.
            #[inline(always)]
            pub fn max(a: $u, b: $u) -> $u {
                let (x, y) = ($from(a), $from(b));
                if x.is_nan() {
                    $to(y, [b])
                } else if y.is_nan() {
                    a
                } else if x == y {
                    a & b
                } else if x > y {
                    a
                } else {
                    b
                }
            }
            /// `min.NaN`: the smaller operand, or a NaN if either is one.
            #[inline(always)]
            pub fn min_nan(a: $u, b: $u) -> $u {
                if $from(a).is_nan() || $from(b).is_nan() { add(a, b) } else { min(a, b) }
            }
            /// `max.NaN`: the larger operand, or a NaN if either is one.
            #[inline(always)]
            pub fn max_nan(a: $u, b: $u) -> $u {
                if $from(a).is_nan() || $from(b).is_nan() { add(a, b) } else { max(a, b) }
            }
            /// `.ftz`: a subnormal becomes zero with its sign.
            #[inline(always)]
            pub fn flush(a: $u) -> $u {
                if $from(a).is_subnormal() { a & SIGN } else { a }
            }
            /// `.sat`: to [0, 1]; a NaN becomes +0.
            #[inline(always)]
            pub fn saturate(a: $u) -> $u {
                let x = $from(a);
                if x > 0.0 { if x < 1.0 { a } else { $to(1.0, []) } } else { 0 }
            }
            // Rounding to an integer (`cvt.rni` ...). The sign of zero stays.
            #[inline(always)]
            pub fn round_even(a: $u) -> $u {
                $to($from(a).round_ties_even(), [a])
            }
            #[inline(always)]
            pub fn trunc(a: $u) -> $u {
                $to($from(a).trunc(), [a])
            }
            #[inline(always)]
            pub fn floor(a: $u) -> $u {
                $to($from(a).floor(), [a])
            }
            #[inline(always)]
            pub fn ceil(a: $u) -> $u {
                $to($from(a).ceil(), [a])
            }
            // Classes of `testp`.
            #[inline(always)]
            pub fn is_finite(a: $u) -> bool {
                $from(a).is_finite()
            }
            #[inline(always)]
            pub fn is_infinite(a: $u) -> bool {
                $from(a).is_infinite()
            }
            #[inline(always)]
            pub fn is_number(a: $u) -> bool {
                !$from(a).is_nan()
            }
            #[inline(always)]
            pub fn is_nan(a: $u) -> bool {
                $from(a).is_nan()
            }
            /// PTX counts zero as normal.
            #[inline(always)]
            pub fn is_normal(a: $u) -> bool {
                $from(a).is_normal() || $from(a) == 0.0
            }
            #[inline(always)]
            pub fn is_subnormal(a: $u) -> bool {
                $from(a).is_subnormal()
            }
        }
    )*};
}
nearest! {
    w32 f32, u32, f, narrow, with_sign;
    w64 f64, u64, g, wide, with_wide_sign;
}

macro_rules! directed {
    ($($module:ident $mode:expr;)*) => {$(
        /// The operations with one direction of rounding.
        pub mod $module {
            use super::{Mode, bits, exact, f, g, round, wide};
            const MODE: Mode = $mode;

            /// Overflow of a finite sum has to stop at the largest number in some directions: `to_f32` sees to it.
            #[inline(always)]
            pub fn add_f32(a: u32, b: u32) -> u32 {
                let (x, y) = (f64::from(f(a)), f64::from(f(b)));
                let sum = round::zero_sum(round::add_odd(x, y), x, y, MODE);
                bits(round::to_f32(sum, MODE))
            }
            #[inline(always)]
            pub fn mul_f32(a: u32, b: u32) -> u32 {
                bits(round::to_f32(f64::from(f(a)) * f64::from(f(b)), MODE))
            }
            #[inline(always)]
            pub fn fma_f32(a: u32, b: u32, c: u32) -> u32 {
                let (product, addend) = (f64::from(f(a)) * f64::from(f(b)), f64::from(f(c)));
                let sum = round::zero_sum(round::add_odd(product, addend), product, addend, MODE);
                bits(round::to_f32(sum, MODE))
            }
            #[inline(always)]
            pub fn div_f32(a: u32, b: u32) -> u32 {
                bits(round::to_f32(round::div_odd(f64::from(f(a)), f64::from(f(b))), MODE))
            }
            #[inline(always)]
            pub fn rcp_f32(a: u32) -> u32 {
                div_f32(1f32.to_bits(), a)
            }
            #[inline(always)]
            pub fn sqrt_f32(a: u32) -> u32 {
                bits(round::to_f32(round::sqrt_odd(f64::from(f(a))), MODE))
            }
            #[inline(always)]
            pub fn add_f64(a: u64, b: u64) -> u64 {
                wide(exact::add(g(a), g(b), MODE), [b, a])
            }
            #[inline(always)]
            pub fn mul_f64(a: u64, b: u64) -> u64 {
                wide(exact::mul(g(a), g(b), MODE), [b, a])
            }
            #[inline(always)]
            pub fn div_f64(a: u64, b: u64) -> u64 {
                wide(exact::div(g(a), g(b), MODE), [a, b])
            }
            #[inline(always)]
            pub fn rcp_f64(a: u64) -> u64 {
                div_f64(1f64.to_bits(), a)
            }
            #[inline(always)]
            pub fn sqrt_f64(a: u64) -> u64 {
                wide(exact::sqrt(g(a), MODE), [a])
            }
            #[inline(always)]
            pub fn fma_f64(a: u64, b: u64, c: u64) -> u64 {
                wide(exact::fma(g(a), g(b), g(c), MODE), [b, c, a])
            }
        }
    )*};
}
directed! {
    zero Mode::Zero;
    down Mode::Down;
    up Mode::Up;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_and_max_of_nan_and_zeros() {
        let (nan, one, plus, minus) = (NAN_F32, 1f32.to_bits(), 0u32, 1u32 << 31);
        assert_eq!(w32::min(nan, one), one);
        assert_eq!(w32::max(one, nan), one);
        assert_eq!(w32::min(0xFFC0_0001, 0x7FC0_0001), NAN_F32);
        assert_eq!(w32::min(plus, minus), minus);
        assert_eq!(w32::max(minus, plus), plus);
        assert_eq!(w32::max_nan(one, nan), NAN_F32);
    }

    /// As in 5,000 results of an H100.
    #[test]
    fn a_nan_of_f64_passes() {
        let [one, infinity] = [1.0, f64::INFINITY].map(f64::to_bits);
        // Two quiet ones and one that signals.
        let [x, y, z] = [0xFFF8_0000_0000_0001, 0x7FF8_0000_0000_0002, 0xFFF0_0000_0000_0003];
        assert_eq!(w64::add(infinity, infinity ^ 1 << 63), MADE);
        assert_eq!(w64::mul(0, infinity), MADE);
        assert_eq!(w64::sqrt(one ^ 1 << 63), MADE);
        assert_eq!([w64::add(x, y), w64::add(x, one), w64::sub(one, y)], [y, x, y]);
        assert_eq!([w64::mul(x, y), w64::div(x, y), w64::div(one, y)], [y, x, y]);
        assert_eq!(
            [w64::fma(x, y, z), w64::fma(x, one, z), w64::fma(x, one, 0)],
            [y, z | QUIET, x]
        );
        assert_eq!([w64::min(x, y), w64::max(x, y), w64::min(one, y)], [y, y, one]);
        assert_eq!(
            [w64::rcp(z), w64::trunc(x), w64::neg(z), w64::abs(x)],
            [z | QUIET, x, z | QUIET, x]
        );
        assert_eq!([up::add_f64(x, y), up::fma_f64(x, y, z), up::div_f64(x, y)], [y, y, x]);
        assert_eq!(w64::neg(infinity), infinity ^ 1 << 63);
    }

    #[test]
    fn nan_is_canonical() {
        let infinity = f32::INFINITY.to_bits();
        assert_eq!(w32::sub(infinity, infinity), NAN_F32);
        assert_eq!(w32::mul(infinity, 0), NAN_F32);
        assert_eq!(w32::sqrt((-1f32).to_bits()), NAN_F32);
        assert_eq!(w64::div(0, 0), MADE);
    }

    #[test]
    fn fma_rounds_once() {
        // (1 + 2^-12)^2 - 1 loses its last bit when rounded twice.
        let a = (1.0 + 2f32.powi(-12)).to_bits();
        let once = 2f32.powi(-11) + 2f32.powi(-24);
        assert_eq!(w32::fma(a, a, (-1f32).to_bits()), once.to_bits());
    }

    #[test]
    fn directed_sums_bracket_the_nearest() {
        let (a, b) = (1f32.to_bits(), 2f32.powi(-40).to_bits());
        assert_eq!(down::add_f32(a, b), a);
        assert_eq!(up::add_f32(a, b), a + 1);
        assert_eq!(zero::add_f32(a | 1 << 31, b), (a | 1 << 31) - 1);
        assert_eq!(zero::mul_f32(f32::MAX.to_bits(), 2f32.to_bits()), f32::MAX.to_bits());
        assert_eq!(down::add_f32(a, a | 1 << 31), 1 << 31);
        assert_eq!(up::div_f32(a, 3f32.to_bits()), 0x3EAA_AAAB);
        assert_eq!(down::div_f32(a, 3f32.to_bits()), 0x3EAA_AAAA);
        assert_eq!(up::div_f32(a, (-3f32).to_bits()), 0xBEAA_AAAA);
        assert_eq!(up::sqrt_f32(2f32.to_bits()), 0x3FB5_04F4);
        assert_eq!(up::fma_f32(a, a, b), a + 1);
    }

    #[test]
    fn saturation_and_flush() {
        assert_eq!(w32::saturate(NAN_F32), 0);
        assert_eq!(w32::saturate((-0.5f32).to_bits()), 0);
        assert_eq!(w32::saturate(7f32.to_bits()), 1f32.to_bits());
        assert_eq!(w32::flush(0x8000_0001), 1 << 31);
        assert_eq!(w32::flush(0x0080_0000), 0x0080_0000);
    }
}
