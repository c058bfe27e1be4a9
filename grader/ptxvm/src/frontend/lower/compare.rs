//! `setp`, `set`, `selp`, `slct`.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::poison::PoisonTolerance;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PQQ, PRR, R1};
use crate::isa::ir::{Alu, Logic, Op, PoisonCheckingChoice, Uniform};
use crate::isa::names::{Pred, Slot};
use crate::isa::types::Type;

/// A comparison as one of the machine's, with its operands swapped or its result inverted.
pub(super) struct Comparison {
    pub r: PRR,
    q: PQQ,
    pub swapped: bool,
    pub inverted: bool,
}

impl Comparison {
    /// Takes the name of a comparison of floats.
    pub fn take_float(modifiers: &mut Modifiers) -> Option<Self> {
        modifiers.take_any(&FLOAT).map(float)
    }
}

const INTEGER: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

fn integer(name: &str, signed: bool) -> Comparison {
    let (lt, le) = if signed { (PRR::LtS, PRR::LeS) } else { (PRR::LtU, PRR::LeU) };
    let (lt_q, le_q) = if signed { (PQQ::LtS, PQQ::LeS) } else { (PQQ::LtU, PQQ::LeU) };
    let (r, q, swapped) = match name {
        "eq" => (PRR::Eq, PQQ::Eq, false),
        "ne" => (PRR::Ne, PQQ::Ne, false),
        "lt" => (lt, lt_q, false),
        "le" => (le, le_q, false),
        "gt" => (lt, lt_q, true),
        "ge" => (le, le_q, true),
        "lo" => (PRR::LtU, PQQ::LtU, false),
        "ls" => (PRR::LeU, PQQ::LeU, false),
        "hi" => (PRR::LtU, PQQ::LtU, true),
        _ => (PRR::LeU, PQQ::LeU, true),
    };
    Comparison { r, q, swapped, inverted: false }
}

/// Unordered comparisons are the inverse of the opposite ordered ones.
fn float(name: &str) -> Comparison {
    let (eq, ne, lt, le, num) = (
        (PRR::EqF, PQQ::EqF),
        (PRR::NeF, PQQ::NeF),
        (PRR::LtF, PQQ::LtF),
        (PRR::LeF, PQQ::LeF),
        (PRR::Num, PQQ::Num),
    );
    let ((r, q), swapped, inverted) = match name {
        "eq" => (eq, false, false),
        "ne" => (ne, false, false),
        "lt" => (lt, false, false),
        "le" => (le, false, false),
        "gt" => (lt, true, false),
        "ge" => (le, true, false),
        "equ" => (ne, false, true),
        "neu" => (eq, false, true),
        "ltu" => (le, true, true),
        "leu" => (lt, true, true),
        "gtu" => (le, false, true),
        "geu" => (lt, false, true),
        "num" => (num, false, false),
        _ => (num, false, true),
    };
    Comparison { r, q, swapped, inverted }
}

