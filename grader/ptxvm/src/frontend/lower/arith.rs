//! Integer instructions that take several lane operations, and logic on predicates.

use super::Body;
use super::body::{Register, Result};
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PRR, Q2, R1, R2, R3, R4};
use crate::isa::ir::{Alu, Carry, Logic, Uniform};
use crate::isa::names::Pred;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// Lowers `add.cc`, `addc` and their like.
    pub(super) fn carry(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        carry: Carry,
    ) -> Result<()> {
        let ty = modifiers.last_type().unwrap_or(Type::U32);
        let [d, a, b] = self.exactly(operands)?;
        if ty.bits() == 64 {
            let (a, b, d) = (self.value_q(a, ty)?, self.value_q(b, ty)?, self.dst_q(d)?);
            self.alu(Alu::CarryQ(carry, d, a, b));
        } else {
            let (a, b, (d, _)) = (self.value_r(a, ty)?, self.value_r(b, ty)?, self.dst_r(d)?);
            self.alu(Alu::CarryR(carry, d, a, b));
        }
        Ok(())
    }

    /// `mad.cc` and `madc`: the product comes first, and the addition carries.
    pub(super) fn multiply_add_carry(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.last_type().unwrap_or(Type::U32);
        let (high, signed) = (modifiers.has("hi"), ty.is_signed());
        let (reads, writes) = (modifiers.base == "madc", modifiers.has("cc"));
        let carry = Carry { subtract: false, reads, writes };
        let [d, a, b, c] = self.exactly(operands)?;
        if ty.bits() == 64 {
            let (a, b) = (self.value_q(a, ty)?, self.value_q(b, ty)?);
            let (c, d) = (self.value_q(c, ty)?, self.dst_q(d)?);
            let op = match (high, signed) {
                (false, _) => Q2::MulLo,
                (true, false) => Q2::MulHiU,
                (true, true) => Q2::MulHiS,
            };
            let product = self.builder.new_q();
            self.alu(Alu::Q2(op, product, a, b));
            self.alu(Alu::CarryQ(carry, d, product, c));
        } else {
            let (a, b) = (self.value_r(a, ty)?, self.value_r(b, ty)?);
            let (c, (d, _)) = (self.value_r(c, ty)?, self.dst_r(d)?);
            let op = match (high, signed) {
                (false, _) => R2::MulLo,
                (true, false) => R2::MulHiU,
                (true, true) => R2::MulHiS,
            };
            let product = self.builder.new_r();
            self.alu(Alu::R2(op, product, a, b));
            self.alu(Alu::CarryR(carry, d, product, c));
        }
        Ok(())
    }

    /// `mul.hi` of 16 bits: the upper half of a product of 32.
    pub(super) fn multiply_high_16(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.last_type().unwrap_or(Type::U16);
        let [d, a, b] = self.exactly(operands)?;
        let [a, b] = [self.value_r(a, ty)?, self.value_r(b, ty)?]
            .map(|value| if ty == Type::S16 { self.step(R1::Sext16, value) } else { value });
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(R2::MulLo, d, a, b));
        self.alu(Alu::R1(R1::High16, d, d));
        Ok(())
    }

    /// Lowers `mad24` and `mad.hi.sat` to a product and a sum.
    pub(super) fn product_and_sum(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        product: R2,
        sum: R2,
    ) -> Result<()> {
        let [d, a, b, c] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let product = self.step2(product, a, b);
        let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
        self.alu(Alu::R2(sum, d, product, c));
        Ok(())
    }

    /// `dp2a.hi`: `dp2a.lo` of the upper two bytes of `b`.
    pub(super) fn upper_dot_product(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        lower: R3,
    ) -> Result<()> {
        let [d, a, b, c] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let half = self.builder.uniform_r(Uniform::Bits(16));
        let b = self.step2(R2::ShrU, b, half);
        let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
        self.alu(Alu::R3(lower, d, a, b, c));
        Ok(())
    }

    /// `szext`: the low bits, as many as `b` says, extended to 32.
    pub(super) fn extend_from(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        extract: R3,
    ) -> Result<()> {
        let wrap = modifiers.has("wrap");
        let [d, a, b] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::U32)?);
        let limit = self.builder.uniform_r(Uniform::Bits(if wrap { 31 } else { 32 }));
        let bits = self.step2(if wrap { R2::And } else { R2::MinU }, b, limit);
        let (zero, (d, _)) = (self.builder.zero(), self.dst_r(d)?);
        self.alu(Alu::R3(extract, d, a, zero, bits));
        Ok(())
    }

    /// `min.relu` and `max.relu`: not less than zero, by `max`.
    pub(super) fn rectified(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        op: R2,
        max: R2,
    ) -> Result<()> {
        let [d, a, b] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(op, d, a, b));
        let zero = self.builder.zero();
        self.alu(Alu::R2(max, d, d, zero));
        Ok(())
    }

    /// `lop3.or.b32 d|p, a, b, c, table, q`: `p` is whether the result is not zero, or `q`.
    pub(super) fn lop3_with_predicate(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        logic: Logic,
    ) -> Result<()> {
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

    /// `and.pred` and its like. `mov` and `not` have one source.
    pub(super) fn predicate_logic(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        logic: Logic,
    ) -> Result<()> {
        let (d, a, b) = match (logic, operands) {
            (Logic::And | Logic::Or | Logic::Xor, [d, a, b]) => (d, a, b),
            (Logic::Not | Logic::Mov, [d, a]) => (d, a, a),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let a = self.plain_predicate(a)?;
        let b = self.plain_predicate(b)?;
        let d = self.dst_p(d)?;
        self.alu(Alu::Logic(logic, d, a, b));
        Ok(())
    }

    /// A predicate operand as a register; `!p` gets one of its own.
    pub fn plain_predicate(&mut self, operand: &Operand<'a>) -> Result<Pred> {
        let guard = self.predicate_operand(operand)?;
        if !guard.negated {
            return Ok(guard.predicate);
        }
        let inverse = self.builder.new_p();
        self.prepare(Alu::Logic(Logic::Not, inverse, guard.predicate, guard.predicate));
        Ok(inverse)
    }

    /// True for a register operand of 64 bits.
    pub fn is_wide(&mut self, operand: &Operand<'a>) -> bool {
        matches!(operand, Operand::Name(name) if matches!(self.register(name), Some(Register::Reg64(_))))
    }
}
