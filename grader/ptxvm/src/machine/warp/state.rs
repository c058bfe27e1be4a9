//! A warp: its registers, its lanes, and the SIMT stack of the lanes that wait to reconverge.

use super::Warp;
use super::simt_stack::{StackEntry, WarpStatus};
use crate::isa::ir::Op;
use crate::isa::names::{NO_PC, Pc};
use crate::machine::registers::Registers;
use crate::machine::simd::arith::SpreadMask;
use crate::machine::warp::call_stack::CallStack;
use crate::machine::warp::spin_detector::SpinDetector;
use crate::memory::local::Local;
use crate::memory::unwritten::Unwritten;
use crate::program::code::Program;

impl Warp {
    pub fn new(program: &Program, unwritten: Unwritten) -> Self {
        Self {
            registers: Registers::new(program),
            local: Local::new(&program.local, unwritten),
            calls: CallStack::default(),
            current: StackEntry { pc: 0, join: NO_PC, mask: 0 },
            stack: Vec::new(),
            active: SpreadMask::NONE,
            others: Vec::new(),
            alone: false,
            guests: 0,
            spin: SpinDetector::new(program),
            live: 0,
            status: WarpStatus::Done,
            members: [0; 32],
            poisoned: Vec::new(),
            executed: 0,
            index: 0,
        }
    }

    /// Where the functions that the running lanes are in return to, the innermost last.
    pub fn calls_in_progress(&self, program: &Program) -> impl Iterator<Item = Pc> {
        let returns_here = |pc: Pc| {
            let before = pc.checked_sub(1).and_then(|call| program.instruction(call));
            let is_join = program.instruction(pc).is_some_and(|instr| matches!(instr.op, Op::Join));
            before.is_some_and(|instr| matches!(instr.op, Op::Call(_))) && !is_join
        };
        let running = self.stack.iter().filter(|entry| entry.mask & self.current.mask != 0);
        running.map(|entry| entry.pc).filter(move |&pc| returns_here(pc))
    }

    /// Resets the warp to the kernel's first instruction, with the given lanes live.
    pub fn restart(&mut self, registers: &Registers, index: u32, live: u32) {
        self.registers.reset_from(registers);
        self.local.clear();
        self.calls.clear(self.local.stack_start());
        self.current = StackEntry { pc: 0, join: NO_PC, mask: live };
        self.stack.clear();
        self.others.clear();
        self.alone = false;
        self.guests = 0;
        self.spin.restart();
        self.live = live;
        self.status = WarpStatus::Ready;
        self.poisoned.clear();
        self.executed = 0;
        self.index = index;
    }

    /// Pops the next stack entry with lanes; false if there is none, or its lanes wait for another subwarp.
    pub fn pop(&mut self) -> bool {
        while let Some(split) = self.stack.pop() {
            if split.mask != 0 {
                self.current = split;
                return self.others.is_empty() || self.arrive();
            }
        }
        self.current.mask = 0;
        if self.others.is_empty() {
            self.status = WarpStatus::Done;
        }
        false
    }

    /// Retires lanes that do not run.
    pub fn retire(&mut self, mask: u32) {
        self.live &= !mask;
        for split in &mut self.stack {
            split.mask &= !mask;
        }
    }

    /// Retires the lanes of a mask; false if no other lanes can run.
    pub fn exit(&mut self, mask: u32) -> bool {
        self.retire(mask);
        self.current.mask &= !mask;
        self.current.mask != 0 || self.pop()
    }

    /// Diverges: lanes of `taken` go to `target`, the others to the next instruction; both reconverge at `join`.
    pub fn diverge(&mut self, taken: u32, target: Pc, join: Pc) {
        let StackEntry { pc, join: outer, mask } = self.current;
        if join != NO_PC && join != outer {
            // The whole split goes on from there. If it is where this split ends anyway, the one below has these lanes.
            self.stack.push(StackEntry { pc: join, join: outer, mask });
        }
        let sides = [(pc + 1, mask & !taken), (target, taken)];
        for (pc, mask) in sides {
            if pc != join {
                self.stack.push(StackEntry { pc, join, mask });
            }
        }
        self.pop();
    }

    /// The place of lanes that do not belong to the running entry.
    pub fn other_pc(&self) -> Option<Pc> {
        let others = self.live & !self.current.mask;
        // The topmost split with a lane is the one that the lane really is in.
        let waiting = self.stack.iter().rev().find(|split| split.mask & others != 0);
        waiting.or(self.others.first().map(|subwarp| &subwarp.current)).map(|split| split.pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(mask: u32) -> Warp {
        let mut warp = Warp::new(&Program::default(), Unwritten::Ones);
        warp.restart(&Registers::default(), 0, mask);
        warp
    }

    #[test]
    fn both_sides_run_and_meet() {
        let mut warp = warp(0b1111);
        warp.current.pc = 5;
        warp.diverge(0b0011, 9, 12);
        assert_eq!(warp.current, StackEntry { pc: 9, join: 12, mask: 0b0011 });
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 6, join: 12, mask: 0b1100 });
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 12, join: NO_PC, mask: 0b1111 });
    }

    #[test]
    fn a_loop_does_not_grow_the_stack() {
        let mut warp = warp(u32::MAX);
        // Lane after lane leaves a loop at 7 for 8, where all meet.
        for lane in 0..31 {
            warp.current.pc = 7;
            let staying = warp.current.mask & !(1 << lane);
            warp.diverge(staying, 3, 8);
            assert_eq!(warp.current.mask, staying);
            assert_eq!(warp.stack.len(), 1);
        }
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 8, join: NO_PC, mask: u32::MAX });
    }

    #[test]
    fn ended_lanes_do_not_come_back() {
        let mut warp = warp(0b11);
        warp.diverge(0b01, 9, 12);
        assert!(warp.exit(0b01));
        assert_eq!(warp.current.mask, 0b10);
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 12, join: NO_PC, mask: 0b10 });
        assert!(!warp.exit(0b10));
        assert_eq!(warp.status, WarpStatus::Done);
    }
}
