//! Operations across the lanes of a warp.

use super::Body;
use super::body::{Register, Result};
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PRR, R1};
use crate::isa::ir::{Alu, Op, Redux, Shuffle, Special, Uniform, Vote};
use crate::isa::names::{Guard, Pred, Slot};
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn active_mask(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [d] = self.exactly(operands)?;
        let (d, _) = self.dst_r(d)?;
        self.emit(Op::ActiveMask(d));
        Ok(())
    }

    /// `elect.sync d|p, members`: the lowest member leads.
    pub(super) fn elect(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [d, members] = self.exactly(operands)?;
        let Operand::Pair(pair) = d else {
            return Err(self.malformed("`elect` has two destinations"));
        };
        let members = self.value_r(members, Type::B32)?;
        self.emit_members(members);
        let active = self.builder.new_r();
        self.emit(Op::ActiveMask(active));
        let reversed = self.step(R1::Brev, members);
        let leader = self.step(R1::Clz, reversed);
        let lane = self.builder.uniform_r(Uniform::Special(Special::LaneId));
        let ((d, _), p) = (self.dst_r(&pair.0)?, self.dst_p(&pair.1)?);
        self.alu(Alu::PRR(PRR::Eq, p, lane, leader));
        self.alu(Alu::R1(R1::Mov, d, leader));
        Ok(())
    }

    pub(super) fn shuffle(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        mode: Shuffle,
    ) -> Result<()> {
        let [d, a, b, c, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let c = self.value_r(c, Type::B32)?;
        let (d, in_range) = self.with_predicate(d)?;
        let dst = match self.dst(d)? {
            Some(Register::Reg32(register, _)) => Some(register),
            None => None,
            Some(_) => return Err(self.malformed("`shfl` moves 32 bits")),
        };
        self.emit_members(members);
        self.emit(Op::Shfl { mode, dst, in_range, a, b, c });
        Ok(())
    }

    pub(super) fn vote(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        vote: Vote,
    ) -> Result<()> {
        let (d, p) = self.voted(operands)?;
        let d = self.dst_p(d)?;
        self.emit(Op::VoteP(vote, d, p));
        Ok(())
    }

    pub(super) fn ballot(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let (d, p) = self.voted(operands)?;
        let (d, _) = self.dst_r(d)?;
        self.emit(Op::Ballot(d, p));
        Ok(())
    }

    pub(super) fn match_any(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let (d, a) = self.matched(modifiers, operands)?;
        let (d, _) = self.dst_r(d)?;
        self.emit(Op::MatchAny(d, a));
        Ok(())
    }

    /// `match.all.sync d|p, a, members`; the predicate may lack.
    pub(super) fn match_all(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let (d, a) = self.matched(modifiers, operands)?;
        let (d, p) = self.with_predicate(d)?;
        let (d, _) = self.dst_r(d)?;
        self.emit(Op::MatchAll(d, p, a));
        Ok(())
    }

    /// The destinations `d|p`, of which the predicate may lack.
    fn with_predicate<'o>(
        &mut self,
        d: &'o Operand<'a>,
    ) -> Result<(&'o Operand<'a>, Option<Pred>)> {
        Ok(match d {
            Operand::Pair(pair) => (&pair.0, Some(self.dst_p(&pair.1)?)),
            d => (d, None),
        })
    }

    /// The destination of a vote, and the predicate of each lane; adds their member mask.
    fn voted<'o>(&mut self, operands: &'o [Operand<'a>]) -> Result<(&'o Operand<'a>, Guard)> {
        let [d, p, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        let p = self.predicate_operand(p)?;
        self.emit_members(members);
        Ok((d, p))
    }

    /// The destination of a comparison between lanes, and the value of each; adds their member mask.
    fn matched<'o>(
        &mut self,
        modifiers: &Modifiers<'a>,
        operands: &'o [Operand<'a>],
    ) -> Result<(&'o Operand<'a>, Slot)> {
        let [d, a, members] = self.exactly(operands)?;
        let ty = modifiers.last_type().unwrap_or(Type::B32);
        let members = self.value_r(members, Type::B32)?;
        self.emit_members(members);
        let a = if ty.bits() == 64 {
            Slot::Reg64(self.value_q(a, ty)?)
        } else {
            Slot::Reg32(self.value_r(a, ty)?)
        };
        Ok((d, a))
    }

    /// Lowers `redux.sync`, the reduction over the lanes of a mask.
    pub(super) fn reduce(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        op: Redux,
    ) -> Result<()> {
        let [d, a, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        self.emit_members(members);
        let (a, (d, _)) = (self.value_r(a, Type::B32)?, self.dst_r(d)?);
        self.emit(Op::Redux(op, d, a));
        Ok(())
    }
}
