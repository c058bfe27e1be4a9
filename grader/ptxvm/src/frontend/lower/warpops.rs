//! Operations across the lanes of a warp.

use super::body::{Body, Register, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PRR, R1};
use crate::isa::ir::{Alu, Op, Redux, Shuffle, Special, Uniform, Vote};
use crate::isa::names::Slot;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn warp_operation(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
    ) -> Result<bool> {
        let base = mods.base;
        if base == "activemask" {
            mods.ty();
            let [d] = self.exactly(operands)?;
            let (d, _) = self.dst_r(d)?;
            self.emit(Op::ActiveMask(d));
            return Ok(true);
        }
        if base == "elect" {
            self.elect(mods, operands)?;
            return Ok(true);
        }
        if !matches!(base, "shfl" | "vote" | "match" | "redux") {
            return Ok(false);
        }
        if !mods.take("sync") {
            return Err(self.unsupported(format!("`{base}` without `.sync`, gone since sm_70")));
        }
        match base {
            "shfl" => self.shuffle(mods, operands)?,
            "vote" => self.vote(mods, operands)?,
            "match" => self.match_values(mods, operands)?,
            _ => self.redux(mods, operands)?,
        }
        Ok(true)
    }

    /// `elect.sync d|p, members`: the lowest member leads.
    fn elect(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        mods.take("sync");
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

    fn shuffle(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let mode = match mods.take_any(&["up", "down", "bfly", "idx"]) {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Bfly,
            Some(_) => Shuffle::Idx,
            None => return Err(self.malformed("`shfl` needs a mode such as `.down`")),
        };
        mods.ty();
        let [d, a, b, c, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        let (a, b) = (self.value_r(a, Type::B32)?, self.value_r(b, Type::B32)?);
        let c = self.value_r(c, Type::B32)?;
        let (d, in_range) = match d {
            Operand::Pair(pair) => (&pair.0, Some(self.dst_p(&pair.1)?)),
            d => (d, None),
        };
        let dst = match self.dst(d)? {
            Some(Register::R(register, _)) => Some(register),
            None => None,
            Some(_) => return Err(self.malformed("`shfl` moves 32 bits")),
        };
        self.emit_members(members);
        self.emit(Op::Shfl { mode, dst, in_range, a, b, c });
        Ok(())
    }

    fn vote(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let vote = match mods.take_any(&["all", "any", "uni", "ballot"]) {
            Some("all") => Vote::All,
            Some("any") => Vote::Any,
            Some("uni") => Vote::Uni,
            Some(_) => Vote::Ballot,
            None => return Err(self.malformed("`vote` needs a mode such as `.all`")),
        };
        mods.ty();
        let [d, p, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        let p = self.predicate_operand(p)?;
        self.emit_members(members);
        if vote == Vote::Ballot {
            let (d, _) = self.dst_r(d)?;
            self.emit(Op::Ballot(d, p));
        } else {
            let d = self.dst_p(d)?;
            self.emit(Op::VoteP(vote, d, p));
        }
        Ok(())
    }

    fn match_values(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let all = mods.take("all");
        mods.take("any");
        let ty = mods.ty().unwrap_or(Type::B32);
        let [d, a, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        self.emit_members(members);
        let a = if ty.bits() == 64 {
            Slot::Q(self.value_q(a, ty)?)
        } else {
            Slot::R(self.value_r(a, ty)?)
        };
        match (all, d) {
            (true, Operand::Pair(pair)) => {
                let p = self.dst_p(&pair.1)?;
                let (d, _) = self.dst_r(&pair.0)?;
                self.emit(Op::MatchAll(d, Some(p), a));
            }
            (true, d) => {
                let (d, _) = self.dst_r(d)?;
                self.emit(Op::MatchAll(d, None, a));
            }
            (false, d) => {
                let (d, _) = self.dst_r(d)?;
                self.emit(Op::MatchAny(d, a));
            }
        }
        Ok(())
    }

    fn redux(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let ty = mods.ty();
        if ty.is_some_and(Type::is_float) {
            return Err(self.unsupported("`redux` of floats, which needs sm_100a; use shuffles"));
        }
        let signed = ty.is_some_and(Type::is_signed);
        let op = match (mods.take_any(&["add", "min", "max", "and", "or", "xor"]), signed) {
            (Some("add"), _) => Redux::Add,
            (Some("min"), false) => Redux::MinU,
            (Some("min"), true) => Redux::MinS,
            (Some("max"), false) => Redux::MaxU,
            (Some("max"), true) => Redux::MaxS,
            (Some("and"), _) => Redux::And,
            (Some("or"), _) => Redux::Or,
            (Some(_), _) => Redux::Xor,
            (None, _) => return Err(self.malformed("`redux` needs an operation such as `.add`")),
        };
        let [d, a, members] = self.exactly(operands)?;
        let members = self.value_r(members, Type::B32)?;
        self.emit_members(members);
        let (a, (d, _)) = (self.value_r(a, Type::B32)?, self.dst_r(d)?);
        self.emit(Op::Redux(op, d, a));
        Ok(())
    }
}
