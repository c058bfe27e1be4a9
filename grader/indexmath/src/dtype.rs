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
}

impl DType {
    pub(crate) const ALL: [Self; 5] = [Self::F32, Self::F64, Self::F16, Self::BF16, Self::I32];

    /// The name in a tensor's type, `f32` for example.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I32 => "i32",
        }
    }

    /// The type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether its values are real numbers, so that a tensor of this type has a gradient.
    pub fn is_float(self) -> bool {
        self != Self::I32
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
