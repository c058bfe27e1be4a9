//! What arithmetic does to expressions.

use crate::isa::ir::{Alu, alu};
use crate::isa::opcodes::with_lane_operations;

/// How the result follows from the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The result has the expression of the first source.
    Copy,
    Neg,
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    /// One over the first source.
    Reciprocal,
    /// One of two sources, by value; true: the larger one.
    Extreme(bool),
    Abs,
    Saturate,
    Function(&'static str),
    /// To an integer: the value is cut off.
    ToInteger,
    /// An integer as a float.
    FromInteger,
    /// The low 16 bits.
    Narrow,
    /// A 16-bit float of this name as a wider one.
    Widen(&'static str),
    /// Arithmetic on 16-bit floats of this name.
    Half(&'static str, Half),
    IntegerAdd,
    IntegerSub,
    IntegerMul,
    IntegerMad,
    /// The words of a 64-bit register.
    Pair,
    Low,
    High,
    /// Decides something by value: no result to follow.
    Compare,
    Opaque,
}

/// Arithmetic on 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Neg,
    Add,
    Sub,
    Mul,
    Fma,
}

macro_rules! define_rules {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        /// The rule of an instruction. Rounding, to whatever type, is no change.
        pub fn rule(alu: &Alu) -> Rule {
            match alu {
                $(Alu::$signature(op, ..) => match op {
                    $(alu::$signature::$op => Rule::$rule$(($($argument)*))?,)*
                },)*
                _ => Rule::Opaque,
            }
        }
    };
}
with_lane_operations!(define_rules);
