//! Pairs of 16-bit numbers in a word: comparisons, integers; and `min` and `max` in their rare forms.

use super::body::{Body, Result};
use super::compare::Comparison;
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R1, R2};
use crate::isa::ir::{Alu, Logic, Uniform};
use crate::isa::names::P;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn packed(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        match mods.base {
            "setp" if mods.peek_type().is_some_and(is_pair) => {
                self.set_predicates(mods, operands)?;
            }
            "set" if mods.peek_type().is_some_and(is_pair) => self.set_pair(mods, operands)?,
            "add" | "min" | "max" => {
                let Some(ty) = mods.take_any(&["s16x2", "u16x2"]) else {
                    return self.extremes(mods, operands);
                };
                self.integer_pair(mods, operands, ty == "s16x2")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn integer_pair(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        signed: bool,
    ) -> Result<()> {
        let op = match (mods.base, signed) {
            ("add", _) => R2::Add16x2,
            ("min", true) => R2::MinS16x2,
            ("min", false) => R2::MinU16x2,
            (_, true) => R2::MaxS16x2,
            (_, false) => R2::MaxU16x2,
        };
        let relu = mods.take("relu");
        let [d, a, b] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(op, d, a, b));
        if relu {
            let zero = self.builder.zero();
            self.alu(Alu::R2(R2::MaxS16x2, d, d, zero));
        }
        Ok(())
    }

    /// `min.relu.s32`, and `min` and `max` of floats with `.xorsign.abs` or of three sources.
    fn extremes(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        let Some(ty) = mods.peek_type().filter(|_| mods.base != "add") else { return Ok(false) };
        if ty == Type::S32 && mods.take("relu") {
            mods.ty();
            let [d, a, b] = self.exactly(operands)?;
            let (a, b) = (self.value_r(a, ty)?, self.value_r(b, ty)?);
            let (d, _) = self.dst_r(d)?;
            self.alu(Alu::R2(if mods.base == "min" { R2::MinS } else { R2::MaxS }, d, a, b));
            let zero = self.builder.zero();
            self.alu(Alu::R2(R2::MaxS, d, d, zero));
            return Ok(true);
        }
        let three = ty == Type::F32 && operands.len() == 4;
        let sign_of_both = mods.take("xorsign");
        if !three && !sign_of_both {
            return Ok(false);
        }
        mods.ty();
        let absolute = mods.take("abs");
        let (flush, nan) = (mods.take("ftz"), mods.take("NaN"));
        let Some((op, flush_op)) = extreme(mods.base == "max", ty, nan) else {
            return Err(self.unsupported(format!("`{}` of this type", mods.base)));
        };
        let [d, first, rest @ ..] = operands else {
            return Err(self.malformed("`min` and `max` need a destination and sources"));
        };
        let sign = match ty {
            Type::F32 => 1u32 << 31,
            Type::F16 | Type::Bf16 => 0x8000,
            _ => 0x8000_8000,
        };
        let magnitude = self.builder.uniform_r(Uniform::Bits(u64::from(!sign)));
        let sign = self.builder.uniform_r(Uniform::Bits(u64::from(sign)));
        let flush_op = flush.then_some(flush_op);
        let mut result = self.value_r(first, ty)?;
        result = flush_op.map_or(result, |op| self.step(op, result));
        let mut signs = result;
        result = if absolute { self.step2(R2::And, result, magnitude) } else { result };
        for source in rest {
            let mut value = self.value_r(source, ty)?;
            value = flush_op.map_or(value, |op| self.step(op, value));
            signs = self.step2(R2::Xor, signs, value);
            value = if absolute { self.step2(R2::And, value, magnitude) } else { value };
            let next = self.builder.new_r();
            self.alu(Alu::R2(op, next, result, value));
            result = next;
        }
        let (d, _) = self.dst_r(d)?;
        if sign_of_both {
            let signs = self.step2(R2::And, signs, sign);
            self.alu(Alu::R2(R2::Or, d, result, signs));
        } else {
            self.alu(Alu::R1(R1::Mov, d, result));
        }
        Ok(true)
    }

    /// Compares both pairs of halves: the low ones, the high ones; combined with what the last operand says.
    fn compare_pairs(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        ty: Type,
    ) -> Result<[P; 2]> {
        let Some(comparison) = Comparison::take_float(mods) else {
            return Err(self.malformed("no comparison such as `.lt`"));
        };
        let flush = mods.take("ftz");
        let logic = mods.take_any(&["and", "or", "xor"]).map(|name| match name {
            "and" => Logic::And,
            "or" => Logic::Or,
            _ => Logic::Xor,
        });
        let (a, b, combined) = match (operands, logic) {
            ([a, b], None) => (a, b, None),
            ([a, b, c], Some(logic)) => (a, b, Some((logic, self.plain_predicate(c)?))),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let (a, b) = (self.value_r(a, ty)?, self.value_r(b, ty)?);
        let (flush_op, widen) = match ty {
            Type::F16x2 => (R1::FlushF16, R1::F32FromF16),
            _ => (R1::FlushBf16, R1::F32FromBf16),
        };
        Ok([R1::Zext16, R1::High16].map(|half| {
            let [mut x, mut y] = [a, b].map(|pair| {
                let value = self.step(half, pair);
                let value = if flush { self.step(flush_op, value) } else { value };
                self.step(widen, value)
            });
            if comparison.swapped {
                std::mem::swap(&mut x, &mut y);
            }
            let p = self.builder.new_p();
            self.prepare(Alu::PRR(comparison.r, p, x, y));
            if comparison.inverted {
                self.prepare(Alu::Logic(Logic::Not, p, p, p));
            }
            if let Some((logic, c)) = combined {
                self.prepare(Alu::Logic(logic, p, p, c));
            }
            p
        }))
    }

    /// `setp.lt.f16x2 p|q, a, b`
    fn set_predicates(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let ty = mods.ty().unwrap_or(Type::F16x2);
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("`setp` needs a destination"));
        };
        let both = self.compare_pairs(mods, sources, ty)?;
        let Operand::Pair(pair) = d else {
            return Err(self.malformed("`setp` of pairs needs two predicates"));
        };
        for (d, p) in [&pair.0, &pair.1].into_iter().zip(both) {
            let d = self.dst_p(d)?;
            self.alu(Alu::Logic(Logic::Mov, d, p, p));
        }
        Ok(())
    }

    /// `set.lt.f16x2.f16x2`: 1.0 in each half where it holds; all ones with `.u32` and `.s32`.
    fn set_pair(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let source = mods.ty().unwrap_or(Type::F16x2);
        let yes = match mods.ty() {
            Some(Type::F16x2) => 0x3C00,
            Some(Type::Bf16x2) => 0x3F80,
            Some(Type::U32 | Type::S32) => 0xFFFF,
            _ => return Err(self.unsupported("`set` to this type")),
        };
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("`set` needs a destination"));
        };
        let both = self.compare_pairs(mods, sources, source)?;
        let yes = self.builder.uniform_r(Uniform::Bits(yes));
        let no = self.builder.zero();
        let [low, high] = both.map(|p| {
            let half = self.builder.new_r();
            self.prepare(Alu::SelectR(half, yes, no, p));
            half
        });
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(R2::Pack32, d, low, high));
        Ok(())
    }
}

fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2)
}

/// The operation, and what flushes its sources.
fn extreme(larger: bool, ty: Type, nan: bool) -> Option<(R2, R1)> {
    let (all, flush) = match ty {
        Type::F32 => ([R2::MinF, R2::MaxF, R2::MinNanF, R2::MaxNanF], R1::FlushF),
        Type::F16 => ([R2::MinF16, R2::MaxF16, R2::MinNanF16, R2::MaxNanF16], R1::FlushF16),
        Type::Bf16 => ([R2::MinBf16, R2::MaxBf16, R2::MinNanBf16, R2::MaxNanBf16], R1::FlushBf16),
        Type::F16x2 => {
            ([R2::MinF16x2, R2::MaxF16x2, R2::MinNanF16x2, R2::MaxNanF16x2], R1::FlushF16x2)
        }
        Type::Bf16x2 => {
            ([R2::MinBf16x2, R2::MaxBf16x2, R2::MinNanBf16x2, R2::MaxNanBf16x2], R1::FlushBf16x2)
        }
        _ => return None,
    };
    Some((all[usize::from(larger) + 2 * usize::from(nan)], flush))
}
