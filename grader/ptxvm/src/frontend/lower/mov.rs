//! `mov`, of scalars and between a register and a vector of its parts.

use super::Body;
use super::body::{Register, Result};
use super::modifiers::Modifiers;
use super::operands::special_of;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{Q1, QRR, R1, R2, RQ};
use crate::isa::ir::{Alu, Op, Uniform};
use crate::isa::names::Reg32;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn mov(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.ty().ok_or_else(|| self.malformed("`mov` needs a type"))?;
        let [d, a] = self.exactly(operands)?;
        match (d, a) {
            (Operand::Vector(parts), a) => self.unpack(parts, a, ty),
            (d, Operand::Vector(parts)) => self.pack(d, parts, ty),
            (d, Operand::Name("%clock" | "%globaltimer_lo")) => {
                let (d, _) = self.dst_r(d)?;
                self.emit(Op::Clock32(d));
                Ok(())
            }
            (d, Operand::Name("%clock_hi" | "%globaltimer_hi")) => {
                let ((d, _), whole) = (self.dst_r(d)?, self.builder.new_q());
                self.emit(Op::Clock64(whole));
                self.alu(Alu::RQ(RQ::High, d, whole));
                Ok(())
            }
            (d, Operand::Name("%clock64" | "%globaltimer")) => {
                let d = self.dst_q(d)?;
                self.emit(Op::Clock64(d));
                Ok(())
            }
            (d, a) if ty.bits() == 64 => {
                let (a, d) = (self.value_q(a, ty)?, self.dst_q(d)?);
                self.alu(Alu::Q1(Q1::Mov, d, a));
                Ok(())
            }
            (d, a) => {
                let (a, (d, _)) = (self.value_r(a, ty)?, self.dst_r(d)?);
                self.alu(Alu::R1(R1::Mov, d, a));
                Ok(())
            }
        }
    }

    /// Lowers `mov.v4.u32 {x, y, z, w}, %tid`: the axes of a special register, and a zero (PTX ISA 10.1).
    pub(super) fn special_vector(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.take("v4");
        modifiers.ty();
        let (parts, name) = match self.exactly(operands)? {
            [Operand::Vector(parts), Operand::Name(name)] if parts.len() == 4 => (parts, name),
            _ => return Err(self.malformed("`mov.v4` has four registers and a special register")),
        };
        for (part, axis) in parts.iter().zip(["x", "y", "z", "w"]) {
            let value = match axis {
                "w" => self.builder.zero(),
                axis => match special_of(name, axis) {
                    Some(special) => self.builder.uniform_r(Uniform::Special(special)),
                    None => return Err(self.unsupported(format!("`{name}` as a vector"))),
                },
            };
            if let Some(Register::Reg32(d, _)) = self.dst(part)? {
                self.alu(Alu::R1(R1::Mov, d, value));
            }
        }
        Ok(())
    }

    /// Lowers `mov.b64 {lo, hi}, a`.
    fn unpack(&mut self, parts: &[Operand<'a>], a: &Operand<'a>, ty: Type) -> Result<()> {
        if ty.bits() == 32 && parts.len() == 2 {
            let a = self.value_r(a, ty)?;
            return self.unpack_halves(parts, a);
        }
        if let (16, [_, _]) | (32, [_, _, _, _]) = (ty.bits(), parts) {
            let a = self.value_r(a, ty)?;
            return self.unpack_bytes(parts, a);
        }
        if ty.bits() != 64 || !matches!(parts.len(), 2 | 4) {
            return Err(self.unsupported("`mov` with this vector"));
        }
        let a = self.value_q(a, ty)?;
        // Parts may be written over the source, so all of it is read first.
        let (low, high) = (self.builder.new_r(), self.builder.new_r());
        self.alu(Alu::RQ(RQ::Low, low, a));
        self.alu(Alu::RQ(RQ::High, high, a));
        if parts.len() == 4 {
            self.unpack_halves(&parts[..2], low)?;
            return self.unpack_halves(&parts[2..], high);
        }
        for (part, value) in parts.iter().zip([low, high]) {
            if let Some(Register::Reg32(d, _)) = self.dst(part)? {
                self.alu(Alu::R1(R1::Mov, d, value));
            }
        }
        Ok(())
    }

    fn unpack_halves(&mut self, parts: &[Operand<'a>], a: Reg32) -> Result<()> {
        let high = self.builder.new_r();
        self.alu(Alu::R1(R1::High16, high, a));
        for (part, (op, value)) in parts.iter().zip([(R1::Zext16, a), (R1::Mov, high)]) {
            if let Some(Register::Reg32(d, _)) = self.dst(part)? {
                self.alu(Alu::R1(op, d, value));
            }
        }
        Ok(())
    }

    fn unpack_bytes(&mut self, parts: &[Operand<'a>], a: Reg32) -> Result<()> {
        let mut bytes = Vec::with_capacity(parts.len());
        for start in (0..).step_by(8).take(parts.len()) {
            let start = self.builder.uniform_r(Uniform::Bits(start));
            let shifted = self.step2(R2::ShrU, a, start);
            bytes.push(self.step(R1::Zext8, shifted));
        }
        for (part, byte) in parts.iter().zip(bytes) {
            if let Some(Register::Reg32(d, _)) = self.dst(part)? {
                self.alu(Alu::R1(R1::Mov, d, byte));
            }
        }
        Ok(())
    }

    fn pack_bytes(&mut self, d: &Operand<'a>, parts: &[Operand<'a>]) -> Result<()> {
        let mut all = self.builder.zero();
        for (part, start) in parts.iter().zip((0..).step_by(8)) {
            let byte = self.value_r(part, Type::B8)?;
            let byte = self.step(R1::Zext8, byte);
            let start = self.builder.uniform_r(Uniform::Bits(start));
            let byte = self.step2(R2::Shl, byte, start);
            all = self.step2(R2::Or, all, byte);
        }
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R1(R1::Mov, d, all));
        Ok(())
    }

    /// Lowers `mov.b64 d, {lo, hi}`.
    fn pack(&mut self, d: &Operand<'a>, parts: &[Operand<'a>], ty: Type) -> Result<()> {
        match (ty.bits(), parts) {
            (32, [low, high]) => {
                let (low, high) = (self.value_r(low, Type::B16)?, self.value_r(high, Type::B16)?);
                let (d, _) = self.dst_r(d)?;
                self.alu(Alu::R2(R2::Pack32, d, low, high));
            }
            (16, [_, _]) | (32, [_, _, _, _]) => self.pack_bytes(d, parts)?,
            (64, [low, high]) => {
                let (low, high) = (self.value_r(low, Type::B32)?, self.value_r(high, Type::B32)?);
                let d = self.dst_q(d)?;
                self.alu(Alu::QRR(QRR::Pack, d, low, high));
            }
            (64, [a, b, c, e]) => {
                let (a, b) = (self.value_r(a, Type::B16)?, self.value_r(b, Type::B16)?);
                let (c, e) = (self.value_r(c, Type::B16)?, self.value_r(e, Type::B16)?);
                let (low, high) = (self.builder.new_r(), self.builder.new_r());
                let d = self.dst_q(d)?;
                self.alu(Alu::R2(R2::Pack32, low, a, b));
                self.alu(Alu::R2(R2::Pack32, high, c, e));
                self.alu(Alu::QRR(QRR::Pack, d, low, high));
            }
            _ => return Err(self.unsupported("`mov` with this vector")),
        }
        Ok(())
    }
}
