//! The special function unit (`MUFU`) as measured on an NVIDIA H200: equal to the bit for all 2^32 operands.
//!
//! Each function is a quadratic on each of 64 or 128 intervals, in fixed point, after Oberman and Siu ("A High-Performance
//! Area-Efficient Multifunction Interpolator", ARITH 2005). `docs/special_functions.md` says how its details were found.
//! Subnormal operands count as zeros and subnormal results become zeros, but for `tanh`.

use super::float::NAN_F32;
use super::sfu_tables::{EX2, LG2, RCP, RSQRT, Row, SIN, SQRT, TANH};

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7F80_0000;
const ONE: u32 = 0x3F80_0000;
const FRACTION: u32 = (1 << 23) - 1;
const BIAS: i32 = 127;

// Of the upper word of an `f64`.
const BIAS_F64: i32 = 1023;
const FRACTION_F64: u32 = (1 << 20) - 1;
const INFINITY_F64: u32 = 0x7FF0_0000;

/// Bits of a position within an interval.
const WITHIN: u32 = 17;

#[inline(always)]
fn exponent(a: u32) -> i32 {
    (a >> 23 & 0xFF) as i32
}
#[inline(always)]
fn is_nan(a: u32) -> bool {
    a & !SIGN > INFINITY
}

/// Sums of the rows of a product whose columns below the 6th are left out: of these bits of one factor, at the index's upper end, by the
/// other factor's 8 bits without the lowest `cut`, at its lower end.
const fn rows<const N: usize>(first: u32, count: u32, cut: u32) -> [u16; N] {
    let mut table = [0; N];
    let mut index = 0;
    while index < N {
        let (factor, other) = (index as u32 >> (8 - cut), index as u32 & ((256 >> cut) - 1));
        let mut bit = 0;
        while bit < count {
            let row = (other << cut) >> (6 - first - bit);
            table[index] += (row * (factor >> bit & 1)) as u16;
            bit += 1;
        }
        index += 1;
    }
    table
}
static LOW_ROWS: [u16; 512] = rows(0, 4, 3);
static HIGH_ROWS: [u16; 2048] = rows(4, 3, 0);

/// The square of 17 bits, without the lowest 19 bits: the unit adds up the product of each pair of bits once, but leaves out those
/// below 2^18. So of the lower 10 bits' square nothing is left, and of the upper 7 bits' all.
#[inline(always)]
fn square(t: u32) -> u32 {
    let (high, low) = (t >> 10 & 127, t >> 2 & 255);
    let crosswise = LOW_ROWS[((high & 15) << 5 | low >> 3) as usize]
        + HIGH_ROWS[((high >> 4) << 8 | low) as usize];
    2 * high * high + u32::from(crosswise)
}

/// A row's polynomial at `t`: its value counts 2^`value`, its curvature 2^`curvature` units of the result.
#[inline(always)]
fn quadratic(row: Row, value: u32, curvature: u32, t: u32) -> i64 {
    let [c0, c1, c2] = row.map(i64::from);
    (c0 << value) + c1 * i64::from(t) + ((c2 * i64::from(square(t))) << curvature)
}

/// A row and the position within its interval, of bits that both lie in.
#[inline(always)]
fn split(bits: u32) -> (usize, u32) {
    ((bits >> WITHIN) as usize, bits & ((1 << WITHIN) - 1))
}

/// A number of `point` bits behind the point, cut off to 24 bits.
#[inline(always)]
fn truncated(value: i64, point: i32) -> u32 {
    if value <= 0 {
        return 0;
    }
    let high = 63 - value.leading_zeros() as i32;
    let significand = if high >= 23 { value >> (high - 23) } else { value << (23 - high) };
    ((BIAS + high - point) as u32) << 23 | significand as u32 & FRACTION
}

/// A significand in [2^23, 2^24] with an exponent; zero or infinity beyond the normal numbers.
#[inline(always)]
fn assembled(sign: u32, exponent: i32, significand: i64) -> u32 {
    let exponent = exponent + (significand >> 24) as i32;
    if exponent <= 0 {
        sign
    } else if exponent > 254 {
        sign | INFINITY
    } else {
        sign | (exponent as u32) << 23 | significand as u32 & FRACTION
    }
}

