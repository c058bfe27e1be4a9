//! `min` and `max` of floats in their rare forms, and arithmetic with a rounding direction.

use super::Body;
use super::body::Result;
use super::lanes::flush_of;
use super::modifiers::Modifiers;
use super::table;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R1, R2};
use crate::isa::ir::{Alu, MAX_OPERANDS, Uniform};
use crate::isa::names::Reg32;
use crate::isa::ops::round::Mode;
use crate::isa::types::Type;

/// Takes `.rn`, `.rz`, `.rm` or `.rp`.
pub(super) fn take_mode(modifiers: &mut Modifiers) -> Option<Mode> {
    Some(match modifiers.take_any(&["rn", "rz", "rm", "rp"])? {
        "rn" => Mode::Nearest,
        "rz" => Mode::Zero,
        "rm" => Mode::Down,
        _ => Mode::Up,
    })
}

impl<'a> Body<'_, '_, '_, 'a> {
    /// `min` and `max` with `.xorsign.abs`, or of three sources.
    pub(super) fn extreme(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let ty = modifiers.last_type().unwrap_or(Type::F32);
        let (flush, absolute) = (modifiers.take("ftz"), modifiers.take("abs"));
        let sign_of_both = modifiers.take("xorsign");
        let plain = table::lane_operation(modifiers, 3);
        let (Some((operation, _)), [d, first, rest @ ..]) = (plain, operands) else {
            return Err(self.malformed("`min` and `max` need a destination and sources"));
        };
        let sign = match ty {
            Type::F32 => 1u32 << 31,
            Type::F16 | Type::Bf16 => 0x8000,
            _ => 0x8000_8000,
        };
        let infinity = match ty {
            Type::F32 => f32::INFINITY.to_bits(),
            Type::F16 => 0x7C00,
            Type::F16x2 => 0x7C00_7C00,
            Type::Bf16 => 0x7F80,
            _ => 0x7F80_7F80,
        };
        let magnitude = self.builder.uniform_r(Uniform::Bits(u64::from(!sign)));
        let numbers = self.builder.uniform_r(Uniform::Bits(u64::from(sign | infinity)));
        let sign = self.builder.uniform_r(Uniform::Bits(u64::from(sign)));
        let flush_op = flush.then_some(flush_of(ty));
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
            self.alu(operation.with(registers([next, result, value])));
            result = next;
        }
        let (d, _) = self.dst_r(d)?;
        if sign_of_both {
            let signs = self.step2(R2::And, signs, sign);
            // A NaN has no sign: the difference of infinity and the magnitude keeps the top bit only if that is a number.
            let is_number = self.step2(R2::SubI, numbers, result);
            let signs = self.step2(R2::And, signs, is_number);
            self.alu(Alu::R2(R2::Or, d, result, signs));
        } else {
            self.alu(Alu::R1(R1::Mov, d, result));
        }
        Ok(())
    }
}

/// The operands of an operation of two sources.
fn registers([d, a, b]: [Reg32; 3]) -> [u32; MAX_OPERANDS] {
    let mut registers = [0; MAX_OPERANDS];
    registers[..3].copy_from_slice(&[d.0, a.0, b.0]);
    registers
}
