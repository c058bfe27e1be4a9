//! Branches, calls, barriers and what ends a thread.

use super::body::{Body, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::Q1;
use crate::isa::ir::{Alu, Bar, BarReduce, Op, Uniform};
use crate::isa::ordering::Ordering;
use crate::isa::types::Type;

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn control(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        match mods.base {
            "bra" => {
                mods.take("uni");
                match operands {
                    [Operand::Name(label)] => self.emit_branch(label),
                    _ => return Err(self.malformed("`bra` needs a label")),
                }
            }
            "ret" => {
                mods.take("uni");
                self.emit(if self.is_entry { Op::Exit } else { Op::Ret });
            }
            "exit" => self.emit(Op::Exit),
            "trap" if self.in_cooperative_groups() => self.emit(Op::GridTrap),
            "trap" | "brkpt" => self.emit(Op::Trap),
            "call" => {
                mods.take("uni");
                self.call(operands)?;
            }
            "bar" | "barrier" => self.barrier(mods, operands)?,
            "membar" | "fence" => {
                let one_way = mods.take_any(&["acquire", "release"]);
                let fence = Ordering {
                    acquires: one_way != Some("release"),
                    releases: one_way != Some("acquire"),
                    wide: !mods.has("cta") && !mods.has("cluster"),
                };
                // Nothing reads or writes memory past the caches of a thread here: every proxy is the same one.
                let of_proxies = mods.take("proxy");
                mods.drop_all(&["async", "alias", "global", "shared::cta"]);
                mods.drop_all(&["cta", "gl", "sys", "gpu", "cluster", "sc", "acq_rel"]);
                if of_proxies {
                    self.emit(Op::Nop);
                } else {
                    self.builder.program.fenced = true;
                    self.emit(Op::Fence(fence));
                }
            }
            "griddepcontrol" => {
                // A launch begins when those before it have ended, and what they wrote is there.
                mods.drop_all(&["wait", "launch_dependents"]);
                self.emit(Op::Nop);
            }
            "nanosleep" | "pmevent" => {
                mods.ty();
                mods.take("mask");
                self.emit(Op::Nop);
            }
            "createpolicy" => {
                // Hints for the caches; what stands for one does not matter.
                mods.drop_all(&["fractional", "range", "cvt", "global", "b64"]);
                mods.drop_prefixed(&["L2"]);
                let [d, ..] = operands else {
                    return Err(self.malformed("`createpolicy` needs a destination"));
                };
                let (d, none) = (self.dst_q(d)?, self.builder.uniform_q(Uniform::Bits(0)));
                self.alu(Alu::Q1(Q1::Mov, d, none));
            }
            "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                mods.drop_all(&["global", "local", "L1", "L2"]);
                mods.drop_prefixed(&["L1::", "L2::"]);
                self.emit(Op::Nop);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn barrier(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        if mods.take("warp") {
            mods.take("sync");
            let [members] = self.exactly(operands)?;
            let members = self.value_r(members, Type::B32)?;
            self.emit_members(members);
            self.emit(Op::WarpSync);
            return Ok(());
        }
        mods.drop_all(&["cta", "aligned"]);
        if mods.take("red") {
            return self.barrier_reduce(mods, operands);
        }
        let waits = !mods.take("arrive");
        mods.take("sync");
        let (id, threads) = match operands {
            [id] => (id, None),
            [id, threads] => (id, Some(threads)),
            _ => return Err(self.malformed("a barrier has a number and perhaps a thread count")),
        };
        let id = self.value_r(id, Type::U32)?;
        let threads = match threads {
            Some(threads) => Some(self.value_r(threads, Type::U32)?),
            None => None,
        };
        self.emit(Op::Bar(Box::new(Bar { id, threads, waits, reduce: None })));
        Ok(())
    }

    fn barrier_reduce(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let kind = mods.take_any(&["popc", "and", "or"]);
        mods.ty();
        let (d, id, threads, p) = match operands {
            [d, id, p] => (d, id, None, p),
            [d, id, threads, p] => (d, id, Some(threads), p),
            _ => return Err(self.malformed("`bar.red` has three or four operands")),
        };
        let id = self.value_r(id, Type::U32)?;
        let threads = match threads {
            Some(threads) => Some(self.value_r(threads, Type::U32)?),
            None => None,
        };
        let p = self.predicate_operand(p)?;
        let reduce = match kind {
            Some("popc") => BarReduce::Popc(self.dst_r(d)?.0),
            Some("and") => BarReduce::And(self.dst_p(d)?),
            Some("or") => BarReduce::Or(self.dst_p(d)?),
            _ => return Err(self.malformed("`bar.red` needs `.popc`, `.and` or `.or`")),
        };
        self.emit(Op::Bar(Box::new(Bar { id, threads, waits: true, reduce: Some((reduce, p)) })));
        Ok(())
    }
}
