//! `.approx` functions (PTX ISA 9.7.3.18 to 9.7.3.23).
//!
//! The hardware's tables are not public. These are computed in `f64` and rounded once, so they lie within every bound
//! that the ISA gives, but need not equal a GPU's bits.

use super::float::{NAN_F32, NAN_F64};

#[inline(always)]
fn by(a: u32, function: impl Fn(f64) -> f64) -> u32 {
    let value = function(f64::from(f32::from_bits(a))) as f32;
    if value.is_nan() { NAN_F32 } else { value.to_bits() }
}
pub fn ex2(a: u32) -> u32 {
    by(a, f64::exp2)
}
pub fn lg2(a: u32) -> u32 {
    by(a, f64::log2)
}
pub fn sin(a: u32) -> u32 {
    by(a, f64::sin)
}
pub fn cos(a: u32) -> u32 {
    by(a, f64::cos)
}
pub fn tanh(a: u32) -> u32 {
    by(a, f64::tanh)
}
pub fn rsqrt(a: u32) -> u32 {
    by(a, |x| 1.0 / x.sqrt())
}
pub fn rsqrt_f64(a: u64) -> u64 {
    let value = 1.0 / f64::from_bits(a).sqrt();
    if value.is_nan() { NAN_F64 } else { value.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        let of = |value: f32| value.to_bits();
        assert_eq!(ex2(of(f32::NEG_INFINITY)), 0);
        assert_eq!(ex2(of(3.0)), of(8.0));
        assert_eq!(lg2(0), of(f32::NEG_INFINITY));
        assert_eq!(lg2(of(-1.0)), NAN_F32);
        assert_eq!(rsqrt(1 << 31), of(f32::NEG_INFINITY));
        assert_eq!(rsqrt(of(4.0)), of(0.5));
        assert_eq!(sin(of(f32::INFINITY)), NAN_F32);
        assert_eq!(tanh(of(f32::INFINITY)), of(1.0));
    }
}
