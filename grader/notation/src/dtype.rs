//! Element types of tensors.

use std::fmt::{self, Display, Formatter};

/// The element type of a tensor. What a type can hold, and how a kernel that stores it rounds, is in
/// `rounding::format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit floating point: IEEE 754 binary32.
    F32,
    /// 64-bit floating point: IEEE 754 binary64.
    F64,
    /// 16-bit floating point: IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    BF16,
    /// A 32-bit signed integer.
    I32,
    /// A 64-bit signed integer.
    I64,
    /// An 8-bit unsigned integer: a byte.
    U8,
}

/// The integers up to 2^53 are those that an f64 holds together with all before them. Values are f64 here, and a larger
/// integer of 64 bits could not be told from its neighbours.
const EXACT_IN_F64: i64 = (1 << 53) - 1;

impl DType {
    /// All element types.
    pub const ALL: [Self; 7] =
        [Self::F32, Self::F64, Self::F16, Self::BF16, Self::I32, Self::I64, Self::U8];

    /// The name in a tensor's type, `f32` for example.
    #[inline]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
        }
    }

    /// The type with this name.
    #[inline]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether its values are real numbers, so that a tensor of this type has a gradient.
    #[inline]
    pub fn is_float(self) -> bool {
        self.integers().is_none()
    }

    /// The least and the greatest integer that a tensor of this type may hold; `None` for floating-point types. Of 64-bit
    /// integers these are less than 2^53 in size.
    #[inline]
    pub fn integers(self) -> Option<(i64, i64)> {
        match self {
            Self::F32 | Self::F64 | Self::F16 | Self::BF16 => None,
            Self::I32 => Some((i32::MIN.into(), i32::MAX.into())),
            Self::I64 => Some((-EXACT_IN_F64, EXACT_IN_F64)),
            Self::U8 => Some((0, u8::MAX.into())),
        }
    }

    /// Whether the value is one that a tensor of this type may hold; of floating-point types any is.
    #[inline]
    pub fn holds_integer(self, value: f64) -> bool {
        self.integers().is_none_or(|(least, greatest)| {
            value.fract() == 0.0 && value >= least as f64 && value <= greatest as f64
        })
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