/// The significand of a reciprocal, in [2^23, 2^24], of the 23 bits of a fraction.
#[inline(always)]
fn rcp_significand(fraction: u32) -> i64 {
    let [c0, c1, c2] = RCP[(fraction >> 16) as usize & 127].map(i64::from);
    let t = fraction & 0xFFFF;
    ((c0 << 13) + c1 * i64::from(t) + c2 * i64::from(square(t << 1)) + 0x7E7) >> 15
}

/// `MUFU.RCP`: the reciprocal.
#[inline(always)]
pub fn rcp(a: u32) -> u32 {
    let sign = a & SIGN;
    match exponent(a) {
        0 => sign | INFINITY,
        255 if is_nan(a) => NAN_F32,
        255 => sign,
        exponent => assembled(sign, 2 * BIAS - 1 - exponent, rcp_significand(a & FRACTION)),
    }
}

/// The significand of a reciprocal square root, of a fraction and the lowest bit of its exponent above it.
#[inline(always)]
fn rsqrt_significand(bits: u32) -> i64 {
    let (row, t) = split(bits);
    if bits == 0 { 1 << 24 } else { (quadratic(RSQRT[row & 127], 14, 2, t) + 0x3FFF) >> 16 }
}

/// `MUFU.RSQ`: the reciprocal of the square root.
#[inline(always)]
pub fn rsqrt(a: u32) -> u32 {
    match exponent(a) {
        0 => a & SIGN | INFINITY,
        255 if a == INFINITY => 0,
        255 => NAN_F32,
        _ if a & SIGN != 0 => NAN_F32,
        exponent => {
            let exponent = exponent - BIAS;
            let significand = rsqrt_significand((exponent as u32 & 1) << 23 | a & FRACTION);
            assembled(0, BIAS - 1 - (exponent >> 1), significand)
        }
    }
}

/// `MUFU.SQRT`: the square root.
#[inline(always)]
pub fn sqrt(a: u32) -> u32 {
    match exponent(a) {
        0 => a & SIGN,
        255 if a == INFINITY => INFINITY,
        255 => NAN_F32,
        _ if a & SIGN != 0 => NAN_F32,
        exponent => {
            let exponent = exponent - BIAS;
            let (row, t) = split((exponent as u32 & 1) << 23 | a & FRACTION);
            let significand = (quadratic(SQRT[row & 127], 15, 1, t) + 0x7FFF) >> 17;
            assembled(0, BIAS + (exponent >> 1), significand)
        }
    }
}

/// `MUFU.EX2`: 2 to the power of the operand.
#[inline(always)]
pub fn ex2(a: u32) -> u32 {
    if is_nan(a) {
        return NAN_F32;
    }
    let shift = exponent(a) - BIAS;
    // The operand as 7 and 23 bits.
    let fixed = if shift >= 7 {
        return if a & SIGN == 0 { INFINITY } else { 0 };
    } else if exponent(a) == 0 || shift < -31 {
        0
    } else {
        let significand = u64::from(a & FRACTION | 1 << 23) << 8;
        (significand << 8 >> (16 - shift)) as u32
    };
    let fixed = if a & SIGN == 0 {
        fixed
    } else if fixed & FRACTION == 0 {
        fixed.wrapping_neg()
    } else {
        !fixed
    };
    let (row, t) = split(fixed & FRACTION);
    let significand = (quadratic(EX2[row & 63], 13, 0, t) + 0x17E2) >> 15;
    assembled(0, BIAS + (fixed as i32 >> 23), significand)
}

/// `MUFU.LG2`: the logarithm to base 2.
#[inline(always)]
pub fn lg2(a: u32) -> u32 {
    match exponent(a) {
        0 => SIGN | INFINITY,
        255 if a == INFINITY => INFINITY,
        255 => NAN_F32,
        _ if a & SIGN != 0 => NAN_F32,
        _ if a == ONE => 0,
        exponent => {
            let (row, t) = split(a & FRACTION);
            let fraction = (quadratic(LG2[row & 63], 12, 1, t) + 0x345) >> 2;
            let value = (i64::from(exponent - BIAS) << 36) + fraction;
            if value < 0 { SIGN | truncated(!value, 36) } else { truncated(value, 36) }
        }
    }
}

