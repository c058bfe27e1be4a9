//! Lowers `cvt`, the conversions between types.

use super::Body;
use super::body::{Register, Result};
use super::float::take_mode;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{Q1, QR, R1, R2, RQ};
use crate::isa::ir::{Alu, Uniform};
use crate::isa::names::{Reg32, Reg64};
use crate::isa::ops::round::Mode;
use crate::isa::types::Type;

/// A value between two steps of a conversion.
#[derive(Clone, Copy)]
enum Value {
    Reg32(Reg32),
    Reg64(Reg64),
}

/// What a `cvt` asks for.
#[expect(clippy::struct_excessive_bools, reason = "each is a modifier of the instruction")]
#[derive(Clone, Copy)]
struct Conversion {
    from: Type,
    to: Type,
    mode: Mode,
    /// `.rni` and its like: to an integer in the float format.
    integral: Option<Mode>,
    flush: bool,
    saturate: bool,
    relu: bool,
    /// `.satfinite`: infinities become the largest number.
    finite: bool,
}

impl<'a> Body<'_, '_, '_, 'a> {
    /// Takes the modifiers of a `cvt`.
    fn conversion(&self, modifiers: &mut Modifiers<'a>) -> Result<Conversion> {
        let (Some(from), Some(to)) = (modifiers.ty(), modifiers.ty()) else {
            return Err(self.malformed("`cvt` needs two types"));
        };
        let integral = modifiers.take_any(&["rni", "rzi", "rmi", "rpi"]).map(|name| match name {
            "rni" => Mode::Nearest,
            "rzi" => Mode::Zero,
            "rmi" => Mode::Down,
            _ => Mode::Up,
        });
        Ok(Conversion {
            from,
            to,
            mode: take_mode(modifiers).unwrap_or(Mode::Nearest),
            integral,
            flush: modifiers.take("ftz"),
            saturate: modifiers.take("sat"),
            relu: modifiers.take("relu"),
            finite: modifiers.take("satfinite"),
        })
    }

    /// Lowers `cvt` of one number.
    pub(super) fn convert(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let how = self.conversion(modifiers)?;
        let Conversion { from, to, .. } = how;
        let [d, a] = self.exactly(operands)?;
        let value = if from.bits() == 64 {
            Value::Reg64(self.value_q(a, from)?)
        } else if self.is_wide(a) {
            // A source register may be wider than its type (PTX ISA 9.4.1).
            let wide = self.value_q(a, Type::B64)?;
            Value::Reg32(self.low(wide))
        } else {
            Value::Reg32(self.value_r(a, from)?)
        };
        let result = match (from.is_float(), to.is_float()) {
            (false, false) => self.integer_to_integer(value, how),
            (false, true) => {
                let value = self.integer_to_float(value, how)?;
                if how.saturate { self.saturated_float(value, to) } else { value }
            }
            (true, false) => self.float_to_integer(value, how)?,
            (true, true) => self.float_to_float(value, how)?,
        };
        self.convert_into(d, result, to)
    }

    /// `cvt` of two floats to a pair of halves, the first above the second.
    pub(super) fn convert_pair(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let how = self.conversion(modifiers)?;
        let part = if how.to == Type::F16x2 { Type::F16 } else { Type::Bf16 };
        let [d, high, low] = self.exactly(operands)?;
        let (high, low) = (self.value_r(high, how.from)?, self.value_r(low, how.from)?);
        let how = Conversion { to: part, ..how };
        let high = self.float_to_float(Value::Reg32(high), how)?;
        let low = self.float_to_float(Value::Reg32(low), how)?;
        let (d, _) = self.dst_r(d)?;
        if let (Value::Reg32(high), Value::Reg32(low)) = (high, low) {
            self.alu(Alu::R2(R2::Pack32, d, low, high));
        }
        Ok(())
    }

    /// Moves the result to the destination, extended to its width.
    fn convert_into(&mut self, d: &Operand<'a>, value: Value, to: Type) -> Result<()> {
        match (self.dst(d)?, value) {
            (None, _) => {}
            (Some(Register::Reg64(d)), Value::Reg64(value)) => self.alu(Alu::Q1(Q1::Mov, d, value)),
            (Some(Register::Reg64(d)), Value::Reg32(value)) => {
                let op = if to.is_signed() { QR::Sext } else { QR::Zext };
                self.alu(Alu::QR(op, d, value));
            }
            (Some(Register::Reg32(d, bits)), Value::Reg32(value)) => {
                let op = if bits < 32 { R1::Zext16 } else { R1::Mov };
                self.alu(Alu::R1(op, d, value));
            }
            _ => return Err(self.malformed("the destination is too narrow for its type")),
        }
        Ok(())
    }

    pub(super) fn r1(&mut self, op: R1, a: Reg32) -> Reg32 {
        let d = self.builder.new_r();
        self.alu(Alu::R1(op, d, a));
        d
    }

    fn q1(&mut self, op: Q1, a: Reg64) -> Reg64 {
        let d = self.builder.new_q();
        self.alu(Alu::Q1(op, d, a));
        d
    }

    fn qr(&mut self, op: QR, a: Reg32) -> Reg64 {
        let d = self.builder.new_q();
        self.alu(Alu::QR(op, d, a));
        d
    }

    fn rq(&mut self, op: RQ, a: Reg64) -> Reg32 {
        let d = self.builder.new_r();
        self.alu(Alu::RQ(op, d, a));
        d
    }

    pub(super) fn low(&mut self, a: Reg64) -> Reg32 {
        self.rq(RQ::Low, a)
    }

    /// An integer of at most 32 bits, extended to 32.
    fn extend(&mut self, a: Reg32, ty: Type) -> Reg32 {
        match (ty.bits(), ty.is_signed()) {
            (8, true) => self.r1(R1::Sext8, a),
            (8, false) => self.r1(R1::Zext8, a),
            (16, true) => self.r1(R1::Sext16, a),
            (16, false) => self.r1(R1::Zext16, a),
            _ => a,
        }
    }

    fn widen(&mut self, value: Value, ty: Type) -> Reg64 {
        match value {
            Value::Reg64(value) => value,
            Value::Reg32(value) => {
                let value = self.extend(value, ty);
                self.qr(if ty.is_signed() { QR::Sext } else { QR::Zext }, value)
            }
        }
    }

    fn integer_to_integer(&mut self, value: Value, how: Conversion) -> Value {
        let Conversion { from, to, .. } = how;
        let value = if how.saturate {
            let wide = self.widen(value, from);
            let (signed, unsigned) = match to {
                Type::S8 => (Q1::S8SatS, Q1::S8SatU),
                Type::S16 => (Q1::S16SatS, Q1::S16SatU),
                Type::S32 => (Q1::S32SatS, Q1::S32SatU),
                Type::S64 => (Q1::S64SatS, Q1::S64SatU),
                Type::U8 => (Q1::U8SatS, Q1::U8SatU),
                Type::U16 => (Q1::U16SatS, Q1::U16SatU),
                Type::U32 => (Q1::U32SatS, Q1::U32SatU),
                _ => (Q1::U64SatS, Q1::U64SatU),
            };
            Value::Reg64(self.q1(if from.is_signed() { signed } else { unsigned }, wide))
        } else {
            value
        };
        if to.bits() == 64 {
            return Value::Reg64(self.widen(value, from));
        }
        let low = match value {
            Value::Reg64(value) => self.low(value),
            Value::Reg32(value) => self.extend(value, from),
        };
        Value::Reg32(self.extend(low, to))
    }

    fn integer_to_float(&mut self, value: Value, how: Conversion) -> Result<Value> {
        let Conversion { from, to, .. } = how;
        let signed = from.is_signed();
        let narrow = match value {
            Value::Reg32(value) => Some(self.extend(value, from)),
            Value::Reg64(_) => None,
        };
        // 32 bits are exact in f64; to f32 they have a fast path.
        match (to, narrow) {
            (Type::F32, Some(value)) if how.mode == Mode::Nearest => {
                let op = if signed { R1::F32FromS32 } else { R1::F32FromU32 };
                return Ok(Value::Reg32(self.r1(op, value)));
            }
            (Type::F64, Some(value)) => {
                let op = if signed { QR::F64FromS32 } else { QR::F64FromU32 };
                return Ok(Value::Reg64(self.qr(op, value)));
            }
            _ => {}
        }
        let wide = match narrow {
            Some(value) => self.qr(if signed { QR::Sext } else { QR::Zext }, value),
            None => self.widen(value, from),
        };
        let pick = |s: [RQ; 4], u: [RQ; 4]| (if signed { s } else { u })[how.mode as usize];
        let op = match to {
            Type::F32 => pick(
                [RQ::F32FromS64Rn, RQ::F32FromS64Rz, RQ::F32FromS64Rm, RQ::F32FromS64Rp],
                [RQ::F32FromU64Rn, RQ::F32FromU64Rz, RQ::F32FromU64Rm, RQ::F32FromU64Rp],
            ),
            Type::F16 => pick(
                [RQ::F16FromS64, RQ::F16FromS64Rz, RQ::F16FromS64Rm, RQ::F16FromS64Rp],
                [RQ::F16FromU64, RQ::F16FromU64Rz, RQ::F16FromU64Rm, RQ::F16FromU64Rp],
            ),
            Type::Bf16 => pick(
                [RQ::Bf16FromS64, RQ::Bf16FromS64Rz, RQ::Bf16FromS64Rm, RQ::Bf16FromS64Rp],
                [RQ::Bf16FromU64, RQ::Bf16FromU64Rz, RQ::Bf16FromU64Rm, RQ::Bf16FromU64Rp],
            ),
            Type::F64 => {
                let all = if signed {
                    [Q1::F64FromS64, Q1::F64FromS64Rz, Q1::F64FromS64Rm, Q1::F64FromS64Rp]
                } else {
                    [Q1::F64FromU64, Q1::F64FromU64Rz, Q1::F64FromU64Rm, Q1::F64FromU64Rp]
                };
                return Ok(Value::Reg64(self.q1(all[how.mode as usize], wide)));
            }
            _ => return Err(self.unsupported("`cvt` to this type")),
        };
        Ok(Value::Reg32(self.rq(op, wide)))
    }

    /// A float between 0 and 1.
    fn saturated_float(&mut self, value: Value, ty: Type) -> Value {
        match (value, ty) {
            (Value::Reg64(value), _) => Value::Reg64(self.q1(Q1::SatF, value)),
            (Value::Reg32(value), Type::F16) => Value::Reg32(self.r1(R1::SatF16, value)),
            (Value::Reg32(value), Type::Bf16) => Value::Reg32(self.r1(R1::SatBf16, value)),
            (Value::Reg32(value), _) => Value::Reg32(self.r1(R1::SatF, value)),
        }
    }

    /// To `f32` from 16 bits, exactly.
    fn half_to_single(&mut self, value: Reg32, from: Type) -> Result<Reg32> {
        match from {
            Type::F16 => Ok(self.r1(R1::F32FromF16, value)),
            Type::Bf16 => Ok(self.r1(R1::F32FromBf16, value)),
            Type::F32 => Ok(value),
            _ => Err(self.unsupported("`cvt` from this type")),
        }
    }

    fn integral(&mut self, value: Value, mode: Mode) -> Value {
        match value {
            Value::Reg32(value) => {
                let op = [R1::RoundF, R1::TruncF, R1::FloorF, R1::CeilF][mode as usize];
                Value::Reg32(self.r1(op, value))
            }
            Value::Reg64(value) => {
                let op = [Q1::RoundF, Q1::TruncF, Q1::FloorF, Q1::CeilF][mode as usize];
                Value::Reg64(self.q1(op, value))
            }
        }
    }

    fn float_to_integer(&mut self, value: Value, how: Conversion) -> Result<Value> {
        let Conversion { from, to, .. } = how;
        let mut value = match value {
            Value::Reg32(value) => Value::Reg32(self.half_to_single(value, from)?),
            wide @ Value::Reg64(_) => wide,
        };
        if let (Value::Reg32(narrow), true) = (value, how.flush) {
            value = Value::Reg32(self.r1(R1::FlushF, narrow));
        }
        let value = self.integral(value, how.integral.unwrap_or(Mode::Zero));
        let signed = to.is_signed();
        if to.bits() == 64 {
            return Ok(Value::Reg64(match (value, signed) {
                (Value::Reg32(value), true) => self.qr(QR::S64FromF32, value),
                (Value::Reg32(value), false) => self.qr(QR::U64FromF32, value),
                (Value::Reg64(value), true) => self.q1(Q1::S64FromF64, value),
                (Value::Reg64(value), false) => self.q1(Q1::U64FromF64, value),
            }));
        }
        // A NaN becomes the top bit of the narrow integer.
        match (value, to) {
            (Value::Reg64(value), Type::U8) => {
                return Ok(Value::Reg32(self.rq(RQ::U8FromF64, value)));
            }
            (Value::Reg64(value), Type::U16) => {
                return Ok(Value::Reg32(self.rq(RQ::U16FromF64, value)));
            }
            _ => {}
        }
        let result = match (value, signed) {
            (Value::Reg32(value), true) => self.r1(R1::S32FromF32, value),
            (Value::Reg32(value), false) => self.r1(R1::U32FromF32, value),
            (Value::Reg64(value), true) => self.rq(RQ::S32FromF64, value),
            (Value::Reg64(value), false) => self.rq(RQ::U32FromF64, value),
        };
        if to.bits() == 32 {
            return Ok(Value::Reg32(result));
        }
        // Narrower integers clamp once more.
        let (low, high) = match (to.bits(), signed) {
            (8, true) => (i8::MIN.into(), i8::MAX.into()),
            (8, false) => (0, i32::from(u8::MAX)),
            (_, true) => (i16::MIN.into(), i16::MAX.into()),
            (_, false) => (0, i32::from(u16::MAX)),
        };
        let high = self.builder.uniform_r(Uniform::Bits(u64::from(high as u32)));
        let low = self.builder.uniform_r(Uniform::Bits(u64::from(low as u32)));
        let d = self.builder.new_r();
        self.alu(Alu::R2(if signed { R2::MinS } else { R2::MinU }, d, result, high));
        if signed {
            self.alu(Alu::R2(R2::MaxS, d, d, low));
        }
        Ok(Value::Reg32(d))
    }

    fn float_to_float(&mut self, value: Value, how: Conversion) -> Result<Value> {
        let Conversion { from, to, .. } = how;
        let modes = |all: [R1; 4]| all[how.mode as usize];
        let wide_modes = |all: [RQ; 4]| all[how.mode as usize];
        if let (Type::F16, Type::F16, Some(mode), Value::Reg32(value)) =
            (from, to, how.integral, value)
        {
            let op = [R1::RoundF16, R1::TruncF16, R1::FloorF16, R1::CeilF16][mode as usize];
            return Ok(Value::Reg32(self.r1(op, value)));
        }
        let mut value = match value {
            Value::Reg32(value) => Value::Reg32(self.half_to_single(value, from)?),
            wide @ Value::Reg64(_) => wide,
        };
        if let (Value::Reg32(narrow), true, Type::F32) = (value, how.flush, from) {
            value = Value::Reg32(self.r1(R1::FlushF, narrow));
        }
        if let Some(mode) = how.integral {
            value = self.integral(value, mode);
        }
        let mut result = match (value, to) {
            (same @ Value::Reg32(_), Type::F32) | (same @ Value::Reg64(_), Type::F64) => same,
            (Value::Reg32(value), Type::F64) => Value::Reg64(self.qr(QR::F64FromF32, value)),
            (Value::Reg32(value), Type::F16) => {
                let all = [R1::F16FromF32, R1::F16FromF32Rz, R1::F16FromF32Rm, R1::F16FromF32Rp];
                Value::Reg32(self.r1(modes(all), value))
            }
            (Value::Reg32(value), Type::Bf16) => {
                let all =
                    [R1::Bf16FromF32, R1::Bf16FromF32Rz, R1::Bf16FromF32Rm, R1::Bf16FromF32Rp];
                Value::Reg32(self.r1(modes(all), value))
            }
            (Value::Reg64(value), Type::F32) => {
                // What is cut off never rounds up, so it can be flushed afterwards.
                let all = if how.flush {
                    let [zero, down, up] =
                        [RQ::F32FromF64Rz, RQ::F32FromF64FtzRm, RQ::F32FromF64FtzRp];
                    [RQ::F32FromF64Ftz, zero, down, up]
                } else {
                    [RQ::F32FromF64, RQ::F32FromF64Rz, RQ::F32FromF64Rm, RQ::F32FromF64Rp]
                };
                Value::Reg32(self.rq(wide_modes(all), value))
            }
            (Value::Reg64(value), Type::F16) => {
                let all = [RQ::F16FromF64, RQ::F16FromF64Rz, RQ::F16FromF64Rm, RQ::F16FromF64Rp];
                Value::Reg32(self.rq(wide_modes(all), value))
            }
            (Value::Reg64(value), Type::Bf16) => {
                let all =
                    [RQ::Bf16FromF64, RQ::Bf16FromF64Rz, RQ::Bf16FromF64Rm, RQ::Bf16FromF64Rp];
                Value::Reg32(self.rq(wide_modes(all), value))
            }
            _ => return Err(self.unsupported("`cvt` between these types")),
        };
        if let Value::Reg32(value) = result {
            let flush = how.flush && to == Type::F32;
            let steps = [
                (flush, R1::FlushF),
                (how.saturate && to == Type::F32, R1::SatF),
                (how.saturate && to == Type::F16, R1::SatF16),
                (how.saturate && to == Type::Bf16, R1::SatBf16),
                (how.relu && to == Type::F16, R1::ReluF16),
                (how.relu && to == Type::Bf16, R1::ReluBf16),
                (how.finite && to == Type::F16, R1::FiniteF16),
                (how.finite && to == Type::Bf16, R1::FiniteBf16),
            ];
            let mut value = value;
            for (_, op) in steps.into_iter().filter(|(wanted, _)| *wanted) {
                value = self.r1(op, value);
            }
            result = Value::Reg32(value);
        } else if let (Value::Reg64(value), true) = (result, how.saturate) {
            result = Value::Reg64(self.q1(Q1::SatF, value));
        }
        Ok(result)
    }
}
