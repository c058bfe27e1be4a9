//! Operations across lanes: shuffles, votes, matches, reductions (PTX ISA 9.7.9.6, 9.7.13).

use crate::finding::InvalidMembers;
use crate::isa::ir::{Op, Redux, Vote};
use crate::isa::names::{Pc, Reg32, Slot};
use crate::isa::ops::shuffle::source_lane;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;

fn reduce(op: Redux, a: u32, b: u32) -> u32 {
    match op {
        Redux::Add => a.wrapping_add(b),
        Redux::MinU => a.min(b),
        Redux::MinS => (a as i32).min(b as i32) as u32,
        Redux::MaxU => a.max(b),
        Redux::MaxS => (a as i32).max(b as i32) as u32,
        Redux::And => a & b,
        Redux::Or => a | b,
        Redux::Xor => a ^ b,
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Finds which lanes each lane of `mask` joins in the next operation, and reports invalid member masks. False if all running
    /// lanes have to wait for others.
    pub(super) fn members(&mut self, pc: Pc, mut mask: u32, register: Reg32) -> bool {
        if mask == 0 {
            return true;
        }
        let alone = std::mem::take(&mut self.warp.alone);
        let named = *self.warp.registers.r(register);
        let absent =
            |machine: &Self| lanes(mask).any(|lane| named[lane] & machine.warp.live & !mask != 0);
        if absent(self) {
            self.retire_idle_lanes();
            if absent(self) && !alone {
                mask = self.wait_for_members(pc, mask, register);
                if self.warp.current.mask == 0 {
                    return false;
                }
            }
        }
        let mut wrong = 0;
        let mut first = None;
        let mut rest = mask;
        while rest != 0 {
            let leader = rest.trailing_zeros() as usize;
            let same = lanes(rest).filter(|&lane| named[lane] == named[leader]);
            let group = same.fold(0, |group, lane| group | 1 << lane);
            rest &= !group;
            let here = group & named[leader];
            let absent = named[leader] & self.warp.live & !here;
            let faulty = if absent == 0 { group & !named[leader] } else { group };
            if faulty != 0 {
                wrong |= faulty;
                first.get_or_insert(InvalidMembers { named: named[leader], here: group });
            }
            for lane in lanes(group) {
                // A lane that its own mask leaves out is at least with itself.
                self.warp.members[lane] = here | 1 << lane;
            }
        }
        if let Some(kind) = first {
            self.record(kind, pc, wrong);
        }
        true
    }

    /// Executes a warp operation. Inactive lanes do not take part, whatever the member mask says.
    pub(super) fn warp_operation(&mut self, mask: u32, op: &Op) {
        if mask == 0 {
            return;
        }
        let members = self.warp.members;
        let registers = &mut self.warp.registers;
        match *op {
            Op::Shfl { mode, dst, in_range, a, b, c } => {
                let (a, b, c) = (*registers.r(a), *registers.r(b), *registers.r(c));
                let mut inside = 0;
                for lane in lanes(mask) {
                    let (source, valid) = source_lane(mode, lane as u32, b[lane], c[lane]);
                    inside |= u32::from(valid) << lane;
                    if let Some(dst) = dst {
                        // What an absent lane gives is undefined: all ones, as after a read that went wrong.
                        let present = members[lane] >> source & 1 == 1;
                        let value = if present { a[source as usize] } else { u32::MAX };
                        registers.r_mut(dst)[lane] = value;
                    }
                }
                if let Some(in_range) = in_range {
                    registers.set_p(in_range, mask, inside);
                }
            }
            Op::VoteP(vote, d, guard) => {
                let p = registers.p(guard.predicate);
                let p = if guard.negated { !p } else { p };
                let holds = |lane: usize| {
                    let bits = members[lane] & p;
                    match vote {
                        Vote::All => bits == members[lane],
                        Vote::Any => bits != 0,
                        Vote::Uni => bits == 0 || bits == members[lane],
                    }
                };
                let result = lanes(mask).fold(0, |all, lane| all | u32::from(holds(lane)) << lane);
                registers.set_p(d, mask, result);
            }
            Op::Ballot(d, guard) => {
                let p = registers.p(guard.predicate);
                let p = if guard.negated { !p } else { p };
                self.set_lanes(Slot::Reg32(d), mask, &members.map(|members| (members & p).into()));
            }
            Op::MatchAny(d, a) => {
                // `a` may be `d`: results are written after all are known.
                let mut equal = [0; 32];
                for lane in lanes(mask) {
                    let value = registers.lane(a, lane);
                    equal[lane] = lanes(members[lane])
                        .filter(|&other| registers.lane(a, other) == value)
                        .fold(0, |all, other| all | 1 << other);
                }
                self.set_lanes(Slot::Reg32(d), mask, &equal);
            }
            Op::MatchAll(d, p, a) => {
                let mut equal = [0; 32];
                let mut all = 0;
                for lane in lanes(mask) {
                    let value = registers.lane(a, lane);
                    if lanes(members[lane]).all(|other| registers.lane(a, other) == value) {
                        equal[lane] = members[lane].into();
                        all |= 1 << lane;
                    }
                }
                if let Some(p) = p {
                    registers.set_p(p, mask, all);
                }
                self.set_lanes(Slot::Reg32(d), mask, &equal);
            }
            Op::Redux(op, d, a) => {
                let a = *registers.r(a);
                let total =
                    |members| lanes(members).map(|lane| a[lane]).reduce(|x, y| reduce(op, x, y));
                let totals = members.map(|members| total(members).unwrap_or(0).into());
                self.set_lanes(Slot::Reg32(d), mask, &totals);
            }
            Op::ActiveMask(d) => self.set_lanes(Slot::Reg32(d), mask, &[mask.into(); 32]),
            Op::Clock32(d) => {
                self.probe_clock();
                let current = self.warp.executed & u64::from(u32::MAX);
                self.set_lanes(Slot::Reg32(d), mask, &[current; 32]);
            }
            Op::Clock64(d) => {
                self.probe_clock();
                let current = self.warp.executed;
                self.set_lanes(Slot::Reg64(d), mask, &[current; 32]);
            }
            _ => {}
        }
    }
}
