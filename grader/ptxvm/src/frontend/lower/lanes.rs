//! Instructions that are one lane operation: the table says which, and what its operands are.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::spelling::Spelling;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{Q1, R1};
use crate::isa::ir::{Alu, LaneOperation, MAX_OPERANDS, RegisterFile};
use crate::isa::names::{Reg32, Reg64};
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// Lowers an instruction to its operation, with the steps around it that its types and modifiers ask for: 16-bit integers
    /// are extended, sources are flushed and negated, the result is brought back to 16 bits, flushed, saturated and rectified.
    /// What a spelling asks of every opcode (`.sat` of `add.sat.s32`), the operation does to its result itself.
    pub(super) fn lane_operation(
        &mut self,
        operation: LaneOperation,
        spelling: &Spelling,
        modifiers: &Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let files = operation.files();
        if operands.len() != files.len() {
            return Err(self.wrong_count(operands.len(), files.len()));
        }
        let ty = modifiers.last_type().unwrap_or(Type::B32);
        let flush = modifiers.has("ftz");
        let mut registers = [0; MAX_OPERANDS];
        for (index, (operand, file)) in operands.iter().zip(files).enumerate().skip(1) {
            let ty = spelling.source(index - 1).ty.unwrap_or(ty);
            registers[index] = match file {
                RegisterFile::Reg64 => self.lane_source_q(operand, ty, flush)?.0,
                RegisterFile::Reg32 | RegisterFile::Pred => {
                    self.lane_source_r(operand, ty, flush)?.0
                }
            };
        }
        let mut width = ty.bits();
        registers[0] = match files[0] {
            RegisterFile::Reg32 => {
                let (d, bits) = self.dst_r(&operands[0])?;
                width = bits;
                d.0
            }
            RegisterFile::Reg64 => self.dst_q(&operands[0])?.0,
            RegisterFile::Pred => self.dst_p(&operands[0])?.0,
        };
        self.apply(operation, spelling, modifiers, registers);
        if !ty.is_float() && ty.bits() == 16 && width == 16 {
            self.narrow(Reg32(registers[0]));
        }
        Ok(())
    }

    /// The operation on registers, the destination first, with the steps that follow.
    pub(super) fn apply(
        &mut self,
        operation: LaneOperation,
        spelling: &Spelling,
        modifiers: &Modifiers<'a>,
        mut registers: [u32; MAX_OPERANDS],
    ) {
        let files = operation.files();
        let ty = modifiers.last_type().unwrap_or(Type::B32);
        for (index, register) in registers.iter_mut().enumerate().take(files.len()).skip(1) {
            if spelling.source(index - 1).negated {
                *register = self.negative(*register, ty);
            }
        }
        self.alu(operation.with(registers));
        let step = |modifier| modifiers.has(modifier) && !spelling.requires(modifier);
        let (flush, saturate, relu) = (step("ftz"), step("sat"), step("relu"));
        match files[0] {
            RegisterFile::Reg32 => {
                let d = Reg32(registers[0]);
                let (saturated, rectified) = match ty {
                    Type::F16 => (R1::SatF16, R1::ReluF16),
                    Type::F16x2 => (R1::SatF16x2, R1::ReluF16x2),
                    Type::Bf16 => (R1::SatBf16, R1::ReluBf16),
                    Type::Bf16x2 => (R1::SatBf16x2, R1::ReluBf16x2),
                    _ => (R1::SatF, R1::ReluF),
                };
                let steps = [(flush, flush_of(ty)), (saturate, saturated), (relu, rectified)];
                for (_, op) in steps.into_iter().filter(|(wanted, _)| *wanted) {
                    self.alu(Alu::R1(op, d, d));
                }
            }
            RegisterFile::Reg64 => {
                let d = Reg64(registers[0]);
                let steps = [(flush, Q1::FlushF), (saturate, Q1::SatF)];
                for (_, op) in steps.into_iter().filter(|(wanted, _)| *wanted) {
                    self.alu(Alu::Q1(op, d, d));
                }
            }
            RegisterFile::Pred => {}
        }
    }

    fn lane_source_r(&mut self, operand: &Operand<'a>, ty: Type, flush: bool) -> Result<Reg32> {
        let value = self.value_r(operand, ty)?;
        Ok(match ty {
            Type::S16 => self.step(R1::Sext16, value),
            _ if flush => self.step(flush_of(ty), value),
            _ => value,
        })
    }

    fn lane_source_q(&mut self, operand: &Operand<'a>, ty: Type, flush: bool) -> Result<Reg64> {
        let value = self.value_q(operand, ty)?;
        if !flush {
            return Ok(value);
        }
        let flushed = self.builder.new_q();
        self.prepare(Alu::Q1(Q1::FlushF, flushed, value));
        Ok(flushed)
    }

    /// A float of the other sign, in a new register.
    fn negative(&mut self, register: u32, ty: Type) -> u32 {
        let negation = match ty {
            Type::F64 => {
                let negative = self.builder.new_q();
                self.prepare(Alu::Q1(Q1::NegF, negative, Reg64(register)));
                return negative.0;
            }
            Type::F16 => R1::NegF16,
            Type::Bf16 => R1::NegBf16,
            Type::F16x2 => R1::NegF16x2,
            Type::Bf16x2 => R1::NegBf16x2,
            _ => R1::NegF,
        };
        self.step(negation, Reg32(register)).0
    }
}

/// What makes a subnormal number of a type zero.
pub(super) fn flush_of(ty: Type) -> R1 {
    match ty {
        Type::F16 => R1::FlushF16,
        Type::F16x2 => R1::FlushF16x2,
        Type::Bf16 => R1::FlushBf16,
        Type::Bf16x2 => R1::FlushBf16x2,
        _ => R1::FlushF,
    }
}
