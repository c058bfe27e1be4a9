//! Runs one warp until it ends, waits or has used its time slice.

use super::Machine;
use super::state::{BlockState, YieldReason};
use crate::finding::{FindingKind, GridSync, Trap};
use crate::isa::ir::{Op, System};
use crate::isa::names::{NO_PC, Pc};
use crate::machine::monitor::{Monitor, Step};
use crate::machine::simd::arith::{self, SpreadMask};
use crate::machine::warp::Warp;
use crate::machine::warp::simt_stack::StackEntry;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Executes until there is a reason to yield, such as `slice` instructions.
    pub fn run(&mut self, slice: u64) -> YieldReason {
        let env = self.env;
        let code = env.program.code.as_slice();
        let slice_end = (self.warp.executed + slice).min(env.budget);
        self.begin_slice(slice_end);
        // Where no monitor steps, the code for it is not compiled.
        let steps = M::STEPS && self.state.monitor.steps();
        let mut pc = self.warp.current.pc;
        loop {
            let mask = self.warp.current.mask;
            let mut reach = env.threaded.as_slice();
            if steps {
                if self.waits_for_all(pc) {
                    pc = self.warp.current.pc;
                    continue;
                }
                // Runs of arithmetic end where the code does.
                reach = &reach[..=pc as usize];
                self.before(pc, mask);
            }
            if reach[pc as usize].is_arithmetic() {
                self.activate(mask);
                let Warp { registers, active, .. } = &mut *self.warp;
                let ran = arith::run(reach, pc as usize, registers, active, env.simd.set_mask);
                self.warp.executed += ran.instructions;
                self.state.lane_instructions += ran.lane_instructions;
                // Code ends in `Exit` or `Ret`, so there is always a next instruction.
                pc = ran.next as Pc;
                self.warp.current.pc = pc;
                if steps && ran.next == reach.len() {
                    continue;
                }
            }
            let instr = &code[pc as usize];
            // Most lanes that come by do not reconverge here.
            if matches!(instr.op, Op::Join) && self.warp.current.join != pc {
                pc += 1;
                self.warp.current.pc = pc;
                continue;
            }
            if !steps && self.waits_for_all(pc) {
                pc = self.warp.current.pc;
                continue;
            }
            let active = self.active(instr.guard);
            if instr.class.is_some() {
                self.warp.executed += 1;
                // A branch is taken or not by every lane of the split.
                let counted = if matches!(instr.op, Op::Branch { .. }) { mask } else { active };
                self.state.lane_instructions += self.count(counted);
            }
            match &instr.op {
                &Op::Branch { target, join } => {
                    // Only branches can make a program endless, so only they check the budget.
                    if self.warp.executed >= env.budget {
                        return YieldReason::Endless;
                    }
                    self.branch(active, mask, target, join);
                    if self.warp.executed >= self.warp.spin.next_check
                        && let Some(reason) = self.check_schedule(slice_end)
                    {
                        return reason;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                Op::Load(address, elements) => {
                    if active != 0 {
                        if address.marks.strength.is_marked() && self.warp.spin.probe.is_some() {
                            self.probe_access(pc, active, address, elements.size(), true, false);
                        }
                        self.load(pc, active, address, elements);
                    }
                }
                Op::Store(address, elements) => {
                    if active != 0 {
                        if self.warp.spin.probe.is_some() {
                            self.probe_access(pc, active, address, elements.size(), false, true);
                        }
                        self.store(pc, active, address, elements);
                        if address.marks.strength.is_marked()
                            && !self.state.polled.is_empty()
                            && self.changes_polled(active, address)
                        {
                            self.warp.current.pc = pc + 1;
                            return YieldReason::Slice;
                        }
                    }
                }
                Op::PoisonPropagatingLoad(load) => {
                    if active != 0 {
                        self.poison_propagating_load(pc, active, load);
                    }
                }
                Op::PoisonPropagatingStore(store) => {
                    if active != 0 {
                        if self.warp.spin.probe.is_some() {
                            let (address, size) = (&store.address, store.elements.size());
                            self.probe_access(pc, active, address, size, false, true);
                        }
                        self.poison_propagating_store(pc, active, store);
                    }
                }
                Op::PoisonCheckingChoice(choice) => self.poison_checking_choice(active, choice),
                Op::Atom(atom) => {
                    if active != 0 {
                        if self.warp.spin.probe.is_some() {
                            let (address, size) = (&atom.address, atom.ty.bytes());
                            self.probe_access(pc, active, address, size, true, true);
                        }
                        self.atomic(pc, active, atom);
                        if !self.state.polled.is_empty()
                            && self.changes_polled(active, &atom.address)
                        {
                            self.warp.current.pc = pc + 1;
                            return YieldReason::Slice;
                        }
                    }
                }
                Op::WideAtom(atom) => {
                    if active != 0 {
                        if self.warp.spin.probe.is_some() {
                            self.probe_access(pc, active, &atom.address, 16, true, true);
                        }
                        self.wide_atomic(pc, active, atom);
                        if !self.state.polled.is_empty()
                            && self.changes_polled(active, &atom.address)
                        {
                            self.warp.current.pc = pc + 1;
                            return YieldReason::Slice;
                        }
                    }
                }
                &Op::CopyLocal(to, from, size) => {
                    if self.warp.spin.probe.is_some() {
                        self.probe_local(mask, to, size);
                    }
                    self.copy_local(mask, to, from, size);
                }
                &Op::Call(target) => {
                    self.warp.current.pc = pc + 1;
                    let caller = self.warp.current;
                    self.warp.stack.push(caller);
                    self.warp.current = StackEntry { pc: target, join: NO_PC, mask };
                    pc = target;
                    continue;
                }
                Op::EnterFrame(enter) => {
                    self.probe_loses_track();
                    if !self.enter(pc, mask, enter) {
                        if !self.end_lanes(mask) {
                            return YieldReason::Done;
                        }
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                Op::LeaveFrame(leave) => self.leave(mask, leave),
                &Op::Stack(what) => {
                    self.probe_loses_track();
                    if !self.use_stack(pc, mask, what) {
                        if !self.end_lanes(mask) {
                            return YieldReason::Done;
                        }
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                &Op::InvalidCall(pointer) => {
                    self.invalid_call(pc, mask, pointer);
                    if !self.end_lanes(mask) {
                        return YieldReason::Done;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                Op::Join | Op::Ret => {
                    if !self.go_on() {
                        return YieldReason::Done;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                Op::Exit => {
                    if !self.end_lanes(mask) {
                        return YieldReason::Done;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                Op::Trap | Op::GridTrap => {
                    // The headers of cooperative groups trap where they find no workspace.
                    let no_grid = matches!(instr.op, Op::GridTrap) && env.workspace == 0;
                    let trap = Trap { message: None };
                    let kind: FindingKind = if no_grid { GridSync.into() } else { trap.into() };
                    self.record(kind, pc, mask);
                    if !self.end_lanes(mask) {
                        return YieldReason::Done;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                Op::Bar(bar) => {
                    if let Some(reason) = self.barrier(pc, bar) {
                        return reason;
                    }
                }
                &Op::System(System::Printf { format, arguments, result }) => {
                    self.probe_loses_track();
                    if !self.printf(mask, format, arguments, result) {
                        if !self.end_lanes(mask) {
                            return YieldReason::Done;
                        }
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                &Op::System(System::Malloc { size, result }) => {
                    self.probe_loses_track();
                    self.malloc(mask, size, result);
                }
                &Op::System(System::Free { pointer }) => {
                    self.probe_loses_track();
                    self.free(pc, mask, pointer);
                }
                Op::System(
                    call @ (System::PrepareLaunch { .. } | System::LaunchPrepared { .. }),
                ) => {
                    self.probe_loses_track();
                    self.launch_call(mask, call);
                }
                &Op::System(System::AssertFail { message }) => {
                    self.assert_fail(pc, mask, message);
                    self.warp.current.pc = pc + 1;
                    if !self.end_lanes(mask) {
                        return YieldReason::Done;
                    }
                    pc = self.warp.current.pc;
                    continue;
                }
                &Op::Members(members) => {
                    if !self.members(pc, active, members) {
                        self.go_on();
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                Op::Matrix(matrix) => {
                    if active != 0 {
                        self.probe_loses_track();
                        let guests = std::mem::take(&mut self.warp.guests);
                        self.matrix(pc, active | guests, matrix);
                    }
                }
                Op::Texture(texture) => {
                    if active != 0 {
                        self.probe_loses_track();
                        self.texture(pc, active, texture);
                    }
                }
                Op::CopyAsync(copy) => {
                    if active != 0 {
                        self.probe_loses_track();
                        self.copy_async(pc, active, copy);
                    }
                }
                Op::CommitCopies => self.copies().commit(active),
                &Op::WaitCopies(groups) => self.wait_copies(active, groups),
                Op::Mbarrier(mbarrier) => {
                    self.probe_loses_track();
                    if active != 0 && self.mbarrier(pc, active, mbarrier) {
                        self.warp.current.pc = pc + 1;
                        if self.spins(mask) {
                            return YieldReason::Spins;
                        }
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                Op::BulkStore(store) => {
                    self.probe_loses_track();
                    if active != 0 {
                        self.bulk_store(pc, active, store);
                    }
                }
                Op::CommitStores => self.copies().commit_stores(active),
                &Op::WaitStores(groups) => self.copies().wait_for_stores(active, groups),
                Op::EndProducts => self.end_products(),
                &Op::WaitForProducts(groups) => self.wait_for_products(groups),
                &Op::ArriveAtCluster { releases } => {
                    self.probe_loses_track();
                    if active != 0 {
                        self.arrive_at_cluster(pc, active, releases);
                    }
                }
                &Op::WaitForCluster { acquires } => {
                    self.probe_loses_track();
                    if active != 0 && self.wait_for_cluster(pc, active, acquires) {
                        // It comes here again.
                        if self.spins(mask) {
                            return YieldReason::Spins;
                        }
                        pc = self.warp.current.pc;
                        continue;
                    }
                }
                &Op::Fence(fence) => {
                    if active != 0 {
                        self.state.monitor.fence(self.warp.index, active, fence);
                    }
                }
                Op::WarpSync => self.synchronise_lanes(active),
                // A run of arithmetic never stops at arithmetic.
                Op::Alu(_) | Op::Nop => {}
                other => self.warp_operation(active, other),
            }
            pc += 1;
            self.warp.current.pc = pc;
        }
    }

    /// Makes a mask that of the instruction that is executed.
    #[inline(always)]
    pub(super) fn activate(&mut self, mask: u32) {
        if self.warp.active.mask != mask {
            (self.env.simd.set_mask)(&mut self.warp.active, mask);
        }
    }

    /// How many lanes a mask has.
    #[inline(always)]
    fn count(&self, mask: u32) -> u64 {
        // Bits take many instructions to count where the processor is known to have SSE2 alone.
        let SpreadMask { mask: last, count, .. } = self.warp.active;
        if mask == last { count.into() } else { mask.count_ones().into() }
    }

    /// Announces the next instruction to the monitor.
    pub(super) fn before(&mut self, pc: Pc, mask: u32) {
        let instr = &self.env.program.code[pc as usize];
        let BlockState { monitor, shared, .. } = &mut *self.state;
        let p = instr.guard.map(|guard| (self.warp.registers.p(guard.predicate), guard.negated));
        monitor.before(&Step {
            pc,
            instr,
            mask: p.map_or(mask, |(p, negated)| mask & if negated { !p } else { p }),
            split: mask,
            warp: self.warp.index,
            registers: &self.warp.registers,
            members: &self.warp.members,
            memory: self.env.memory,
            shared,
            local: &self.warp.local,
        });
    }

    fn branch(&mut self, taken: u32, mask: u32, target: Pc, join: Pc) {
        if taken == mask {
            self.warp.current.pc = target;
        } else if taken == 0 {
            self.warp.current.pc += 1;
        } else {
            self.warp.diverge(taken, target, join);
        }
    }
}
