//! Sorts instructions into classes.

use crate::isa::ir::{Alu, Instr, Op, alu};
use crate::isa::matrix::{Matrices, Matrix};
use crate::isa::opcodes::with_alu_table;

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

    pub(crate) fn of(instr: &Instr) -> Self {
        match &instr.op {
            Op::Alu(alu) => of_alu(alu),
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

/// By the function that computes an operation, as the table of operations names it.
fn of_path(path: &str) -> Class {
    let parts: Vec<&str> = path.split("::").map(str::trim).collect();
    let function = parts.last().copied().unwrap_or_default();
    match parts.first().copied().unwrap_or_default() {
        "cmp" => Class::Compare,
        "cvt" | "narrow" => Class::Convert,
        "approx" => Class::Special,
        "half" | "f16" | "bf16" => Class::Half,
        _ if function.starts_with("is_") => Class::Compare,
        "f64s" => Class::Double,
        "zero" | "down" | "up" if function.ends_with("_f64") => Class::Double,
        "flush" if function.contains("f16") => Class::Half,
        "f32s" | "flush" | "zero" | "down" | "up" => Class::Float,
        _ if function == "mov" => Class::Move,
        _ => Class::Integer,
    }
}

macro_rules! define_classes {
    ($($(#[$doc:meta])* $class:ident($method:ident: $($file:ident),*) {
        $($op:ident $speed:ident $path:path;)*
    })*) => {
        fn of_alu(alu: &Alu) -> Class {
            match alu {
                $(Alu::$class(op, ..) => match op {
                    $(alu::$class::$op => of_path(stringify!($path)),)*
                },)*
                Alu::Logic(..) => Class::Compare,
                Alu::SelectR(..) | Alu::SelectQ(..) => Class::Move,
                Alu::CarryR(..) | Alu::CarryQ(..) => Class::Integer,
            }
        }
    };
}
with_alu_table!(define_classes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_go_by_their_functions() {
        for (path, class) in [
            ("w32::add", Class::Integer),
            ("w64 :: mov", Class::Move),
            ("f32s::fma", Class::Float),
            ("f32s::is_nan", Class::Compare),
            ("up::div_f64", Class::Double),
            ("up::div_f32", Class::Float),
            ("f16::add2", Class::Half),
            ("cvt::nearest::f16_from_f32", Class::Convert),
            ("cmp::f32s::eq", Class::Compare),
            ("approx::ex2", Class::Special),
        ] {
            assert_eq!(of_path(path), class, "{path}");
        }
    }

    #[test]
    fn all_classes_stand_at_their_index() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, index);
        }
    }
}
