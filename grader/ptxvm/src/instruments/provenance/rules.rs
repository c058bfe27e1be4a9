//! What arithmetic does to expressions.

use crate::isa::ir::alu::{Q1, Q2, Q3, QR, QRR, R1, R2, R3, RQ};
use crate::isa::ir::{Alu, P, Q, R, Slot};
use crate::isa::opcodes::with_alu_table;

/// How the result follows from the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The first source.
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
    Add,
    Sub,
    Mul,
    Fma,
}

/// Registers of an instruction.
pub struct Operands {
    /// None: a predicate.
    pub dst: Option<Slot>,
    pub sources: [Slot; 4],
}

trait Register {
    fn slot(self) -> Option<Slot>;
}

impl Register for R {
    fn slot(self) -> Option<Slot> {
        Some(Slot::R(self))
    }
}

impl Register for Q {
    fn slot(self) -> Option<Slot> {
        Some(Slot::Q(self))
    }
}

impl Register for P {
    fn slot(self) -> Option<Slot> {
        None
    }
}

fn of<const N: usize>(dst: impl Register, sources: [Option<Slot>; N]) -> Operands {
    let mut slots = [Slot::Sink; 4];
    for (slot, source) in slots.iter_mut().zip(sources) {
        *slot = source.unwrap_or(Slot::Sink);
    }
    Operands { dst: dst.slot(), sources: slots }
}

