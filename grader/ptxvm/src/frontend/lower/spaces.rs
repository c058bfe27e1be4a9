//! Addresses and their spaces: `cvta`, `isspacep`.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PQQ, Q1, Q2, QQR, QR};
use crate::isa::ir::{Alu, Logic, Uniform};
use crate::isa::types::Type;
use crate::isa::window::Window;

impl<'a> Body<'_, '_, '_, 'a> {
    /// `cvta.space` adds the window's base, `cvta.to.space` takes it away.
    pub(super) fn convert_address(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let to = modifiers.take("to");
        if modifiers.take("shared::cluster") {
            modifiers.ty();
            let [d, a] = self.exactly(operands)?;
            let (a, d) = (self.value_q(a, Type::U64)?, self.dst_q(d)?);
            let low = self.low(a);
            if to {
                self.alu(Alu::QR(QR::Zext, d, low));
            } else {
                let generic = self.generic(low);
                self.alu(Alu::Q1(Q1::Mov, d, generic));
            }
            return Ok(());
        }
        let window = modifiers.space().ok_or_else(|| self.malformed("`cvta` needs a space"))?;
        let ty = modifiers.ty();
        if ty != Some(Type::U64) {
            return Err(self.unsupported("`cvta` of 32 bits"));
        }
        let [d, a] = self.exactly(operands)?;
        let (a, d) = (self.value_q(a, Type::U64)?, self.dst_q(d)?);
        if window == Window::Global {
            self.alu(Alu::Q1(Q1::Mov, d, a));
        } else {
            let base = self.builder.uniform_q(Uniform::Bits(window.base()));
            self.alu(Alu::Q2(if to { Q2::SubI } else { Q2::AddI }, d, a, base));
        }
        Ok(())
    }

    /// Lowers `isspacep`, which asks in which state space a generic address lies.
    pub(super) fn is_space(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let in_cluster = modifiers.take("shared::cluster");
        let window = if in_cluster {
            Window::Shared
        } else {
            modifiers.space().ok_or_else(|| self.malformed("`isspacep` needs a space"))?
        };
        let [d, a] = self.exactly(operands)?;
        let (a, d) = (self.value_q(a, Type::U64)?, self.dst_p(d)?);
        let shift = self.builder.uniform_r(Uniform::Bits(60));
        let tag = self.builder.new_q();
        let wanted = self.builder.uniform_q(Uniform::Bits(window.base() >> 60));
        self.alu(Alu::QQR(QQR::ShrU, tag, a, shift));
        self.alu(Alu::PQQ(PQQ::Eq, d, tag, wanted));
        if in_cluster {
            let others = self.builder.uniform_q(Uniform::Bits(Window::Cluster.base() >> 60));
            let of_others = self.builder.new_p();
            self.alu(Alu::PQQ(PQQ::Eq, of_others, tag, others));
            self.alu(Alu::Logic(Logic::Or, d, d, of_others));
        }
        Ok(())
    }
}
