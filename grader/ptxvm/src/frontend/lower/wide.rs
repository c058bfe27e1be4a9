//! Words of 128 bits: a register is a pair of 64-bit ones, and only moves, accesses and two atomics know it (PTX ISA 5.2.1).

use super::Body;
use super::body::{Register, Result};
use super::memory::Access;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::{Operand, Registers};
use crate::isa::ir::alu::Q1;
use crate::isa::ir::{Alu, Op, WideAtom};
use crate::isa::names::{Element, Elements, Marks, Reg64, Slot};
use crate::isa::types::Type;
use crate::isa::window::Window;

impl<'a> Body<'_, '_, '_, 'a> {
    /// Whether a declaration was of such registers.
    pub fn wide_registers(&mut self, registers: &Registers<'a>) -> bool {
        if !registers.wide {
            return false;
        }
        if let Some(count) = registers.count {
            if let Some(scope) = self.scopes.last_mut() {
                scope.wide_families.push((registers.name, count));
            }
        } else {
            let register = self.new_wide();
            if let Some(scope) = self.scopes.last_mut() {
                scope.named.insert(registers.name, register);
            }
        }
        true
    }

    pub fn new_wide(&mut self) -> Register {
        Register::Wide([self.builder.new_q(), self.builder.new_q()])
    }

    fn wide(&mut self, operand: &Operand<'a>) -> Result<[Reg64; 2]> {
        let Operand::Name(name) = operand else {
            return Err(self.malformed("expected a register of 128 bits"));
        };
        match self.register(name) {
            Some(Register::Wide(halves)) => Ok(halves),
            _ => Err(self.malformed(format!("`{name}` does not have 128 bits"))),
        }
    }

    /// `mov.b128` between such registers, or from and to `{low, high}`.
    pub(super) fn wide_move(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [d, a] = self.exactly(operands)?;
        let from = match a {
            Operand::Vector(parts) => {
                let [low, high] = self.exactly(parts)?;
                [self.value_q(low, Type::B64)?, self.value_q(high, Type::B64)?]
            }
            a => self.wide(a)?,
        };
        let to = match d {
            Operand::Vector(parts) => {
                let [low, high] = self.exactly(parts)?;
                [self.dst_q(low)?, self.dst_q(high)?]
            }
            d => self.wide(d)?,
        };
        // A half may be written over before it is read.
        let kept = self.builder.new_q();
        self.prepare(Alu::Q1(Q1::Mov, kept, from[1]));
        self.alu(Alu::Q1(Q1::Mov, to[0], from[0]));
        self.alu(Alu::Q1(Q1::Mov, to[1], kept));
        Ok(())
    }

    /// `ld.b128` and `st.b128`: as two words of 64 bits, 16 bytes at once; `atom.b128`. True if the instruction was one.
    pub fn wide_access(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        access: Access,
        window: Option<Window>,
        marks: Marks,
    ) -> Result<bool> {
        if access == Access::Reduction || modifiers.has("v2") || !modifiers.take("b128") {
            return Ok(false);
        }
        if access == Access::Atomic {
            return self.wide_atomic(modifiers, operands, window).map(|()| true);
        }
        let loads = access == Access::Load;
        let [first, second] = self.exactly(operands)?;
        let (register, address) = if loads { (first, second) } else { (second, first) };
        if loads && self.kernel_param(address, window)?.is_some() {
            return Err(self.unsupported("parameters of 128 bits; pass two of 64 bits"));
        }
        let address = self.address(address, window, marks)?;
        let [low, high] = match register {
            Operand::Name("_") if loads => [Slot::Sink; 2],
            register => self.wide(register)?.map(Slot::Reg64),
        };
        let elements = Elements {
            slots: [low, high, Slot::Sink, Slot::Sink],
            count: 2,
            element: Element { bytes: 8, signed: false, register_bits: 64 },
        };
        if loads {
            self.emit_load(address, elements);
        } else {
            self.emit_store(address, elements);
        }
        Ok(true)
    }

    /// `atom.exch.b128` and `atom.cas.b128`.
    fn wide_atomic(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        window: Option<Window>,
    ) -> Result<()> {
        let (dst, address, expected, value) = match (modifiers.take_any(&["exch", "cas"]), operands)
        {
            (Some("exch"), [dst, address, value]) => (dst, address, None, value),
            (Some("cas"), [dst, address, expected, value]) => (dst, address, Some(expected), value),
            _ => return Err(self.malformed("an atomic of 128 bits is `.exch` or `.cas`")),
        };
        let address = self.address(address, window, Marks::STRONG)?;
        let expected = expected.map(|expected| self.wide(expected)).transpose()?;
        let value = self.wide(value)?;
        let dst = match dst {
            Operand::Name("_") => [Slot::Sink; 2],
            dst => self.wide(dst)?.map(Slot::Reg64),
        };
        // A pair of words is not one atomic step on the host.
        self.builder.program.ordered |= matches!(window, None | Some(Window::Global));
        self.emit(Op::WideAtom(Box::new(WideAtom { address, dst, expected, value })));
        Ok(())
    }
}
