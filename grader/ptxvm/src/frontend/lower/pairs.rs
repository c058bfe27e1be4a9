//! Pairs of `f32` in a register of 64 bits (PTX ISA 9.7.3, `add`, `sub`, `mul` and `fma` of `.f32x2`): each half by itself.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::table;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{QRR, R1, RQ};
use crate::isa::ir::{Alu, MAX_OPERANDS};
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// Each half is the instruction of `.f32`.
    pub(super) fn pair_of_floats(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let of_half = modifiers.with_type("f32x2", Type::F32);
        let Some((operation, spelling)) = table::lane_operation(&of_half, operands.len()) else {
            return Err(self.malformed(format!(
                "{} operands for `{}`",
                operands.len(),
                modifiers.base
            )));
        };
        let flush = modifiers.has("ftz");
        let [d, sources @ ..] = operands else {
            return Err(self.malformed("a pair of floats needs a destination"));
        };
        let mut halves = [[0; MAX_OPERANDS]; 2];
        for (index, source) in sources.iter().enumerate() {
            let pair = self.value_q(source, Type::B64)?;
            for (registers, half) in halves.iter_mut().zip([RQ::Low, RQ::High]) {
                let value = self.builder.new_r();
                self.prepare(Alu::RQ(half, value, pair));
                registers[1 + index] = if flush { self.step(R1::FlushF, value).0 } else { value.0 };
            }
        }
        let d = self.dst_q(d)?;
        let [low, high] = halves.map(|mut registers| {
            let half = self.builder.new_r();
            registers[0] = half.0;
            self.apply(operation, spelling, &of_half, registers);
            half
        });
        self.alu(Alu::QRR(QRR::Pack, d, low, high));
        Ok(())
    }
}
