//! Memory that a thread allocates at the end of its stack (PTX ISA, "Stack Manipulation Instructions").

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::{Function, Operand, Statement};
use crate::isa::ir::{Op, StackUse};
use crate::isa::types::Type;

/// Alignment of `alloca` where the instruction names none.
const ALIGN: u64 = 8;

/// Whether a function allocates at the end of the stack, which is gone when it returns.
pub(super) fn grows(function: &Function) -> bool {
    let lines = function.body.as_deref().unwrap_or_default();
    lines.iter().any(|line| match &line.statement {
        Statement::Instruction(instruction) => instruction.opcode.starts_with("alloca."),
        _ => false,
    })
}

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn save_stack(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.ty();
        let [d] = self.exactly(operands)?;
        let d = self.dst_q(d)?;
        self.emit(Op::Stack(StackUse::Save(d)));
        Ok(())
    }

    pub(super) fn restore_stack(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.ty();
        let [end] = self.exactly(operands)?;
        let end = self.value_q(end, Type::U64)?;
        self.emit(Op::Stack(StackUse::Restore(end)));
        Ok(())
    }

    pub(super) fn grow_stack(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.ty();
        let (d, bytes, align) = match operands {
            [d, bytes] => (d, bytes, ALIGN),
            &[ref d, ref bytes, Operand::Int(align)] => (d, bytes, align),
            _ => return Err(self.malformed("`alloca` has an address, a size and an alignment")),
        };
        let align = u32::try_from(align).ok().filter(|align| align.is_power_of_two());
        let Some(align) = align.filter(|&align| align <= 128) else {
            return Err(self.malformed("an alignment is a power of two up to 128"));
        };
        let bytes = self.value_q(bytes, Type::U64)?;
        let address = self.dst_q(d)?;
        self.emit(Op::Stack(StackUse::Grow { address, bytes, align }));
        Ok(())
    }
}
