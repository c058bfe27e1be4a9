//! Integer instructions that compilers hardly ever write.

use super::body::{Body, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PRR, R2, R3, R4};
use crate::isa::ir::{Alu, Logic, Uniform};
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn rare_arithmetic(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
    ) -> Result<bool> {
        let saturates = mods.base == "mad" && mods.peek_type() == Some(Type::S32);
        if saturates && mods.take("sat") {
            if !mods.take("hi") {
                return Err(self.malformed("`mad.sat.s32` needs `.hi`"));
            }
            mods.ty();
            self.sum_of(operands, R2::MulHiS, R2::AddSatS)?;
            return Ok(true);
        }
        match mods.base {
            "mad24" => {
                let signed = mods.peek_type() == Some(Type::S32);
                let product = match (mods.take_any(&["lo", "hi"]), signed) {
                    (Some("hi"), true) => R2::Mul24HiS,
                    (Some("hi"), false) => R2::Mul24HiU,
                    (_, true) => R2::Mul24S,
                    (_, false) => R2::Mul24U,
                };
                self.product_sum(mods, operands, product)?;
            }
            "dp2a" => self.dot_product(mods, operands)?,
            "szext" => self.extend_from(mods, operands)?,
            "lop3" if operands.len() == 6 => self.lop3_with_predicate(mods, operands)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn product_sum(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        product: R2,
    ) -> Result<()> {
        mods.ty();
        let sum = if mods.take("sat") { R2::AddSatS } else { R2::AddI };
        self.sum_of(operands, product, sum)
    }

    fn sum_of(&mut self, operands: &[Operand<'a>], product: R2, sum: R2) -> Result<()> {
        let [d, a, b, c] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let product = self.step2(product, a, b);
        let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
        self.alu(Alu::R2(sum, d, product, c));
        Ok(())
    }

    /// `dp2a.hi` takes the upper two bytes of `b`.
    fn dot_product(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let (b_type, a_type) = (mods.ty(), mods.ty());
        let op = match (a_type, b_type) {
            (Some(Type::U32), Some(Type::U32)) => R3::Dp2aUU,
            (Some(Type::U32), Some(Type::S32)) => R3::Dp2aUS,
            (Some(Type::S32), Some(Type::U32)) => R3::Dp2aSU,
            (Some(Type::S32), Some(Type::S32)) => R3::Dp2aSS,
            _ => return Err(self.malformed("`dp2a` needs two types of 32 bits")),
        };
        let high = match mods.take_any(&["lo", "hi"]) {
            Some(part) => part == "hi",
            None => return Err(self.malformed("`dp2a` needs `.lo` or `.hi`")),
        };
        let [d, a, b, c] = self.exactly(operands)?;
        let (a, mut b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        if high {
            let half = self.builder.uniform_r(Uniform::Bits(16));
            b = self.step2(R2::ShrU, b, half);
        }
        let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
        self.alu(Alu::R3(op, d, a, b, c));
        Ok(())
    }

    /// `szext`: the low bits, as many as `b` says, extended to 32.
    fn extend_from(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let signed = mods.ty() == Some(Type::S32);
        let wrap = match mods.take_any(&["wrap", "clamp"]) {
            Some(mode) => mode == "wrap",
            None => return Err(self.malformed("`szext` needs `.wrap` or `.clamp`")),
        };
        let [d, a, b] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::U32)?);
        let limit = self.builder.uniform_r(Uniform::Bits(if wrap { 31 } else { 32 }));
        let bits = self.step2(if wrap { R2::And } else { R2::MinU }, b, limit);
        let (zero, (d, _)) = (self.builder.zero(), self.dst_r(d)?);
        self.alu(Alu::R3(if signed { R3::BfeS } else { R3::BfeU }, d, a, zero, bits));
        Ok(())
    }

    /// `lop3.or.b32 d|p, a, b, c, table, q`: `p` is whether the result is not zero, or `q`.
    fn lop3_with_predicate(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let logic = match mods.take_any(&["and", "or"]) {
            Some("and") => Logic::And,
            Some(_) => Logic::Or,
            None => return Err(self.malformed("`lop3` with a predicate needs `.and` or `.or`")),
        };
        mods.ty();
        let [d, a, b, c, table, q] = self.exactly(operands)?;
        let Operand::Pair(pair) = d else {
            return Err(self.malformed("`lop3` with a predicate has two destinations"));
        };
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let (c, table) = (self.value_r(c, Type::B32)?, self.value_r(table, Type::B32)?);
        let q = self.plain_predicate(q)?;
        let ((d, _), p) = (self.dst_r(&pair.0)?, self.dst_p(&pair.1)?);
        self.alu(Alu::R4(R4::Lop3, d, a, b, c, table));
        let (zero, some) = (self.builder.zero(), self.builder.new_p());
        self.alu(Alu::PRR(PRR::Ne, some, d, zero));
        self.alu(Alu::Logic(logic, p, some, q));
        Ok(())
    }
}
