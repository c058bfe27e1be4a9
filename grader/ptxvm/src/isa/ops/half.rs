//! `f16`, `bf16` and their packed pairs (PTX ISA 9.7.4). Each result is rounded once.

use super::float;
use super::round::{self, BF16, F16, Format, Mode};
use super::sfu;

#[inline(always)]
fn from_f16(bits: u32) -> f64 {
    half::f16::from_bits(bits as u16).to_f64()
}
#[inline(always)]
fn from_bf16(bits: u32) -> f64 {
    half::bf16::from_bits(bits as u16).to_f64()
}
/// On each half of a packed pair.
#[inline(always)]
fn each2(a: u32, b: u32, op: impl Fn(u32, u32) -> u32) -> u32 {
    op(a & 0xFFFF, b & 0xFFFF) | op(a >> 16, b >> 16) << 16
}

macro_rules! format {
    ($($module:ident $format:ident $from:ident;)*) => {$(
        pub mod $module {
            use super::{$format, $from, Format, Mode, each2, float, round, sfu};

            const FORMAT: Format = $format;

            #[inline(always)]
            fn nearest(value: f64) -> u32 {
                round::to_16(value, FORMAT, Mode::Nearest)
            }
            #[inline(always)]
            pub fn add(a: u32, b: u32) -> u32 {
                nearest(round::add_odd($from(a), $from(b)))
            }
            #[inline(always)]
            pub fn sub(a: u32, b: u32) -> u32 {
                nearest(round::add_odd($from(a), -$from(b)))
            }
            /// The product of two 11-bit significands is exact in 53 bits.
            #[inline(always)]
            pub fn mul(a: u32, b: u32) -> u32 {
                nearest($from(a) * $from(b))
            }
            #[inline(always)]
            pub fn fma(a: u32, b: u32, c: u32) -> u32 {
                nearest(round::add_odd($from(a) * $from(b), $from(c)))
            }
            #[inline(always)]
            pub fn min(a: u32, b: u32) -> u32 {
                nearest(f64::from_bits(float::w64::min($from(a).to_bits(), $from(b).to_bits())))
            }
            #[inline(always)]
            pub fn max(a: u32, b: u32) -> u32 {
                nearest(f64::from_bits(float::w64::max($from(a).to_bits(), $from(b).to_bits())))
            }
            #[inline(always)]
            pub fn min_nan(a: u32, b: u32) -> u32 {
                nearest(f64::from_bits(float::w64::min_nan($from(a).to_bits(), $from(b).to_bits())))
            }
            #[inline(always)]
            pub fn max_nan(a: u32, b: u32) -> u32 {
                nearest(f64::from_bits(float::w64::max_nan($from(a).to_bits(), $from(b).to_bits())))
            }
            /// `.sat`: to [0, 1]; a NaN becomes +0.
            #[inline(always)]
            pub fn saturate(a: u32) -> u32 {
                let x = $from(a);
                if x > 0.0 { nearest(x.min(1.0)) } else { 0 }
            }
            /// `.relu`: negative values become +0; a NaN stays one.
            #[inline(always)]
            pub fn relu(a: u32) -> u32 {
                let x = $from(a);
                if x.is_nan() || x > 0.0 { nearest(x) } else { 0 }
            }
            const INFINITY: u32 =
                ((FORMAT.max_exponent - FORMAT.min_exponent + 2) as u32) << FORMAT.mantissa;

            /// The canonical NaN for any NaN, as the machine code, which adds a zero.
            #[inline(always)]
            fn canonical(of: u32, result: u32) -> u32 {
                if of & 0x7FFF > INFINITY { 0x7FFF } else { result }
            }
            #[inline(always)]
            pub fn neg(a: u32) -> u32 {
                canonical(a, a ^ 0x8000)
            }
            #[inline(always)]
            pub fn abs(a: u32) -> u32 {
                canonical(a, a & 0x7FFF)
            }
            /// `.ftz`: a subnormal becomes zero with its sign. Of bf16 operations, `ex2` alone has it.
            #[inline(always)]
            pub fn flush(a: u32) -> u32 {
                if a & 0x7FFF < 1 << FORMAT.mantissa { a & 0x8000 } else { a }
            }
            /// By the special function unit, whose results are cut off unless they overflow.
            #[inline(always)]
            fn special(function: impl Fn(u32) -> u32, a: u32) -> u32 {
                let value = f64::from(f32::from_bits(function(($from(a) as f32).to_bits())));
                let overflow = value.abs() >= f64::from(FORMAT.max_exponent + 1).exp2();
                let mode = if overflow { Mode::Nearest } else { Mode::Zero };
                round::to_16(value, FORMAT, mode)
            }
            #[inline(always)]
            pub fn ex2(a: u32) -> u32 {
                special(sfu::ex2, a)
            }
            #[inline(always)]
            pub fn tanh(a: u32) -> u32 {
                special(sfu::tanh, a)
            }

            // Packed pairs.
            #[inline(always)]
            pub fn add2(a: u32, b: u32) -> u32 {
                each2(a, b, add)
            }
            #[inline(always)]
            pub fn sub2(a: u32, b: u32) -> u32 {
                each2(a, b, sub)
            }
            #[inline(always)]
            pub fn mul2(a: u32, b: u32) -> u32 {
                each2(a, b, mul)
            }
            #[inline(always)]
            pub fn fma2(a: u32, b: u32, c: u32) -> u32 {
                fma(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | fma(a >> 16, b >> 16, c >> 16) << 16
            }
            #[inline(always)]
            pub fn min2(a: u32, b: u32) -> u32 {
                each2(a, b, min)
            }
            #[inline(always)]
            pub fn max2(a: u32, b: u32) -> u32 {
                each2(a, b, max)
            }
            #[inline(always)]
            pub fn min_nan2(a: u32, b: u32) -> u32 {
                each2(a, b, min_nan)
            }
            #[inline(always)]
            pub fn max_nan2(a: u32, b: u32) -> u32 {
                each2(a, b, max_nan)
            }
            #[inline(always)]
            pub fn saturate2(a: u32) -> u32 {
                each2(a, 0, |half, _| saturate(half))
            }
            #[inline(always)]
            pub fn flush2(a: u32) -> u32 {
                each2(a, 0, |half, _| flush(half))
            }
            #[inline(always)]
            pub fn neg2(a: u32) -> u32 {
                each2(a, 0, |half, _| neg(half))
            }
            #[inline(always)]
            pub fn abs2(a: u32) -> u32 {
                each2(a, 0, |half, _| abs(half))
            }
            #[inline(always)]
            pub fn relu2(a: u32) -> u32 {
                each2(a, 0, |half, _| relu(half))
            }
            #[inline(always)]
            pub fn ex2_2(a: u32) -> u32 {
                each2(a, 0, |half, _| ex2(half))
            }
            #[inline(always)]
            pub fn tanh_2(a: u32) -> u32 {
                each2(a, 0, |half, _| tanh(half))
            }
        }
    )*};
}
format! {
    f16 F16 from_f16;
    bf16 BF16 from_bf16;
}

// Rounding to an integer, which f16 alone has.
#[inline(always)]
pub fn round_even(a: u32) -> u32 {
    round::to_16(from_f16(a).round_ties_even(), F16, Mode::Nearest)
}
#[inline(always)]
pub fn trunc(a: u32) -> u32 {
    round::to_16(from_f16(a).trunc(), F16, Mode::Nearest)
}
#[inline(always)]
pub fn floor(a: u32) -> u32 {
    round::to_16(from_f16(a).floor(), F16, Mode::Nearest)
}
#[inline(always)]
pub fn ceil(a: u32) -> u32 {
    round::to_16(from_f16(a).ceil(), F16, Mode::Nearest)
}

#[cfg(test)]
mod tests {
    use super::{bf16, f16};
    use half::f16 as Half;

    fn h(value: f32) -> u32 {
        u32::from(Half::from_f32(value).to_bits())
    }

    #[test]
    fn sums_and_products() {
        assert_eq!(f16::add(h(1.5), h(2.25)), h(3.75));
        assert_eq!(f16::add2(h(1.0) | h(2.0) << 16, h(3.0) | h(4.0) << 16), h(4.0) | h(6.0) << 16);
        assert_eq!(f16::mul(h(300.0), h(300.0)), 0x7C00);
        assert_eq!(f16::sub(0x7C00, 0x7C00), 0x7FFF);
        assert_eq!(bf16::add(0x3F80, 0x3F80), 0x4000);
        assert_eq!(f16::max(0x7E00, h(1.0)), h(1.0));
        assert_eq!(f16::relu(h(-1.0)), 0);
    }

    /// As an H100 has them.
    #[test]
    fn negatives_and_magnitudes_of_nans_are_canonical() {
        assert_eq!([0x7E01, 0xFE01, 0xFC01].map(f16::neg), [0x7FFF; 3]);
        assert_eq!([0x7E01, 0xFC00, 0x3C00].map(bf16::neg), [0xFE01, 0x7C00, 0xBC00]);
        assert_eq!((f16::abs2(0xFC01_BC00), bf16::abs2(0xFFC1_FF80)), (0x7FFF_3C00, 0x7FFF_7F80));
    }

    #[test]
    fn fma_rounds_once() {
        let a = h(1.0 + 2f32.powi(-10));
        // a*a = 1 + 2^-9 + 2^-20, a tie is broken only by the last bit.
        let c = h(2f32.powi(-11));
        let exact = 1.0 + 2f64.powi(-9) + 2f64.powi(-20) + 2f64.powi(-11);
        assert!(exact > 1.0 + 2f64.powi(-9) + 2f64.powi(-11));
        assert_eq!(f16::fma(a, a, c), h(1.0 + 2f32.powi(-9) + 2f32.powi(-10)));
    }
}
