//! Numbers as the page has them: JSON has no infinity and no NaN.

use half::{bf16, f16};
use puzzle::tensor::DType;
use serde_json::Value;

/// A number; text where it is not finite.
pub fn number(value: f64) -> Value {
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "inf".into() } else { "-inf".into() }
    } else if value.fract() == 0.0
        && value.abs() < 1e15
        && (value != 0.0 || value.is_sign_positive())
    {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

/// An integer; text where a browser would round it.
pub fn integer(value: u64) -> Value {
    if value < 1 << 53 { value.into() } else { value.to_string().into() }
}

/// As [`integer`], with a sign.
fn signed(value: i64) -> Value {
    if value.unsigned_abs() < 1 << 53 { value.into() } else { value.to_string().into() }
}

/// The value of an element of this type, from its bytes.
pub fn element(dtype: DType, bytes: &[u8]) -> Value {
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
    let bits = word(bytes);
    number(match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::I32 => f64::from(bits as i32),
        DType::I64 => return signed(bits as i64),
        DType::U8 => f64::from(bits as u8),
        DType::F16 => f16::from_bits(bits as u16).into(),
        DType::BF16 => bf16::from_bits(bits as u16).into(),
    })
}
