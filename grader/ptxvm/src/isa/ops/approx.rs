//! `.approx` functions (PTX ISA 9.7.3.15 to 9.7.3.23): what the assembler makes of each for Turing to Hopper, around the special
//! function unit. Without `.ftz` it scales operands whose reciprocal, root or logarithm the unit takes for that of zero.

use super::float::{w32, w64, wide, zero};
use super::{flush, sfu};

/// Brings subnormal numbers among the normal ones.
const UP: f32 = (1 << 24) as f32;
const SIGN: u32 = 1 << 31;

#[inline(always)]
fn product(a: u32, by: f32) -> u32 {
    w32::mul(a, by.to_bits())
}
/// Whether a number is zero or subnormal.
#[inline(always)]
fn is_small(a: u32) -> bool {
    a & !SIGN < f32::MIN_POSITIVE.to_bits()
}
/// Whose reciprocal is subnormal, or so near to it that the assembler does not care. No NaN.
#[inline(always)]
fn is_large(a: u32) -> bool {
    f32::from_bits(a).abs() > 2f32.powi(126)
}

/// The square of the root where the result would be subnormal.
pub fn ex2(a: u32) -> u32 {
    if f32::from_bits(a) < -126.0 {
        let root = sfu::ex2(product(a, 0.5));
        w32::mul(root, root)
    } else {
        sfu::ex2(a)
    }
}
pub fn lg2(a: u32) -> u32 {
    if is_small(a) { w32::sub(sfu::lg2(product(a, UP)), 24f32.to_bits()) } else { sfu::lg2(a) }
}
pub fn sqrt(a: u32) -> u32 {
    if is_small(a) { product(sfu::sqrt(product(a, UP)), 1.0 / 4096.0) } else { sfu::sqrt(a) }
}
pub fn rsqrt(a: u32) -> u32 {
    if is_small(a) { product(sfu::rsqrt(product(a, UP)), 4096.0) } else { sfu::rsqrt(a) }
}
pub fn rcp(a: u32) -> u32 {
    let scale = if is_large(a) {
        0.25
    } else if is_small(a) {
        UP
    } else {
        return sfu::rcp(a);
    };
    product(sfu::rcp(product(a, scale)), scale)
}

/// In periods, toward zero.
fn periods(a: u32) -> u32 {
    zero::mul_f32(a, (std::f32::consts::FRAC_1_PI / 2.0).to_bits())
}
pub fn sin(a: u32) -> u32 {
    sfu::sin(periods(a))
}
pub fn cos(a: u32) -> u32 {
    sfu::cos(periods(a))
}

/// `div.approx`: a divisor beyond 2^126 has the reciprocal zero.
pub fn div(a: u32, b: u32) -> u32 {
    let scale = if is_small(b) { UP } else { 1.0 };
    w32::mul(sfu::rcp(product(b, scale)), product(a, scale))
}
/// `div.approx.ftz` of flushed operands.
pub fn div_ftz(a: u32, b: u32) -> u32 {
    flush::mul_f32(sfu::rcp(b), a)
}
/// `div.full`: large divisors, and their dividends, are scaled down first.
pub fn div_full(a: u32, b: u32) -> u32 {
    if is_large(b) { div(product(a, 0.25), product(b, 0.25)) } else { div(a, b) }
}
/// `div.full.ftz` of flushed operands.
pub fn div_full_ftz(a: u32, b: u32) -> u32 {
    if is_large(b) {
        div_ftz(w32::flush(product(a, 0.25)), product(b, 0.25))
    } else {
        div_ftz(a, b)
    }
}