/// The operand of `MUFU.SIN` and `MUFU.COS` in quarters of a period: two bits and 23 behind the point. The operand counts periods.
#[inline(always)]
fn quarters(a: u32) -> u32 {
    let shift = exponent(a) - BIAS + 2;
    let significand = a & FRACTION | 1 << 23;
    if exponent(a) == 0 || shift <= -24 || shift >= 25 {
        0
    } else if shift >= 0 {
        significand << shift
    } else {
        significand >> -shift
    }
}

/// The sine of quarters of a period, with the sign given.
#[inline(always)]
fn sine(quarters: u32, sign: u32) -> u32 {
    let fraction = if quarters >> 23 & 1 == 0 { quarters } else { !quarters } & FRACTION;
    let (row, t) = split(fraction);
    sign ^ (quarters >> 24 & 1) << 31 | truncated(quadratic(SIN[row & 63], 12, 0, t), 37)
}

/// `MUFU.SIN`: the sine of an angle in turns.
#[inline(always)]
pub fn sin(a: u32) -> u32 {
    if exponent(a) == 255 { NAN_F32 } else { sine(quarters(a), a & SIGN) }
}

/// `MUFU.COS`: the cosine of an angle in turns.
#[inline(always)]
pub fn cos(a: u32) -> u32 {
    if exponent(a) == 255 { NAN_F32 } else { sine(quarters(a).wrapping_add(1 << 23), 0) }
}

/// Of each binade from 2^-8 to 2^2: its first row, the bits of the operand that are cut off, and the bits behind the point of what the
/// row gives.
const TANH_BINADES: [(u8, u8, u8); 11] = [
    (0, 6, 43),
    (1, 6, 42),
    (2, 6, 41),
    (3, 5, 41),
    (5, 5, 40),
    (7, 4, 40),
    (11, 4, 39),
    (15, 4, 38),
    (19, 3, 38),
    (27, 2, 40),
    (43, 3, 42),
];

/// `MUFU.TANH`, which is the identity for small operands, subnormal ones among them.
#[inline(always)]
pub fn tanh(a: u32) -> u32 {
    let sign = a & SIGN;
    let binade = exponent(a) - (BIAS - 8);
    if is_nan(a) {
        NAN_F32
    } else if binade < 0 {
        a
    } else if let Some(&(first, cut, point)) = TANH_BINADES.get(binade as usize) {
        let (row, t) = split((a & FRACTION) >> cut);
        sign | truncated(quadratic(TANH[usize::from(first) + row], 16, 0, t), point.into())
    } else {
        sign | ONE
    }
}

/// As [`assembled`], for the upper word of an `f64`: it keeps 20 bits of the fraction.
#[inline(always)]
fn assembled_f64(sign: u32, exponent: i32, significand: i64) -> u32 {
    let exponent = exponent + (significand >> 24) as i32;
    if exponent <= 0 {
        sign
    } else {
        sign | (exponent as u32) << 20 | (significand >> 3) as u32 & FRACTION_F64
    }
}

/// `MUFU.RCP64H`: the upper word of a reciprocal. A NaN without bits in its upper word counts as infinity.
#[inline(always)]
pub fn rcp64h(high: u32) -> u32 {
    let (sign, fraction) = (high & SIGN, high & FRACTION_F64);
    match (high >> 20 & 0x7FF) as i32 {
        0 => sign | INFINITY_F64,
        0x7FF if fraction != 0 => NAN_F32,
        0x7FF => sign,
        exponent => {
            assembled_f64(sign, 2 * BIAS_F64 - 1 - exponent, rcp_significand(fraction << 3))
        }
    }
}

/// `MUFU.RSQ64H`: the upper word of a reciprocal square root.
#[inline(always)]
pub fn rsqrt64h(high: u32) -> u32 {
    match (high >> 20 & 0x7FF) as i32 {
        0 => high & SIGN | INFINITY_F64,
        _ if high == INFINITY_F64 => 0,
        0x7FF => NAN_F32,
        _ if high & SIGN != 0 => NAN_F32,
        exponent => {
            let exponent = exponent - BIAS_F64;
            let bits = (exponent as u32 & 1) << 23 | (high & FRACTION_F64) << 3;
            assembled_f64(0, BIAS_F64 - 1 - (exponent >> 1), rsqrt_significand(bits))
        }
    }
}