impl<'a> Body<'_, '_, '_, 'a> {
    /// `setp`. Of pairs of halves it compares the low ones and the high ones.
    pub(super) fn set_predicate(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        if modifiers.last_type().is_some_and(is_pair) {
            return self.set_predicates_of_pairs(modifiers, operands);
        }
        let [d, rest @ ..] = operands else {
            return Err(self.malformed("`setp` needs a destination"));
        };
        let (first, second) = match d {
            Operand::Pair(pair) => (self.dst_p(&pair.0)?, Some(self.dst_p(&pair.1)?)),
            _ => (self.dst_p(d)?, None),
        };
        let ty = modifiers.ty().ok_or_else(|| self.malformed("`setp` needs a type"))?;
        let into = if second.is_none() { Some(first) } else { None };
        let (result, combine) = self.compared(modifiers, rest, ty, into)?;
        if let Some(second) = second {
            // The second destination is the inverse comparison, combined in the same way.
            let inverse = self.builder.new_p();
            self.alu(Alu::Logic(Logic::Not, inverse, result, result));
            self.combined(second, inverse, combine);
        }
        self.combined(first, result, combine);
        Ok(())
    }

    /// Compares into a new predicate, or into the given one where nothing is to be combined; the logic and predicate to
    /// combine it with.
    fn compared(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        ty: Type,
        into: Option<Pred>,
    ) -> Result<(Pred, Option<(Logic, Pred)>)> {
        let comparison = if ty.is_float() {
            Comparison::take_float(modifiers)
        } else {
            modifiers.take_any(&INTEGER).map(|name| integer(name, ty.is_signed()))
        };
        let Some(comparison) = comparison else {
            return Err(self.malformed("a comparison such as `.lt` is missing"));
        };
        let flush = modifiers.take("ftz");
        let logic = modifiers.take_any(&["and", "or", "xor"]);
        let (a, b, c) = match operands {
            [a, b] if logic.is_none() => (a, b, None),
            [a, b, c] if logic.is_some() => (a, b, Some(c)),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let result = match into {
            Some(into) if logic.is_none() => into,
            _ => self.builder.new_p(),
        };
        if ty.bits() == 64 {
            let (mut a, mut b) = (self.value_q(a, ty)?, self.value_q(b, ty)?);
            if comparison.swapped {
                std::mem::swap(&mut a, &mut b);
            }
            self.alu(Alu::PQQ(comparison.q, result, a, b));
        } else {
            let (mut a, mut b) = (self.value_r(a, ty)?, self.value_r(b, ty)?);
            if flush && ty == Type::F16 {
                a = self.step(R1::FlushF16, a);
                b = self.step(R1::FlushF16, b);
            }
            let convert = match ty {
                Type::S16 => Some(R1::Sext16),
                Type::F16 => Some(R1::F32FromF16),
                Type::Bf16 => Some(R1::F32FromBf16),
                Type::F32 if flush => Some(R1::FlushF),
                _ => None,
            };
            if let Some(op) = convert {
                a = self.step(op, a);
                b = self.step(op, b);
            }
            if comparison.swapped {
                std::mem::swap(&mut a, &mut b);
            }
            self.alu(Alu::PRR(comparison.r, result, a, b));
        }
        if comparison.inverted {
            self.alu(Alu::Logic(Logic::Not, result, result, result));
        }
        let combine = match (logic, c) {
            (Some(logic), Some(c)) => {
                let c = self.plain_predicate(c)?;
                let logic = match logic {
                    "and" => Logic::And,
                    "or" => Logic::Or,
                    _ => Logic::Xor,
                };
                Some((logic, c))
            }
            _ => None,
        };
        Ok((result, combine))
    }

    fn combined(&mut self, d: Pred, result: Pred, combine: Option<(Logic, Pred)>) {
        match combine {
            Some((logic, c)) => self.alu(Alu::Logic(logic, d, result, c)),
            None if d == result => {}
            None => self.alu(Alu::Logic(Logic::Mov, d, result, result)),
        }
    }

    /// `set.cmp.dtype.stype`: all ones, or 1.0 for a float, where it holds.
    pub(super) fn set(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        if modifiers.last_type().is_some_and(is_pair) {
            return self.set_pair(modifiers, operands);
        }
        let source = modifiers.ty().ok_or_else(|| self.malformed("`set` needs two types"))?;
        let target = modifiers.ty().ok_or_else(|| self.malformed("`set` needs two types"))?;
        let [d, rest @ ..] = operands else {
            return Err(self.malformed("`set` needs a destination"));
        };
        let yes = match target {
            Type::F32 => 1f32.to_bits(),
            Type::U32 | Type::S32 => u32::MAX,
            Type::F16 => 0x3C00,
            Type::Bf16 => 0x3F80,
            Type::U16 | Type::S16 => 0xFFFF,
            _ => return Err(self.unsupported("`set` to this type")),
        };
        let (result, combine) = self.compared(modifiers, rest, source, None)?;
        self.combined(result, result, combine);
        let (d, _) = self.dst_r(d)?;
        let yes = self.builder.uniform_r(Uniform::Bits(yes.into()));
        let no = self.builder.zero();
        self.alu(Alu::SelectR(d, yes, no, result));
        Ok(())
    }

    /// Lowers `selp`, which selects one of two sources by a predicate.
    pub(super) fn select(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.ty().ok_or_else(|| self.malformed("`selp` needs a type"))?;
        let [d, a, b, p] = self.exactly(operands)?;
        let p = self.plain_predicate(p)?;
        if self.poison == Some(PoisonTolerance::Choice) {
            let slot = |body: &mut Self, value| match ty.bits() {
                64 => body.value_q(value, ty).map(Slot::Reg64),
                _ => body.value_r(value, ty).map(Slot::Reg32),
            };
            let values = [slot(self, a)?, slot(self, b)?];
            self.prepare_op(Op::PoisonCheckingChoice(PoisonCheckingChoice {
                condition: p,
                values,
            }));
        }
        self.choose(d, a, b, p, ty)
    }

    fn choose(
        &mut self,
        d: &Operand<'a>,
        a: &Operand<'a>,
        b: &Operand<'a>,
        p: Pred,
        ty: Type,
    ) -> Result<()> {
        if ty.bits() == 64 {
            let (a, b, d) = (self.value_q(a, ty)?, self.value_q(b, ty)?, self.dst_q(d)?);
            self.alu(Alu::SelectQ(d, a, b, p));
        } else {
            let (a, b, (d, _)) = (self.value_r(a, ty)?, self.value_r(b, ty)?, self.dst_r(d)?);
            self.alu(Alu::SelectR(d, a, b, p));
        }
        Ok(())
    }

    /// `slct`: `c >= 0 ? a : b`; a NaN takes `b`.
    pub(super) fn select_by_sign(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let by = modifiers.ty();
        let ty = modifiers.ty().ok_or_else(|| self.malformed("`slct` needs two types"))?;
        let flush = modifiers.take("ftz");
        let [d, a, b, c] = self.exactly(operands)?;
        let compare = match by {
            Some(Type::S32) => PRR::LeS,
            Some(Type::F32) => PRR::LeF,
            _ => return Err(self.malformed("`slct` chooses by `.s32` or `.f32`")),
        };
        let mut c = self.value_r(c, Type::B32)?;
        if flush && by == Some(Type::F32) {
            c = self.step(R1::FlushF, c);
        }
        let (p, zero) = (self.builder.new_p(), self.builder.zero());
        self.alu(Alu::PRR(compare, p, zero, c));
        self.choose(d, a, b, p, ty)
    }
}

/// Whether a type is two numbers of 16 bits.
fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2)
}
