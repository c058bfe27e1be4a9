//! Subwarps that wait for each other: at warp operations with a member mask, and at operations of the whole warp or block.
//!
//! PTX ISA 9.7.13 (`bar.warp.sync`) and 9.7.9.6 (`shfl.sync`): a thread waits until all threads of its member mask that have
//! not exited execute such an operation with the same mask. They may execute it at different places of the program.

use std::mem::discriminant;

use crate::isa::ir::Op;
use crate::isa::names::{Guard, Pc, Reg32, Slot};
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::machine::warp::subwarp::{Subwarp, SubwarpState};

/// The operand of each lane that the others see.
enum LaneOperand {
    Word(Slot),
    Predicate(Guard),
    Nothing,
}

fn source(op: &Op) -> Option<LaneOperand> {
    Some(match *op {
        Op::Shfl { a, .. } | Op::Redux(_, _, a) => LaneOperand::Word(Slot::Reg32(a)),
        Op::MatchAny(_, a) | Op::MatchAll(_, _, a) => LaneOperand::Word(a),
        Op::VoteP(_, _, guard) | Op::Ballot(_, guard) => LaneOperand::Predicate(guard),
        Op::WarpSync => LaneOperand::Nothing,
        _ => return None,
    })
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Lanes of `mask` name members that are not here. Those whose missing members may still arrive are split off as subwarps
    /// that wait for them; the remaining lanes are returned.
    pub(super) fn wait_for_members(&mut self, pc: Pc, mask: u32, register: Reg32) -> u32 {
        let named = *self.warp.registers.r(register);
        let (mut rest, mut left) = (mask, mask);
        while rest != 0 {
            let leader = rest.trailing_zeros() as usize;
            let same = lanes(rest).filter(|&lane| named[lane] == named[leader]);
            let group = same.fold(0, |group, lane| group | 1 << lane);
            rest &= !group;
            let absent = named[leader] & self.warp.live & !group;
            if absent == 0 || !self.warp.may_arrive(absent) {
                continue;
            }
            left &= !group;
            let mut subwarp = self.warp.split_off(group);
            subwarp.current.pc = pc;
            subwarp.state = SubwarpState::AtMembers(named[leader]);
            self.warp.add_subwarp(subwarp);
            self.complete();
        }
        left
    }

    /// Lets the subwarps go on whose whole member mask has arrived. False if there are none.
    fn complete(&mut self) -> bool {
        let (live, code) = (self.warp.live, &self.env.program.code);
        let operation = |subwarp: &Subwarp| {
            code.get(subwarp.current.pc as usize + 1).map(|i| discriminant(&i.op))
        };
        let others = &self.warp.others;
        let complete = others.iter().find_map(|first| {
            let SubwarpState::AtMembers(named) = first.state else { return None };
            let same = |subwarp: &&Subwarp| {
                subwarp.state == first.state && operation(subwarp) == operation(first)
            };
            let here =
                others.iter().filter(same).fold(0, |all, subwarp| all | subwarp.current.mask);
            (named & live & !here == 0).then(|| (first.state, operation(first)))
        });
        let Some((state, what)) = complete else { return false };
        let meets = |subwarp: &Subwarp| subwarp.state == state && operation(subwarp) == what;
        let (mut together, others): (Vec<Subwarp>, Vec<Subwarp>) =
            std::mem::take(&mut self.warp.others).into_iter().partition(meets);
        if together.len() > 1 {
            self.execute_together(&mut together);
        }
        self.warp.others = others;
        for mut subwarp in together {
            subwarp.state = SubwarpState::Ready;
            self.warp.add_subwarp(subwarp);
        }
        true
    }

    /// Lanes execute `__syncwarp`, each with the members that have arrived with it.
    pub(super) fn synchronise_lanes(&mut self, mask: u32) {
        let mut rest = mask;
        while rest != 0 {
            let leader = rest & rest.wrapping_neg();
            let group = self.warp.members[leader.trailing_zeros() as usize] & mask | leader;
            rest &= !group;
            let lanes = if group == self.warp.live { u32::MAX } else { group };
            self.state.monitor.warp_barrier(self.warp.index, lanes);
        }
    }

    /// Executes one warp operation jointly for subwarps that are at different instructions, or reached theirs by different paths.
    fn execute_together(&mut self, subwarps: &mut [Subwarp]) {
        let code = self.env.program.code.as_slice();
        let all = subwarps.iter().fold(0, |all, subwarp| all | subwarp.current.mask);
        let mut words = [0; 32];
        let mut bits = 0;
        for subwarp in &*subwarps {
            let registers = &self.warp.registers;
            match source(&code[subwarp.current.pc as usize + 1].op) {
                Some(LaneOperand::Word(slot)) => {
                    for lane in lanes(subwarp.current.mask) {
                        words[lane] = registers.lane(slot, lane);
                    }
                }
                Some(LaneOperand::Predicate(guard)) => {
                    let p = registers.p(guard.predicate);
                    bits |= subwarp.current.mask & if guard.negated { !p } else { p };
                }
                _ => {}
            }
            for lane in lanes(subwarp.current.mask) {
                self.warp.members[lane] = all;
            }
        }
        for (index, subwarp) in subwarps.iter_mut().enumerate() {
            let pc = subwarp.current.pc + 1;
            let instr = &code[pc as usize];
            let mask = subwarp.current.mask;
            let Some(source) = source(&instr.op) else {
                subwarp.current.pc = pc;
                continue;
            };
            if M::STEPS && self.state.monitor.steps() {
                self.before(pc, mask);
            }
            let counted = u64::from(instr.class.is_some());
            self.warp.executed += counted;
            self.state.lane_instructions += counted * u64::from(mask.count_ones());
            match source {
                LaneOperand::Nothing if index > 0 => {}
                LaneOperand::Nothing => self.synchronise_lanes(all),
                LaneOperand::Word(slot) => {
                    let foreign = all & !mask;
                    let own = std::array::from_fn(|lane| self.warp.registers.lane(slot, lane));
                    self.set_lanes(slot, foreign, &words);
                    self.warp_operation(mask, &instr.op);
                    self.set_lanes(slot, foreign, &own);
                }
                LaneOperand::Predicate(guard) => {
                    let foreign = all & !mask;
                    let own = self.warp.registers.p(guard.predicate);
                    let value = if guard.negated { !bits } else { bits };
                    self.warp.registers.set_p(guard.predicate, foreign, value);
                    self.warp_operation(mask, &instr.op);
                    self.warp.registers.set_p(guard.predicate, foreign, own);
                }
            }
            subwarp.current.pc = pc + 1;
        }
    }

    /// Whether the instruction at `pc` is for all lanes of the warp and some have not arrived: then the running subwarp is
    /// suspended there, and another one runs.
    #[inline(always)]
    pub(super) fn waits_for_all(&mut self, pc: Pc) -> bool {
        !self.warp.others.is_empty() && self.has_to_wait(pc)
    }

    #[cold]
    fn has_to_wait(&mut self, pc: Pc) -> bool {
        let op = self.env.program.code.get(pc as usize).map(|instr| &instr.op);
        if !matches!(op, Some(Op::Bar(_) | Op::Matrix(_))) || std::mem::take(&mut self.warp.alone) {
            return false;
        }
        self.warp.current.pc = pc;
        self.retire_idle_lanes();
        let mask = self.warp.current.mask;
        if mask | self.warp.at_barrier(pc) == self.warp.live {
            self.warp.converge(pc);
            return false;
        }
        self.warp.suspend(SubwarpState::AtBarrier);
        self.switch();
        true
    }

    /// No subwarp can go on by itself: picks the one that goes on without those it waits for.
    pub(super) fn pick_blocked(&mut self) -> usize {
        if self.complete()
            && let Some(index) = self.warp.next_ready()
        {
            return index;
        }
        let live = self.warp.live;
        let mut others = self.warp.others.iter();
        let at_barrier = |subwarp: &Subwarp| subwarp.state == SubwarpState::AtBarrier;
        // The last one that was missing has ended.
        let all = others.position(|p| at_barrier(p) && self.warp.at_barrier(p.current.pc) == live);
        if let Some(index) = all {
            return index;
        }
        self.warp.alone = true;
        let mut others = self.warp.others.iter();
        let at_members =
            others.position(|subwarp| matches!(subwarp.state, SubwarpState::AtMembers(_)));
        // Subwarps that wait at reconvergence points wait for one that waits elsewhere, so there is one.
        at_members.or_else(|| self.warp.others.iter().position(at_barrier)).unwrap_or(0)
    }
}