/// `rcp.approx.ftz.f64`: the unit sees the upper words alone.
pub fn rcp_f64(a: u64) -> u64 {
    u64::from(sfu::rcp64h((a >> 32) as u32)) << 32
}
/// `rsqrt.approx.ftz.f64`: the unit sees the upper words alone.
pub fn rsqrt_f64_ftz(a: u64) -> u64 {
    u64::from(sfu::rsqrt64h((a >> 32) as u32)) << 32
}
/// One step of an iteration of third order from the unit's result.
fn refined(a: f64) -> f64 {
    let root = f64::from_bits(rsqrt_f64_ftz(a.to_bits()));
    let error = a.mul_add(-(root * root), 1.0);
    error.mul_add(0.375, 0.5).mul_add(root * error, root)
}
/// `rsqrt.approx.f64`: the unit's result, refined.
pub fn rsqrt_f64(a: u64) -> u64 {
    let x = f64::from_bits(a);
    if x == 0.0 {
        a | f64::INFINITY.to_bits()
    } else if x == f64::INFINITY {
        0
    } else if x.is_nan() || x < 0.0 {
        wide(f64::NAN, [a])
    } else if x.is_subnormal() {
        let up = (1u64 << 54) as f64;
        w64::mul(refined(x * up).to_bits(), f64::from(1 << 27).to_bits())
    } else {
        refined(x).to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `tests/golden/special.cu` gave on an NVIDIA H200: for each function and each upper byte of the operand a sum of [`mixed`] results.
    const MEASURED: &[u8] = include_bytes!("../../../tests/golden/special.bin");
    const BYTES: usize = 256;

    type Function = (&'static str, fn(u32) -> u32);

    const FUNCTIONS: [Function; 15] = [
        ("ex2.approx.ftz.f32", sfu::ex2),
        ("lg2.approx.ftz.f32", sfu::lg2),
        ("rcp.approx.ftz.f32", sfu::rcp),
        ("rsqrt.approx.ftz.f32", sfu::rsqrt),
        ("sqrt.approx.ftz.f32", sfu::sqrt),
        ("sin.approx.f32", sin),
        ("cos.approx.f32", cos),
        ("tanh.approx.f32", sfu::tanh),
        ("rcp.approx.ftz.f64", sfu::rcp64h),
        ("rsqrt.approx.ftz.f64", sfu::rsqrt64h),
        ("ex2.approx.f32", ex2),
        ("lg2.approx.f32", lg2),
        ("rcp.approx.f32", rcp),
        ("rsqrt.approx.f32", rsqrt),
        ("sqrt.approx.f32", sqrt),
    ];

    /// The last step of `MurmurHash3` (Appleby, 2011).
    fn mixed(x: u32) -> u32 {
        let x = (x ^ x >> 16).wrapping_mul(0x85EB_CA6B);
        let x = (x ^ x >> 13).wrapping_mul(0xC2B2_AE35);
        x ^ x >> 16
    }

    /// Compares all 2^24 operands with this upper byte.
    fn compare(function: usize, byte: usize) {
        let (name, compute) = FUNCTIONS[function];
        let sum = (0..1 << 24).fold(0u32, |sum, low: u32| {
            let position = (low & 0xFFFF).wrapping_mul(0x9E37_79B1);
            sum.wrapping_add(mixed(compute((byte as u32) << 24 | low) ^ position))
        });
        let measured = &MEASURED[(function * BYTES + byte) * 4..][..4];
        assert_eq!(sum.to_le_bytes(), measured, "{name} of {byte:02x}......");
    }

    /// Operands from 0.5 to 2 cover nearly all rows of the tables.
    #[test]
    fn two_binades_give_what_a_gpu_gives() {
        (0..FUNCTIONS.len()).for_each(|function| compare(function, 0x3F));
    }

    /// Minutes: `cargo test -p ptxvm --lib -- --ignored all_operands`
    #[test]
    #[ignore = "2^32 operands of 15 functions"]
    fn all_operands_give_what_a_gpu_gives() {
        for function in 0..FUNCTIONS.len() {
            (0..BYTES).for_each(|byte| compare(function, byte));
        }
    }

    #[test]
    fn special_values() {
        let of = |value: f32| value.to_bits();
        assert_eq!(ex2(of(f32::NEG_INFINITY)), 0);
        assert_eq!(ex2(of(3.0)), of(8.0));
        assert_eq!(ex2(of(-149.0)), 1);
        assert_eq!(sfu::ex2(of(-127.0)), 0);
        assert_eq!(lg2(0), of(f32::NEG_INFINITY));
        assert_eq!(lg2(1), of(-149.0));
        assert_eq!(lg2(of(-1.0)), super::super::float::NAN_F32);
        assert_eq!(rsqrt(1 << 31), of(f32::NEG_INFINITY));
        assert_eq!(rsqrt(of(4.0)), of(0.5));
        assert_eq!(rcp(of(2f32.powi(127))), of(2f32.powi(-127)));
        assert_eq!(sfu::rcp(of(2f32.powi(127))), 0);
        assert_eq!(div(of(2f32.powi(127)), of(2f32.powi(127))), 0);
        assert_eq!(div_full(of(2f32.powi(127)), of(2f32.powi(127))), of(1.0));
        assert_eq!(rsqrt_f64(4f64.to_bits()), 0.5f64.to_bits());
    }
}
