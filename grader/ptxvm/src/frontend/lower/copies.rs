//! `cp.async` and what waits for it (PTX ISA 9.7.9.25.3).

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::{CopyAsync, Op};
use crate::isa::names::Marks;
use crate::isa::types::Type;
use crate::isa::window::Window;

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn commit_copies(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.exactly::<0>(operands)?;
        self.emit(Op::CommitCopies);
        Ok(())
    }

    /// PTX ISA 9.7.9.25.3.3: as a commit and a wait for every group.
    pub(super) fn wait_for_all_copies(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.commit_copies(modifiers, operands)?;
        self.emit(Op::WaitCopies(0));
        Ok(())
    }

    pub(super) fn wait_for_copies(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [Operand::Int(groups)] = self.exactly(operands)? else {
            return Err(self.malformed("`cp.async.wait_group` takes a number"));
        };
        self.emit(Op::WaitCopies(u32::try_from(*groups).unwrap_or(u32::MAX)));
        Ok(())
    }

    /// `cp.async` of 4, 8 or 16 bytes.
    pub(super) fn copy_async(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let cache = modifiers.take_any(&["ca", "cg"]);
        let spaces =
            modifiers.take_any(&["shared", "shared::cta"]).is_some() && modifiers.take("global");
        if cache.is_none() || !spaces {
            return Err(
                self.malformed("this copy is `cp.async.ca` or `.cg`, then `.shared.global`")
            );
        }
        // The policy is the last operand.
        let operands = match operands {
            [rest @ .., _] if modifiers.take("L2::cache_hint") => rest,
            all => all,
        };
        modifiers.drop_prefixed(&["L2::"]);
        let ([to, from, size] | [to, from, size, _]) = operands else {
            return Err(self.malformed("wrong number of operands"));
        };
        let bytes = match size {
            Operand::Int(16) => 16,
            Operand::Int(4) if cache == Some("ca") => 4,
            Operand::Int(8) if cache == Some("ca") => 8,
            _ => {
                let sizes = if cache == Some("ca") { "4, 8 or 16" } else { "16" };
                return Err(self.malformed(format!("this copy is of {sizes} bytes")));
            }
        };
        let (mut read, mut ignore) = (None, None);
        if let [_, _, _, last] = operands {
            match last {
                Operand::Not(_) => ignore = Some(self.predicate_operand(last)?),
                Operand::Name(name) if self.is_predicate(name) => {
                    ignore = Some(self.predicate_operand(last)?);
                }
                _ => read = Some(self.value_r(last, Type::U32)?),
            }
        }
        let to = self.address(to, Some(Window::Shared), Marks::default())?;
        let from = self.address(from, Some(Window::Global), Marks::default())?;
        self.emit(Op::CopyAsync(Box::new(CopyAsync { to, from, bytes, read, ignore })));
        Ok(())
    }

    fn is_predicate(&mut self, name: &'a str) -> bool {
        self.predicate(name).is_ok()
    }
}
