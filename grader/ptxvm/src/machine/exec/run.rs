//! Runs one warp until it ends, waits or has used its time slice.

use super::state::{BlockState, Machine, Pause};
use crate::finding::FindingKind;
use crate::isa::ir::{Op, System};
use crate::isa::names::{NO_PC, Pc};
use crate::machine::monitor::{Monitor, Step};
use crate::machine::warp::split::Split;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Runs until there is a reason to pause, such as `slice` instructions.
    pub fn run(&mut self, slice: u64) -> Pause {
        let env = self.env;
        let code = env.program.code.as_slice();
        let slice_end = (self.warp.executed + slice).min(env.budget);
        self.begin_turn(slice_end);
        // Where no monitor steps, the code for it is not compiled.
        let steps = M::STEPS && self.state.monitor.steps();
        let mut pc = self.warp.now.pc;
        loop {
            let mask = self.warp.now.mask;
            let mut reach = code;
            if steps {
                if self.waits_for_all(pc) {
                    pc = self.warp.now.pc;
                    continue;
                }
                // Runs of arithmetic end where the code does.
                reach = &code[..=pc as usize];
                self.before(pc, mask);
            }
            let ran = (env.simd.run)(reach, pc as usize, &mut self.warp.registers, mask);
            self.warp.executed += ran.instructions;
            self.state.lane_instructions += ran.lane_instructions;
            // Code ends in `Exit` or `Ret`, so there is always a next instruction.
            pc = ran.next as Pc;
            self.warp.now.pc = pc;
            if steps && ran.next == reach.len() {
                continue;
            }
            let instr = &code[ran.next];
            if !steps && self.waits_for_all(pc) {
                pc = self.warp.now.pc;
                continue;
            }
            let active = self.active(instr.guard);
            if instr.class.is_some() {
                self.warp.executed += 1;
                // A branch is taken or not by every lane of the split.
                let counted = if matches!(instr.op, Op::Branch { .. }) { mask } else { active };
                self.state.lane_instructions += u64::from(counted.count_ones());
            }
            match &instr.op {
                Op::Join => {
                    if self.warp.now.join == pc {
                        if !self.go_on() {
                            return Pause::Done;
                        }
                        pc = self.warp.now.pc;
                    } else {
                        pc += 1;
                    }
                    continue;
                }
                &Op::Branch { target, join } => {
                    // Only branches can make a program endless, so only here somebody looks at the clock.
                    if self.warp.executed >= env.budget {
                        return Pause::Endless;
                    }
                    self.branch(active, mask, target, join);
                    if self.warp.executed >= self.warp.spin.next_turn
                        && let Some(pause) = self.turn(slice_end)
                    {
                        return pause;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Load(address, elements) => {
                    if active != 0 {
                        if address.strong && self.warp.spin.watch.is_some() {
                            self.watch_access(pc, active, address, elements.size(), true, false);
                        }
                        self.load(pc, active, address, elements);
                    }
                }
                Op::Store(address, elements) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            self.watch_access(pc, active, address, elements.size(), false, true);
                        }
                        self.store(pc, active, address, elements);
                        if address.strong
                            && !self.state.polled.is_empty()
                            && self.changes_polled(active, address)
                        {
                            self.warp.now.pc = pc + 1;
                            return Pause::Slice;
                        }
                    }
                }
                Op::QuietLoad(load) => {
                    if active != 0 {
                        self.quiet_load(pc, active, load);
                    }
                }
                Op::QuietStore(store) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            let (address, size) = (&store.address, store.elements.size());
                            self.watch_access(pc, active, address, size, false, true);
                        }
                        self.quiet_store(pc, active, store);
                    }
                }
                Op::Atom(atom) => {
                    if active != 0 {
                        if self.warp.spin.watch.is_some() {
                            let (address, size) = (&atom.address, atom.ty.bytes());
                            self.watch_access(pc, active, address, size, true, true);
                        }
                        self.atomic(pc, active, atom);
                        if !self.state.polled.is_empty()
                            && self.changes_polled(active, &atom.address)
                        {
                            self.warp.now.pc = pc + 1;
                            return Pause::Slice;
                        }
                    }
                }
                &Op::CopyLocal(to, from, size) => {
                    if self.warp.spin.watch.is_some() {
                        self.watch_local(mask, to, size);
                    }
                    self.copy_local(mask, to, from, size);
                }
                &Op::Call(target) => {
                    self.warp.now.pc = pc + 1;
                    let caller = self.warp.now;
                    self.warp.stack.push(caller);
                    self.warp.now = Split { pc: target, join: NO_PC, mask };
                    pc = target;
                    continue;
                }
                Op::Enter(enter) => {
                    self.watch_loses_track();
                    if !self.enter(pc, mask, enter) {
                        if !self.end_lanes(mask) {
                            return Pause::Done;
                        }
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                Op::Leave(leave) => self.leave(mask, leave),
                &Op::InvalidCall(pointer) => {
                    self.invalid_call(pc, mask, pointer);
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Ret => {
                    if !self.go_on() {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Exit => {
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Trap | Op::GridTrap => {
                    // The headers of cooperative groups trap where they find no workspace.
                    let no_grid = matches!(instr.op, Op::GridTrap) && env.workspace == 0;
                    let trap = FindingKind::Trap { message: None };
                    let kind = if no_grid { FindingKind::GridSync } else { trap };
                    self.record(kind, pc, mask);
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                Op::Bar(bar) => {
                    if let Some(pause) = self.barrier(pc, bar) {
                        return pause;
                    }
                }
                &Op::System(System::Printf { format, arguments, result }) => {
                    self.watch_loses_track();
                    self.printf(mask, format, arguments, result);
                }
                &Op::System(System::Malloc { size, result }) => {
                    self.watch_loses_track();
                    self.malloc(mask, size, result);
                }
                &Op::System(System::Free { pointer }) => {
                    self.watch_loses_track();
                    self.free(pc, mask, pointer);
                }
                &Op::System(System::AssertFail { message }) => {
                    self.assert_fail(pc, mask, message);
                    self.warp.now.pc = pc + 1;
                    if !self.end_lanes(mask) {
                        return Pause::Done;
                    }
                    pc = self.warp.now.pc;
                    continue;
                }
                &Op::Members(members) => {
                    if !self.members(pc, active, members) {
                        self.go_on();
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                Op::Matrix(matrix) => {
                    if active != 0 {
                        self.watch_loses_track();
                        let guests = std::mem::take(&mut self.warp.guests);
                        self.matrix(pc, active | guests, matrix);
                    }
                }
                Op::CopyAsync(copy) => {
                    if active != 0 {
                        self.watch_loses_track();
                        self.copy_async(pc, active, copy);
                    }
                }
                Op::CommitCopies => self.copies().commit(active),
                &Op::WaitCopies(groups) => self.wait_copies(active, groups),
                Op::Mbarrier(mbarrier) => {
                    self.watch_loses_track();
                    if active != 0 && self.mbarrier(pc, active, mbarrier) {
                        self.warp.now.pc = pc + 1;
                        if self.spins(mask) {
                            return Pause::Spins;
                        }
                        pc = self.warp.now.pc;
                        continue;
                    }
                }
                &Op::Fence(fence) => {
                    if active != 0 {
                        self.state.monitor.fence(self.warp.index, active, fence);
                    }
                }
                Op::WarpSync => self.state.monitor.warp_barrier(self.warp.index),
                // A run of arithmetic never stops at arithmetic.
                Op::Alu(_) | Op::Nop => {}
                other => self.warp_operation(active, other),
            }
            pc += 1;
            self.warp.now.pc = pc;
        }
    }

    /// Tells the monitor which instruction comes next.
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
            self.warp.now.pc = target;
        } else if taken == 0 {
            self.warp.now.pc += 1;
        } else {
            self.warp.diverge(taken, target, join);
        }
    }
}
