//! Classes of instructions: the kinds of work that counters tell apart.

use super::ir::{Alu, Instr, Op, alu};
use super::matrix::{Matrices, Matrix};
use super::opcodes::with_lane_operations;

/// What kind of work an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Integer arithmetic, logic and shifts.
    Integer,
    /// Arithmetic on `f16`, `bf16` and their pairs.
    Half,
    /// Arithmetic on `f32`.
    Float,
    /// Arithmetic on `f64`.
    Double,
    /// Approximate functions: `ex2`, `sin`, `rsqrt` and so on.
    Special,
    /// Products of matrices: `mma` and `wmma.mma`.
    Matrix,
    /// Conversions between types.
    Convert,
    /// Comparisons and logic on predicates.
    Compare,
    /// Moves and selects.
    Move,
    /// `ld`, `wmma.load`, `ldmatrix` and `cp.async`.
    Load,
    /// `st`, `wmma.store` and `stmatrix`.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Branches, calls, returns.
    Control,
    /// `bar` and `bar.warp.sync`.
    Barrier,
    /// Shuffles, votes and the like between the lanes of a warp.
    Warp,
    /// Fences, clocks, system calls.
    Other,
}

impl Class {
    /// All, in order.
    pub const ALL: [Self; 16] = [
        Self::Integer,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::Special,
        Self::Matrix,
        Self::Convert,
        Self::Compare,
        Self::Move,
        Self::Load,
        Self::Store,
        Self::Atomic,
        Self::Control,
        Self::Barrier,
        Self::Warp,
        Self::Other,
    ];

    /// In lower case, as `integer`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Half => "half",
            Self::Float => "float",
            Self::Double => "double",
            Self::Special => "special",
            Self::Matrix => "matrix",
            Self::Convert => "convert",
            Self::Compare => "compare",
            Self::Move => "move",
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
            Self::Control => "control",
            Self::Barrier => "barrier",
            Self::Warp => "warp",
            Self::Other => "other",
        }
    }

    /// What an instruction counts as.
    pub(crate) fn of(instr: &Instr) -> Self {
        match &instr.op {
            Op::Alu(alu) => alu.class(),
            Op::Load(..) | Op::QuietLoad(_) | Op::CopyAsync(_) => Self::Load,
            Op::Store(..) | Op::QuietStore(_) => Self::Store,
            Op::Matrix(matrix) => match &**matrix {
                Matrix::Product(_) => Self::Matrix,
                Matrix::Load(_) | Matrix::Rows(Matrices { stores: false, .. }) => Self::Load,
                Matrix::Store(_) | Matrix::Rows(_) => Self::Store,
                Matrix::Transpose(..) => Self::Warp,
            },
            Op::Atom(_) => Self::Atomic,
            Op::Branch { .. }
            | Op::Join
            | Op::Call(_)
            | Op::Enter(_)
            | Op::Leave(_)
            | Op::InvalidCall(_)
            | Op::Ret
            | Op::Exit
            | Op::Trap
            | Op::GridTrap => Self::Control,
            Op::Bar(_) | Op::WarpSync | Op::Mbarrier(_) => Self::Barrier,
            Op::CopyLocal(..) => Self::Move,
            Op::Shfl { .. }
            | Op::VoteP(..)
            | Op::Ballot(..)
            | Op::MatchAny(..)
            | Op::MatchAll(..)
            | Op::Redux(..)
            | Op::ActiveMask(_) => Self::Warp,
            _ => Self::Other,
        }
    }
}

macro_rules! define_classes {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        impl Alu {
            /// What it counts as.
            pub fn class(&self) -> Class {
                match self {
                    $(Self::$signature(op, ..) => match op {
                        $(alu::$signature::$op => Class::$class,)*
                    },)*
                    Self::Logic(..) => Class::Compare,
                    Self::SelectR(..) | Self::SelectQ(..) => Class::Move,
                    Self::CarryR(..) | Self::CarryQ(..) => Class::Integer,
                }
            }
        }
    };
}
with_lane_operations!(define_classes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_classes_stand_at_their_index() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, index);
        }
    }
}
