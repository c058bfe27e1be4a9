//! Integer arithmetic, logic, shifts and bit fields; predicate logic.

use super::body::{Body, Register, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{Q1, Q2, Q3, QQQRR, QQR, QQRR, QRR, QRRQ, R1, R2, R3, R4, RQ};
use crate::isa::ir::{Alu, Carry, Logic};
use crate::isa::names::R;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn arithmetic(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        if mods.peek_type().is_some_and(Type::is_float) {
            return Ok(false);
        }
        if mods.peek_type() == Some(Type::Pred) {
            return self.predicate_logic(mods, operands);
        }
        let signed = mods.peek_type().is_some_and(Type::is_signed);
        let pick = |s, u| if signed { s } else { u };
        let pick_q = |s, u| if signed { s } else { u };
        let base = mods.base;
        match base {
            "add" if mods.take("sat") => self.binary(mods, operands, R2::AddSatS, None)?,
            "sub" if mods.take("sat") => self.binary(mods, operands, R2::SubSatS, None)?,
            "add" if mods.take("cc") => self.carry(mods, operands, false, false, true)?,
            "sub" if mods.take("cc") => self.carry(mods, operands, true, false, true)?,
            "addc" => {
                let writes = mods.take("cc");
                self.carry(mods, operands, false, true, writes)?;
            }
            "subc" => {
                let writes = mods.take("cc");
                self.carry(mods, operands, true, true, writes)?;
            }
            "add" => self.binary(mods, operands, R2::AddI, Some(Q2::AddI))?,
            "sub" => self.binary(mods, operands, R2::SubI, Some(Q2::SubI))?,
            "mul" => self.multiply(mods, operands)?,
            "mad" | "madc" => self.multiply_add(mods, operands)?,
            "mul24" => {
                let (s, u) = match mods.take_any(&["lo", "hi"]) {
                    Some("hi") => (R2::Mul24HiS, R2::Mul24HiU),
                    _ => (R2::Mul24S, R2::Mul24U),
                };
                self.binary(mods, operands, pick(s, u), None)?;
            }
            "div" => {
                let (r, q) = (pick(R2::DivS, R2::DivU), pick_q(Q2::DivS, Q2::DivU));
                self.binary(mods, operands, r, Some(q))?;
            }
            "rem" => {
                let (r, q) = (pick(R2::RemS, R2::RemU), pick_q(Q2::RemS, Q2::RemU));
                self.binary(mods, operands, r, Some(q))?;
            }
            "min" => {
                let (r, q) = (pick(R2::MinS, R2::MinU), pick_q(Q2::MinS, Q2::MinU));
                self.binary(mods, operands, r, Some(q))?;
            }
            "max" => {
                let (r, q) = (pick(R2::MaxS, R2::MaxU), pick_q(Q2::MaxS, Q2::MaxU));
                self.binary(mods, operands, r, Some(q))?;
            }
            "and" => self.binary(mods, operands, R2::And, Some(Q2::And))?,
            "or" => self.binary(mods, operands, R2::Or, Some(Q2::Or))?,
            "xor" => self.binary(mods, operands, R2::Xor, Some(Q2::Xor))?,
            "not" => self.unary(mods, operands, R1::Not, Q1::Not)?,
            "cnot" => self.unary(mods, operands, R1::Cnot, Q1::Cnot)?,
            "neg" => self.unary(mods, operands, R1::NegI, Q1::NegI)?,
            "abs" => self.unary(mods, operands, R1::AbsI, Q1::AbsI)?,
            "brev" => self.unary(mods, operands, R1::Brev, Q1::Brev)?,
            "shl" => self.shift(mods, operands, R2::Shl, QQR::Shl)?,
            "shr" => {
                let (r, q) = (pick(R2::ShrS, R2::ShrU), if signed { QQR::ShrS } else { QQR::ShrU });
                self.shift(mods, operands, r, q)?;
            }
            "popc" => self.count(mods, operands, R1::Popc, RQ::Popc)?,
            "clz" => self.count(mods, operands, R1::Clz, RQ::Clz)?,
            "bfind" => {
                let (r, q) = match (mods.take("shiftamt"), signed) {
                    (false, false) => (R1::BfindU, RQ::BfindU),
                    (false, true) => (R1::BfindS, RQ::BfindS),
                    (true, false) => (R1::BfindShiftU, RQ::BfindShiftU),
                    (true, true) => (R1::BfindShiftS, RQ::BfindShiftS),
                };
                self.count(mods, operands, r, q)?;
            }
            "sad" => self.sad(mods, operands, signed)?,
            "bfe" => self.bit_field_extract(mods, operands, signed)?,
            "bfi" => self.bit_field_insert(mods, operands)?,
            "bmsk" => {
                let op = if mods.take("wrap") { R2::BmskWrap } else { R2::BmskClamp };
                mods.take("clamp");
                self.binary(mods, operands, op, None)?;
            }
            "prmt" => {
                const MODES: [&str; 6] = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
                let op = match mods.take_any(&MODES) {
                    None => R3::Prmt,
                    Some("f4e") => R3::PrmtF4e,
                    Some("b4e") => R3::PrmtB4e,
                    Some("rc8") => R3::PrmtRc8,
                    Some("ecl") => R3::PrmtEcl,
                    Some("ecr") => R3::PrmtEcr,
                    Some(_) => R3::PrmtRc16,
                };
                self.ternary_r(mods, operands, op)?;
            }
            "shf" => {
                let (left, wrap) = (mods.take("l"), mods.take("wrap"));
                mods.drop_all(&["r", "clamp"]);
                let op = match (left, wrap) {
                    (true, true) => R3::ShfLWrap,
                    (true, false) => R3::ShfLClamp,
                    (false, true) => R3::ShfRWrap,
                    (false, false) => R3::ShfRClamp,
                };
                self.ternary_r(mods, operands, op)?;
            }
            "fns" => self.ternary_r(mods, operands, R3::FindNthSet)?,
            "lop3" => {
                mods.ty();
                let [d, a, b, c, table] = self.exactly(operands)?;
                let (d, _) = self.dst_r(d)?;
                let a = self.value_r(a, Type::B32)?;
                let b = self.value_r(b, Type::B32)?;
                let c = self.value_r(c, Type::B32)?;
                let table = self.value_r(table, Type::B32)?;
                self.alu(Alu::R4(R4::Lop3, d, a, b, c, table));
            }
            "dp4a" => {
                let b = mods.ty();
                let a = mods.ty();
                let op = match (a, b) {
                    (Some(Type::U32), Some(Type::U32)) => R3::Dp4aUU,
                    (Some(Type::U32), Some(Type::S32)) => R3::Dp4aUS,
                    (Some(Type::S32), Some(Type::U32)) => R3::Dp4aSU,
                    (Some(Type::S32), Some(Type::S32)) => R3::Dp4aSS,
                    _ => return Err(self.malformed("`dp4a` needs two types of 32 bits")),
                };
                self.ternary_r(mods, operands, op)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub fn integer_type(&self, mods: &mut Mods<'a>) -> Result<Type> {
        match mods.ty() {
            Some(ty) if matches!(ty.bits(), 16 | 32 | 64) => Ok(ty),
            _ => Err(self.unsupported(format!("`{}` of this type", mods.base))),
        }
    }

    /// A source of at most 32 bits, sign-extended where a signed operation has 16.
    fn source(&mut self, operand: &Operand<'a>, ty: Type) -> Result<R> {
        let value = self.value_r(operand, ty)?;
        Ok(if ty == Type::S16 { self.extended(value) } else { value })
    }

    fn binary(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        r: R2,
        q: Option<Q2>,
    ) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, b] = self.exactly(operands)?;
        if ty.bits() == 64 {
            let q =
                q.ok_or_else(|| self.malformed(format!("`{}` has no 64-bit form", mods.base)))?;
            let (a, b, d) = (self.value_q(a, ty)?, self.value_q(b, ty)?, self.dst_q(d)?);
            self.alu(Alu::Q2(q, d, a, b));
        } else {
            let (a, b, (d, _)) = (self.source(a, ty)?, self.source(b, ty)?, self.dst_r(d)?);
            self.alu(Alu::R2(r, d, a, b));
            if ty.bits() == 16 {
                self.narrow(d);
            }
        }
        Ok(())
    }

    fn unary(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>], r: R1, q: Q1) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a] = self.exactly(operands)?;
        if ty.bits() == 64 {
            let (a, d) = (self.value_q(a, ty)?, self.dst_q(d)?);
            self.alu(Alu::Q1(q, d, a));
        } else {
            let (a, (d, _)) = (self.source(a, ty)?, self.dst_r(d)?);
            self.alu(Alu::R1(r, d, a));
            if ty.bits() == 16 {
                self.narrow(d);
            }
        }
        Ok(())
    }

    pub fn ternary_r(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        op: R3,
    ) -> Result<()> {
        mods.ty();
        let [d, a, b, c] = self.exactly(operands)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
        self.alu(Alu::R3(op, d, a, b, c));
        Ok(())
    }

    /// The amount is 32 bits wide whatever the type.
    fn shift(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        r: R2,
        q: QQR,
    ) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, amount] = self.exactly(operands)?;
        let amount = self.value_r(amount, Type::U32)?;
        if ty.bits() == 64 {
            let (a, d) = (self.value_q(a, ty)?, self.dst_q(d)?);
            self.alu(Alu::QQR(q, d, a, amount));
        } else {
            let (a, (d, _)) = (self.source(a, ty)?, self.dst_r(d)?);
            self.alu(Alu::R2(r, d, a, amount));
            if ty.bits() == 16 {
                self.narrow(d);
            }
        }
        Ok(())
    }

    /// The result has 32 bits whatever the type.
    fn count(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>], r: R1, q: RQ) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a] = self.exactly(operands)?;
        let (d, _) = self.dst_r(d)?;
        if ty.bits() == 64 {
            let a = self.value_q(a, ty)?;
            self.alu(Alu::RQ(q, d, a));
        } else {
            let a = self.value_r(a, ty)?;
            self.alu(Alu::R1(r, d, a));
        }
        Ok(())
    }

    fn carry(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        subtract: bool,
        reads: bool,
        writes: bool,
    ) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, b] = self.exactly(operands)?;
        let carry = Carry { subtract, reads, writes };
        if ty.bits() == 64 {
            let (a, b, d) = (self.value_q(a, ty)?, self.value_q(b, ty)?, self.dst_q(d)?);
            self.alu(Alu::CarryQ(carry, d, a, b));
        } else {
            let (a, b, (d, _)) = (self.value_r(a, ty)?, self.value_r(b, ty)?, self.dst_r(d)?);
            self.alu(Alu::CarryR(carry, d, a, b));
        }
        Ok(())
    }

    fn multiply(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let part = mods.take_any(&["wide", "hi", "lo"]);
        let signed = mods.peek_type().is_some_and(Type::is_signed);
        if part == Some("hi") {
            if mods.peek_type().is_some_and(|ty| ty.bits() == 16) {
                return self.multiply_hi_16(mods, operands);
            }
            let (r, q) = if signed { (R2::MulHiS, Q2::MulHiS) } else { (R2::MulHiU, Q2::MulHiU) };
            return self.binary(mods, operands, r, Some(q));
        }
        if part != Some("wide") {
            return self.binary(mods, operands, R2::MulLo, Some(Q2::MulLo));
        }
        let ty = self.integer_type(mods)?;
        let [d, a, b] = self.exactly(operands)?;
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        if ty.bits() == 16 {
            let (d, _) = self.dst_r(d)?;
            self.alu(Alu::R2(R2::MulLo, d, a, b));
        } else {
            let d = self.dst_q(d)?;
            self.alu(Alu::QRR(if signed { QRR::MulWideS } else { QRR::MulWideU }, d, a, b));
        }
        Ok(())
    }

    fn multiply_hi_16(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, b] = self.exactly(operands)?;
        let (a, b, (d, _)) = (self.source(a, ty)?, self.source(b, ty)?, self.dst_r(d)?);
        self.alu(Alu::R2(R2::MulLo, d, a, b));
        self.alu(Alu::R1(R1::High16, d, d));
        Ok(())
    }

    /// `mad` and `madc`: with `.cc` or a carry in, the product comes first and the addition carries.
    fn multiply_add(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let part = mods.take_any(&["wide", "hi", "lo"]);
        let (reads, writes) = (mods.base == "madc", mods.take("cc"));
        let ty = self.integer_type(mods)?;
        let signed = ty.is_signed();
        let [d, a, b, c] = self.exactly(operands)?;
        if part == Some("wide") {
            let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
            if ty.bits() == 16 {
                let (c, (d, _)) = (self.value_r(c, Type::B32)?, self.dst_r(d)?);
                self.alu(Alu::R3(R3::MadLo, d, a, b, c));
            } else {
                let (c, d) = (self.value_q(c, Type::B64)?, self.dst_q(d)?);
                let op = if signed { QRRQ::MadWideS } else { QRRQ::MadWideU };
                self.alu(Alu::QRRQ(op, d, a, b, c));
            }
            return Ok(());
        }
        let high = part == Some("hi");
        let carry = (reads || writes).then_some(Carry { subtract: false, reads, writes });
        if ty.bits() == 64 {
            let (a, b) = (self.value_q(a, ty)?, self.value_q(b, ty)?);
            let (c, d) = (self.value_q(c, ty)?, self.dst_q(d)?);
            let (two, three) = match (high, signed) {
                (false, _) => (Q2::MulLo, Q3::MadLo),
                (true, false) => (Q2::MulHiU, Q3::MadHiU),
                (true, true) => (Q2::MulHiS, Q3::MadHiS),
            };
            if let Some(carry) = carry {
                let product = self.builder.new_q();
                self.alu(Alu::Q2(two, product, a, b));
                self.alu(Alu::CarryQ(carry, d, product, c));
            } else {
                self.alu(Alu::Q3(three, d, a, b, c));
            }
            return Ok(());
        }
        let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
        let (c, (d, _)) = (self.value_r(c, ty)?, self.dst_r(d)?);
        let (two, three) = match (high, signed) {
            (false, _) => (R2::MulLo, R3::MadLo),
            (true, false) => (R2::MulHiU, R3::MadHiU),
            (true, true) => (R2::MulHiS, R3::MadHiS),
        };
        if ty.bits() == 16 {
            if high || carry.is_some() {
                return Err(self.unsupported("`mad.hi` of 16 bits"));
            }
            self.alu(Alu::R3(three, d, a, b, c));
            self.narrow(d);
        } else if let Some(carry) = carry {
            let product = self.builder.new_r();
            self.alu(Alu::R2(two, product, a, b));
            self.alu(Alu::CarryR(carry, d, product, c));
        } else {
            self.alu(Alu::R3(three, d, a, b, c));
        }
        Ok(())
    }

    fn sad(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>], signed: bool) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, b, c] = self.exactly(operands)?;
        if ty.bits() == 64 {
            let (a, b) = (self.value_q(a, ty)?, self.value_q(b, ty)?);
            let (c, d) = (self.value_q(c, ty)?, self.dst_q(d)?);
            self.alu(Alu::Q3(if signed { Q3::SadS } else { Q3::SadU }, d, a, b, c));
        } else {
            let (a, b) = (self.source(a, ty)?, self.source(b, ty)?);
            let (c, (d, _)) = (self.value_r(c, ty)?, self.dst_r(d)?);
            self.alu(Alu::R3(if signed { R3::SadS } else { R3::SadU }, d, a, b, c));
            if ty.bits() == 16 {
                self.narrow(d);
            }
        }
        Ok(())
    }

    fn bit_field_extract(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        signed: bool,
    ) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, pos, len] = self.exactly(operands)?;
        let (pos, len) = (self.value_r(pos, Type::U32)?, self.value_r(len, Type::U32)?);
        if ty.bits() == 64 {
            let (a, d) = (self.value_q(a, ty)?, self.dst_q(d)?);
            self.alu(Alu::QQRR(if signed { QQRR::BfeS } else { QQRR::BfeU }, d, a, pos, len));
        } else {
            let (a, (d, _)) = (self.value_r(a, ty)?, self.dst_r(d)?);
            self.alu(Alu::R3(if signed { R3::BfeS } else { R3::BfeU }, d, a, pos, len));
        }
        Ok(())
    }

    fn bit_field_insert(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let ty = self.integer_type(mods)?;
        let [d, a, b, pos, len] = self.exactly(operands)?;
        let (pos, len) = (self.value_r(pos, Type::U32)?, self.value_r(len, Type::U32)?);
        if ty.bits() == 64 {
            let (a, b, d) = (self.value_q(a, ty)?, self.value_q(b, ty)?, self.dst_q(d)?);
            self.alu(Alu::QQQRR(QQQRR::Bfi, d, a, b, pos, len));
        } else {
            let (a, b, (d, _)) = (self.value_r(a, ty)?, self.value_r(b, ty)?, self.dst_r(d)?);
            self.alu(Alu::R4(R4::Bfi, d, a, b, pos, len));
        }
        Ok(())
    }

    fn predicate_logic(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        let logic = match mods.base {
            "and" => Logic::And,
            "or" => Logic::Or,
            "xor" => Logic::Xor,
            "not" => Logic::Not,
            "mov" => Logic::Mov,
            _ => return Ok(false),
        };
        mods.ty();
        let (d, a, b) = match (logic, operands) {
            (Logic::And | Logic::Or | Logic::Xor, [d, a, b]) => (d, a, b),
            (Logic::Not | Logic::Mov, [d, a]) => (d, a, a),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let a = self.plain_predicate(a)?;
        let b = self.plain_predicate(b)?;
        let d = self.dst_p(d)?;
        self.alu(Alu::Logic(logic, d, a, b));
        Ok(true)
    }

    /// A predicate operand as a register; `!p` gets one of its own.
    pub fn plain_predicate(&mut self, operand: &Operand<'a>) -> Result<crate::isa::names::P> {
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
        matches!(operand, Operand::Name(name) if matches!(self.register(name), Some(Register::Q(_))))
    }
}
