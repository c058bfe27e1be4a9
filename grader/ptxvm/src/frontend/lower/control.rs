//! Branches, calls, barriers and what ends a thread.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::Q1;
use crate::isa::ir::{Alu, Bar, BarReduce, Op, Uniform};
use crate::isa::ordering::Ordering;
use crate::isa::types::Type;

#[expect(clippy::unnecessary_wraps, reason = "the table calls all its functions alike")]
impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn branch(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        match operands {
            [Operand::Name(label)] => self.emit_branch(label),
            _ => return Err(self.malformed("`bra` needs a label")),
        }
        Ok(())
    }

    /// Instructions that are one operation of the machine, whatever their operands.
    pub(super) fn operation(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        _operands: &[Operand<'a>],
        op: Op,
    ) -> Result<()> {
        self.emit(op);
        Ok(())
    }

    /// `ret`, which ends the lanes of a kernel.
    pub(super) fn end_function(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        _operands: &[Operand<'a>],
    ) -> Result<()> {
        self.emit_return();
        Ok(())
    }

    pub(super) fn trap(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        _operands: &[Operand<'a>],
    ) -> Result<()> {
        self.emit(if self.in_cooperative_groups() { Op::GridTrap } else { Op::Trap });
        Ok(())
    }

    pub(super) fn fence(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        _operands: &[Operand<'a>],
    ) -> Result<()> {
        if modifiers.take("mbarrier_init") {
            // Objects are in memory as soon as they are made.
            modifiers.drop_all(&["release", "cluster"]);
            self.emit(Op::Nop);
            return Ok(());
        }
        let one_way = modifiers.take_any(&["acquire", "release"]);
        let fence = Ordering {
            acquires: one_way != Some("release"),
            releases: one_way != Some("acquire"),
            // Blocks of a cluster are ordered as those of the device: too much rather than too little.
            device_scope: !modifiers.has("cta"),
        };
        // Nothing reads or writes memory past the caches of a thread here: every proxy is the same one.
        let of_proxies = modifiers.take("proxy");
        modifiers.drop_all(&[
            "async",
            "alias",
            "global",
            "shared::cta",
            "shared::cluster",
            "tensormap::generic",
            "async::generic",
        ]);
        // What orders one kind of memory alone is taken to order all: too much rather than too little.
        modifiers.drop_all(&["sync_restrict::shared::cluster", "sync_restrict::shared::cta"]);
        modifiers.drop_all(&["cta", "gl", "sys", "gpu", "cluster", "sc", "acq_rel"]);
        if of_proxies {
            self.emit(Op::Nop);
        } else {
            self.builder.program.fenced = true;
            self.emit(Op::Fence(fence));
        }
        Ok(())
    }

    /// A hint for the caches: what stands for one does not matter.
    pub(super) fn create_policy(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.drop_all(&["fractional", "range", "cvt", "global", "b64"]);
        modifiers.drop_prefixed(&["L2"]);
        let [d, ..] = operands else {
            return Err(self.malformed("`createpolicy` needs a destination"));
        };
        let (d, none) = (self.dst_q(d)?, self.builder.uniform_q(Uniform::Bits(0)));
        self.alu(Alu::Q1(Q1::Mov, d, none));
        Ok(())
    }

    /// What moves lines of the caches.
    pub(super) fn hint(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        _operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.drop_all(&["global", "local", "L1", "L2", "tensormap", "const", "param"]);
        modifiers.drop_prefixed(&["L1::", "L2::"]);
        self.emit(Op::Nop);
        Ok(())
    }

    /// Lowers `bar` and `barrier`.
    pub(super) fn barrier(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        if modifiers.take("warp") {
            modifiers.take("sync");
            let [members] = self.exactly(operands)?;
            let members = self.value_r(members, Type::B32)?;
            self.emit_members(members);
            self.emit(Op::WarpSync);
            return Ok(());
        }
        if modifiers.take("cluster") {
            return self.cluster_barrier(modifiers, operands);
        }
        modifiers.drop_all(&["cta", "aligned"]);
        if modifiers.take("red") {
            return self.barrier_reduce(modifiers, operands);
        }
        let waits = !modifiers.take("arrive");
        modifiers.take("sync");
        let (id, threads) = match operands {
            [id] => (id, None),
            [id, threads] => (id, Some(threads)),
            _ => return Err(self.malformed("a barrier has a number and an optional thread count")),
        };
        let id = self.value_r(id, Type::U32)?;
        let threads = match threads {
            Some(threads) => Some(self.value_r(threads, Type::U32)?),
            None => None,
        };
        self.emit(Op::Bar(Box::new(Bar { id, threads, waits, reduce: None })));
        Ok(())
    }

    fn barrier_reduce(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let kind = modifiers.take_any(&["popc", "and", "or"]);
        modifiers.ty();
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
