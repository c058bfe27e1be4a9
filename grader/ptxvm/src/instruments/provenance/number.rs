//! The types of elements that expressions are made of.

/// Element types that expressions are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// IEEE 754 binary16, `half` in CUDA.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// IEEE 754 binary32, `float` in CUDA.
    F32,
    /// IEEE 754 binary64, `double` in CUDA.
    F64,
}

impl Number {
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    pub(super) fn decode(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
        }
    }
}
