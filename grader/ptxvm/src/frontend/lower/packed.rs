//! Comparisons of pairs of 16-bit floats in a word.

use super::Body;
use super::body::Result;
use super::compare::Comparison;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R1, R2};
use crate::isa::ir::{Alu, Logic, Uniform};
use crate::isa::names::Pred;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// Compares both pairs of halves: the low ones, the high ones; combined with what the last operand says.
    fn compare_pairs(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        ty: Type,
    ) -> Result<[Pred; 2]> {
        let Some(comparison) = Comparison::take_float(modifiers) else {
            return Err(self.malformed("a comparison such as `.lt` is missing"));
        };
        let flush = modifiers.take("ftz");
        let logic = modifiers.take_any(&["and", "or", "xor"]).map(|name| match name {
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

    /// Lowers `setp.lt.f16x2 p|q, a, b`.
    pub(super) fn set_predicates_of_pairs(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.ty().unwrap_or(Type::F16x2);
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("`setp` needs a destination"));
        };
        let both = self.compare_pairs(modifiers, sources, ty)?;
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
    pub(super) fn set_pair(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let source = modifiers.ty().unwrap_or(Type::F16x2);
        let yes = match modifiers.ty() {
            Some(Type::F16x2) => 0x3C00,
            Some(Type::Bf16x2) => 0x3F80,
            Some(Type::U32 | Type::S32) => 0xFFFF,
            _ => return Err(self.unsupported("`set` to this type")),
        };
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("`set` needs a destination"));
        };
        let both = self.compare_pairs(modifiers, sources, source)?;
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
