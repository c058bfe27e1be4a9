//! Conversions to formats that are stored but not computed with, and `cvt.pack`.

use super::Body;
use super::body::{Register, Result};
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R1, R2};
use crate::isa::ir::{Alu, Uniform};
use crate::isa::names::Reg32;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// `cvt.pack.sat.s8.s32.b32 d, a, b, c`: `a` above `b`, both saturated, below what is left of `c`.
    pub(super) fn pack_saturated(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.take("b32");
        modifiers.take("s32");
        modifiers.take("sat");
        let (signed, bits) =
            match modifiers.take_any(&["s16", "u16", "s8", "u8", "s4", "u4", "s2", "u2"]) {
                Some("s16") => (true, 16),
                Some("u16") => (false, 16),
                Some("s8") => (true, 8),
                Some("u8") => (false, 8),
                Some("s4") => (true, 4),
                Some("u4") => (false, 4),
                Some("s2") => (true, 2),
                Some(_) => (false, 2),
                None => return Err(self.malformed("`cvt.pack` needs a type such as `.s8`")),
            };
        let (d, a, b, c) = match operands {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return Err(self.malformed("`cvt.pack` has two or three sources")),
        };
        let (a, b) = (self.value_r(a, Type::S32)?, self.value_r(b, Type::S32)?);
        let (high, low) = (self.saturated(a, signed, bits), self.saturated(b, signed, bits));
        let amount = self.builder.uniform_r(Uniform::Bits(bits));
        self.prepare(Alu::R2(R2::Shl, high, high, amount));
        let pair = match c {
            None => low,
            Some(c) => {
                let (c, rest) = (self.value_r(c, Type::B32)?, self.builder.new_r());
                let amount = self.builder.uniform_r(Uniform::Bits(bits * 2));
                self.prepare(Alu::R2(R2::Shl, rest, c, amount));
                self.prepare(Alu::R2(R2::Or, low, low, rest));
                low
            }
        };
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(R2::Or, d, high, pair));
        Ok(())
    }

    /// An integer clamped to so many bits, the others zero.
    fn saturated(&mut self, a: Reg32, signed: bool, bits: u64) -> Reg32 {
        let (least, most) = if signed {
            (-(1i32 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        let value = self.builder.new_r();
        for (op, bound) in [(R2::MaxS, least), (R2::MinS, most), (R2::And, (1i32 << bits) - 1)] {
            let bound = self.builder.uniform_r(Uniform::Bits((bound as u32).into()));
            let source = if op == R2::MaxS { a } else { value };
            self.prepare(Alu::R2(op, value, source, bound));
        }
        value
    }

    /// Lowers `cvt.rna.tf32.f32` and the other conversions to `tf32`.
    pub(super) fn convert_to_tf32(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.ty();
        let op = match modifiers.take_any(&["rna", "rn", "rz"]) {
            Some("rna") => R1::Tf32Away,
            Some("rn") => R1::Tf32Even,
            Some(_) => R1::Tf32Zero,
            None => return Err(self.malformed("`cvt` to `.tf32` needs a rounding such as `.rna`")),
        };
        let (relu, finite) = (modifiers.take("relu"), modifiers.take("satfinite"));
        let [d, a] = self.exactly(operands)?;
        let mut a = self.value_r(a, Type::F32)?;
        if relu {
            a = self.step(R1::ReluF, a);
        }
        a = self.r1(op, a);
        if finite {
            a = self.r1(R1::Tf32Finite, a);
        }
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R1(R1::Mov, d, a));
        Ok(())
    }

    /// To and from pairs of 8-bit floats.
    pub(super) fn convert_bytes(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let e4m3 = modifiers.has("e4m3x2");
        let relu = modifiers.take("relu");
        modifiers.drop_all(&["rn", "satfinite"]);
        let other = modifiers.ty();
        let (narrow, widen) = if e4m3 {
            (R1::E4m3FromF32, R1::F16FromE4m3)
        } else {
            (R1::E5m2FromF32, R1::F16FromE5m2)
        };
        let eight = self.builder.uniform_r(Uniform::Bits(8));
        match (other, operands) {
            (Some(Type::F32), [d, high, low]) => {
                let (high, low) = (self.value_r(high, Type::F32)?, self.value_r(low, Type::F32)?);
                self.join_bytes(d, [high, low], narrow, relu)
            }
            // The type of the halves stands behind that of the bytes where they are the source.
            (Some(Type::F16x2), [d, a]) if self.is_short(d) => {
                let a = self.value_r(a, Type::B32)?;
                let high = self.step(R1::High16, a);
                let halves = [high, a].map(|half| self.step(R1::F32FromF16, half));
                self.join_bytes(d, halves, narrow, relu)
            }
            (Some(Type::F16x2), [d, a]) => {
                let a = self.value_r(a, Type::B16)?;
                let upper = self.builder.new_r();
                self.prepare(Alu::R2(R2::ShrU, upper, a, eight));
                let [high, low] = [upper, a].map(|byte| {
                    let half = self.r1(widen, byte);
                    if relu { self.step(R1::ReluF16, half) } else { half }
                });
                let (d, _) = self.dst_r(d)?;
                self.alu(Alu::R2(R2::Pack32, d, low, high));
                Ok(())
            }
            _ => Err(self.unsupported("`cvt` between these types")),
        }
    }

    fn join_bytes(
        &mut self,
        d: &Operand<'a>,
        ab: [Reg32; 2],
        narrow: R1,
        relu: bool,
    ) -> Result<()> {
        let [high, low] = ab.map(|value| {
            let value = if relu { self.step(R1::ReluF, value) } else { value };
            self.r1(narrow, value)
        });
        let eight = self.builder.uniform_r(Uniform::Bits(8));
        self.prepare(Alu::R2(R2::Shl, high, high, eight));
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::R2(R2::Or, d, high, low));
        Ok(())
    }

    /// True for a destination of 16 bits.
    fn is_short(&mut self, operand: &Operand<'a>) -> bool {
        matches!(operand, Operand::Name(name)
            if matches!(self.register(name), Some(Register::Reg32(_, 16))))
    }
}
