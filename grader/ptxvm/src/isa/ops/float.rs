//! `f32` and `f64` arithmetic (PTX ISA 9.7.3), on register bits.
//!
//! A NaN result is the canonical one: PTX does not keep payloads of `f32`, and Rust leaves them open.

use super::exact;
use super::round::{self, Mode};

pub const NAN_F32: u32 = 0x7FFF_FFFF;
pub const NAN_F64: u64 = 0x7FF8_0000_0000_0000;

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
#[inline(always)]
fn wide_bits(value: f64) -> u64 {
    if value.is_nan() { NAN_F64 } else { value.to_bits() }
}

macro_rules! nearest {
    ($($module:ident $float:ty, $u:ty, $from:ident, $to:ident, $nan:ident;)*) => {$(
        /// The operations that round to nearest even.
        pub mod $module {
            use super::{$from, $to, $nan};

            const SIGN: $u = 1 << (<$u>::BITS - 1);

            #[inline(always)]
            pub fn add(a: $u, b: $u) -> $u {
                $to($from(a) + $from(b))
            }
            #[inline(always)]
            pub fn sub(a: $u, b: $u) -> $u {
                $to($from(a) - $from(b))
            }
            #[inline(always)]
            pub fn mul(a: $u, b: $u) -> $u {
                $to($from(a) * $from(b))
            }
            #[inline(always)]
            pub fn div(a: $u, b: $u) -> $u {
                $to($from(a) / $from(b))
            }
            #[inline(always)]
            pub fn fma(a: $u, b: $u, c: $u) -> $u {
                $to($from(a).mul_add($from(b), $from(c)))
            }
            #[inline(always)]
            pub fn rcp(a: $u) -> $u {
                $to($from(a).recip())
            }
            #[inline(always)]
            pub fn sqrt(a: $u) -> $u {
                $to($from(a).sqrt())
            }
            #[inline(always)]
            pub fn neg(a: $u) -> $u {
                a ^ SIGN
            }
            #[inline(always)]
            pub fn abs(a: $u) -> $u {
                a & !SIGN
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
                    $to(y)
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
                    $to(y)
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
            /// `min.NaN`: the smaller operand, or the canonical NaN if either is NaN.
            #[inline(always)]
            pub fn min_nan(a: $u, b: $u) -> $u {
                if $from(a).is_nan() || $from(b).is_nan() { $nan } else { min(a, b) }
            }
            /// `max.NaN`: the larger operand, or the canonical NaN if either is NaN.
            #[inline(always)]
            pub fn max_nan(a: $u, b: $u) -> $u {
                if $from(a).is_nan() || $from(b).is_nan() { $nan } else { max(a, b) }
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
                if x > 0.0 { if x < 1.0 { a } else { $to(1.0) } } else { 0 }
            }
            // Rounding to an integer (`cvt.rni` ...). The sign of zero stays.
            #[inline(always)]
            pub fn round_even(a: $u) -> $u {
                $to($from(a).round_ties_even())
            }
            #[inline(always)]
            pub fn trunc(a: $u) -> $u {
                $to($from(a).trunc())
            }
            #[inline(always)]
            pub fn floor(a: $u) -> $u {
                $to($from(a).floor())
            }
            #[inline(always)]
            pub fn ceil(a: $u) -> $u {
                $to($from(a).ceil())
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
    w32 f32, u32, f, bits, NAN_F32;
    w64 f64, u64, g, wide_bits, NAN_F64;
}

macro_rules! directed {
    ($($module:ident $mode:expr;)*) => {$(
        /// The operations with one direction of rounding.
        pub mod $module {
            use super::{Mode, bits, exact, f, g, round, wide_bits};
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
                wide_bits(exact::add(g(a), g(b), MODE))
            }
            #[inline(always)]
            pub fn mul_f64(a: u64, b: u64) -> u64 {
                wide_bits(exact::mul(g(a), g(b), MODE))
            }
            #[inline(always)]
            pub fn div_f64(a: u64, b: u64) -> u64 {
                wide_bits(exact::div(g(a), g(b), MODE))
            }
            #[inline(always)]
            pub fn rcp_f64(a: u64) -> u64 {
                div_f64(1f64.to_bits(), a)
            }
            #[inline(always)]
            pub fn sqrt_f64(a: u64) -> u64 {
                wide_bits(exact::sqrt(g(a), MODE))
            }
            #[inline(always)]
            pub fn fma_f64(a: u64, b: u64, c: u64) -> u64 {
                wide_bits(exact::fma(g(a), g(b), g(c), MODE))
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

    #[test]
    fn nan_is_canonical() {
        let infinity = f32::INFINITY.to_bits();
        assert_eq!(w32::sub(infinity, infinity), NAN_F32);
        assert_eq!(w32::mul(infinity, 0), NAN_F32);
        assert_eq!(w32::sqrt((-1f32).to_bits()), NAN_F32);
        assert_eq!(w64::div(0, 0), NAN_F64);
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