macro_rules! define_operands {
    ($($(#[$doc:meta])* $class:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $speed:ident $path:path;)*
    })*) => {
        define_operands!{ @arms alu [] $($class [$($file),*])* }
    };
    (@arms $alu:ident [$($arms:tt)*]) => {
        /// None where there is no rule.
        pub fn operands($alu: &Alu) -> Option<Operands> {
            Some(match *$alu {
                $($arms)*
                Alu::CarryR(_, d, a, b) => of(d, [a.slot(), b.slot()]),
                Alu::CarryQ(_, d, a, b) => of(d, [a.slot(), b.slot()]),
                _ => return None,
            })
        }
    };
    (@arms $alu:ident [$($arms:tt)*] $class:ident [$f1:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$class(_, d, a) => of(d, [a.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $class:ident [$f1:ident, $f2:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$class(_, d, a, b) => of(d, [a.slot(), b.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $class:ident [$f1:ident, $f2:ident, $f3:ident] $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$class(_, d, a, b, c) => of(d, [a.slot(), b.slot(), c.slot()]),] $($rest)* }
    };
    (@arms $alu:ident [$($arms:tt)*] $class:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident]
        $($rest:tt)*) => {
        define_operands!{ @arms $alu [$($arms)*
            Alu::$class(_, d, a, b, c, e) => of(d, [a.slot(), b.slot(), c.slot(), e.slot()]),]
            $($rest)* }
    };
}
with_alu_table!(define_operands);

/// The rule of an instruction. Rounding, to whatever type, is no change.
pub fn rule(alu: &Alu) -> Rule {
    match *alu {
        Alu::R1(op, ..) => unary_r(op),
        Alu::Q1(op, ..) => unary_q(op),
        Alu::R2(op, ..) => match op {
            R2::AddF | R2::AddRz | R2::AddRm | R2::AddRp => Rule::Add,
            R2::SubF => Rule::Sub,
            R2::MulF
            | R2::MulRz
            | R2::MulRm
            | R2::MulRp
            | R2::MulFtz
            | R2::MulFtzRm
            | R2::MulFtzRp => Rule::Mul,
            R2::DivF | R2::DivRz | R2::DivRm | R2::DivRp | R2::DivFtzRm | R2::DivFtzRp => Rule::Div,
            R2::AddI => Rule::IntegerAdd,
            R2::SubI => Rule::IntegerSub,
            R2::MulLo => Rule::IntegerMul,
            R2::MinF | R2::MinNanF => Rule::Extreme(false),
            R2::MaxF | R2::MaxNanF => Rule::Extreme(true),
            R2::AddF16 => Rule::Half("f16", Half::Add),
            R2::SubF16 => Rule::Half("f16", Half::Sub),
            R2::MulF16 => Rule::Half("f16", Half::Mul),
            R2::AddBf16 => Rule::Half("bf16", Half::Add),
            R2::SubBf16 => Rule::Half("bf16", Half::Sub),
            R2::MulBf16 => Rule::Half("bf16", Half::Mul),
            _ => Rule::Opaque,
        },
        Alu::Q2(op, ..) => match op {
            Q2::AddF | Q2::AddRz | Q2::AddRm | Q2::AddRp => Rule::Add,
            Q2::SubF => Rule::Sub,
            Q2::MulF | Q2::MulRz | Q2::MulRm | Q2::MulRp => Rule::Mul,
            Q2::DivF | Q2::DivRz | Q2::DivRm | Q2::DivRp => Rule::Div,
            Q2::MinF => Rule::Extreme(false),
            Q2::MaxF => Rule::Extreme(true),
            _ => Rule::Opaque,
        },
        Alu::R3(op, ..) => match op {
            R3::FmaF
            | R3::FmaRz
            | R3::FmaRm
            | R3::FmaRp
            | R3::FmaFtz
            | R3::FmaFtzRm
            | R3::FmaFtzRp => Rule::Fma,
            R3::FmaF16 => Rule::Half("f16", Half::Fma),
            R3::FmaBf16 => Rule::Half("bf16", Half::Fma),
            R3::MadLo => Rule::IntegerMad,
            _ => Rule::Opaque,
        },
        Alu::Q3(Q3::FmaF | Q3::FmaRz | Q3::FmaRm | Q3::FmaRp, ..) => Rule::Fma,
        Alu::QR(op, ..) => match op {
            QR::F64FromF32 => Rule::Copy,
            QR::F64FromS32 | QR::F64FromU32 => Rule::FromInteger,
            QR::U64FromF32 | QR::S64FromF32 => Rule::ToInteger,
            QR::Sext | QR::Zext => Rule::Opaque,
        },
        Alu::RQ(op, ..) => match op {
            RQ::F32FromF64
            | RQ::F32FromF64Rz
            | RQ::F32FromF64Rm
            | RQ::F32FromF64Rp
            | RQ::F32FromF64Ftz
            | RQ::F32FromF64FtzRm
            | RQ::F32FromF64FtzRp => Rule::Copy,
            RQ::Low => Rule::Low,
            RQ::High => Rule::High,
            RQ::U32FromF64 | RQ::S32FromF64 => Rule::ToInteger,
            RQ::F16FromF64 => Rule::Function("f16"),
            RQ::Bf16FromF64 => Rule::Function("bf16"),
            _ => Rule::Opaque,
        },
        Alu::QRR(QRR::Pack, ..) => Rule::Pair,
        Alu::PR(..) | Alu::PQ(..) | Alu::PRR(..) | Alu::PQQ(..) => Rule::Compare,
        _ => Rule::Opaque,
    }
}

fn unary_r(op: R1) -> Rule {
    match op {
        R1::Mov | R1::FlushF => Rule::Copy,
        R1::Zext16 => Rule::Narrow,
        R1::F32FromF16 => Rule::Widen("f16"),
        R1::F32FromBf16 => Rule::Widen("bf16"),
        R1::F32FromS32 | R1::F32FromU32 => Rule::FromInteger,
        R1::NegF => Rule::Neg,
        R1::AbsF => Rule::Abs,
        R1::SatF => Rule::Saturate,
        R1::RcpF | R1::RcpRz | R1::RcpRm | R1::RcpRp | R1::RcpFtzRm | R1::RcpFtzRp => {
            Rule::Reciprocal
        }
        R1::SqrtF | R1::SqrtRz | R1::SqrtRm | R1::SqrtRp => Rule::Function("sqrt"),
        R1::Rsqrt => Rule::Function("rsqrt"),
        R1::Ex2 => Rule::Function("exp2"),
        R1::Lg2 => Rule::Function("log2"),
        R1::Sin => Rule::Function("sin"),
        R1::Cos => Rule::Function("cos"),
        R1::Tanh => Rule::Function("tanh"),
        R1::RoundF => Rule::Function("round"),
        R1::TruncF => Rule::Function("trunc"),
        R1::FloorF => Rule::Function("floor"),
        R1::CeilF => Rule::Function("ceil"),
        R1::U32FromF32 | R1::S32FromF32 => Rule::ToInteger,
        R1::F16FromF32 => Rule::Function("f16"),
        R1::Bf16FromF32 => Rule::Function("bf16"),
        R1::Tf32Even | R1::Tf32Away | R1::Tf32Zero => Rule::Function("tf32"),
        _ => Rule::Opaque,
    }
}

fn unary_q(op: Q1) -> Rule {
    match op {
        Q1::Mov | Q1::FlushF => Rule::Copy,
        Q1::NegF => Rule::Neg,
        Q1::AbsF => Rule::Abs,
        Q1::SatF => Rule::Saturate,
        Q1::RcpF | Q1::RcpRz | Q1::RcpRm | Q1::RcpRp => Rule::Reciprocal,
        Q1::SqrtF | Q1::SqrtRz | Q1::SqrtRm | Q1::SqrtRp => Rule::Function("sqrt"),
        Q1::Rsqrt => Rule::Function("rsqrt"),
        Q1::RoundF => Rule::Function("round"),
        Q1::TruncF => Rule::Function("trunc"),
        Q1::FloorF => Rule::Function("floor"),
        Q1::CeilF => Rule::Function("ceil"),
        Q1::U64FromF64 | Q1::S64FromF64 => Rule::ToInteger,
        _ => Rule::Opaque,
    }
}
