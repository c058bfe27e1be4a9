//! Subwarps: parts of a warp that are scheduled independently ("Independent Thread Scheduling", CUDA C++ Programming Guide).
//!
//! Most warps are one subwarp: after a branch, lanes wait at its reconvergence point until all of them have arrived. That is
//! not enough where lanes wait for each other: a lane that spins on a lock keeps the lane that holds it from going on to
//! release it. Then the warp is split: the lanes that spin and those that waited for them become subwarps with SIMT stacks of
//! their own, which take turns. A subwarp that arrives at a reconvergence point which another one will reach waits there, and
//! the two are merged; so are subwarps that arrive at the same instruction.

use super::subwarp::{Subwarp, SubwarpState, lanes_of, merge, same_position, will_reach};
use crate::isa::names::Pc;
use crate::machine::warp::Warp;
use crate::machine::warp::simt_stack::{StackEntry, WarpStatus};

impl Warp {
    /// The lanes of the running subwarp.
    pub fn subwarp(&self) -> u32 {
        lanes_of(self.current, &self.stack)
    }

    /// All lanes of the running subwarp have arrived at a reconvergence point: true if they go on, false if they wait for another
    /// subwarp that will reach it.
    pub fn arrive(&mut self) -> bool {
        let (current, stack) = (self.current, &self.stack);
        let here = |subwarp: &Subwarp| {
            subwarp.state == SubwarpState::AtJoin && same_position(current, stack, subwarp)
        };
        if let Some(index) = self.others.iter().position(here) {
            self.merge(index);
        }
        let comes =
            self.others.iter().any(|subwarp| will_reach(subwarp, self.current, &self.stack));
        if comes {
            self.suspend(SubwarpState::AtJoin);
        }
        !comes
    }

    /// Merges another subwarp into the running one.
    fn merge(&mut self, index: usize) {
        let subwarp = self.others.remove(index);
        merge(&mut self.current, &mut self.stack, &subwarp);
    }

    /// Suspends the running subwarp; another one, or the same, has to be resumed.
    pub fn suspend(&mut self, state: SubwarpState) {
        let subwarp =
            Subwarp { current: self.current, stack: std::mem::take(&mut self.stack), state };
        self.current.mask = 0;
        self.add_subwarp(subwarp);
    }

    /// Adds a suspended subwarp, or merges it into one at the same position.
    pub fn add_subwarp(&mut self, subwarp: Subwarp) {
        let same = |other: &&mut Subwarp| {
            other.state == subwarp.state && same_position(subwarp.current, &subwarp.stack, other)
        };
        match self.others.iter_mut().find(same) {
            Some(other) => merge(&mut other.current, &mut other.stack, &subwarp),
            None => self.others.push(subwarp),
        }
    }

    /// Splits lanes off the running subwarp. None of them may be above the running stack entry.
    pub fn split_off(&mut self, mask: u32) -> Subwarp {
        let take = |split: &mut StackEntry| {
            let taken = StackEntry { mask: split.mask & mask, ..*split };
            split.mask &= !mask;
            taken
        };
        let current = take(&mut self.current);
        let stack = self.stack.iter_mut().map(take).collect();
        Subwarp { current, stack, state: SubwarpState::Ready }
    }

    /// Makes waiting lanes of the running subwarp a subwarp of their own, which goes on from where they wait.
    pub fn split_off_waiting(&mut self, waiting: u32) {
        let mut subwarp = self.split_off(waiting);
        while subwarp.current.mask == 0 {
            let Some(split) = subwarp.stack.pop() else { return };
            subwarp.current = split;
        }
        self.add_subwarp(subwarp);
    }

    /// Resumes a subwarp, after the running one was suspended or has exited.
    pub fn resume_subwarp(&mut self, index: usize) {
        let subwarp = self.others.remove(index);
        (self.current, self.stack) = (subwarp.current, subwarp.stack);
        self.status = WarpStatus::Ready;
    }

    /// The first subwarp that can run. One that waits at a reconvergence point can, if no other will reach that point.
    pub fn next_ready(&self) -> Option<usize> {
        self.others.iter().position(|subwarp| match subwarp.state {
            SubwarpState::Ready => true,
            SubwarpState::AtJoin => {
                !self.others.iter().any(|other| will_reach(other, subwarp.current, &subwarp.stack))
            }
            SubwarpState::AtMembers(_) | SubwarpState::AtBarrier => false,
        })
    }

    /// Lets the subwarps that wait at reconvergence points go on without the others. False if there is none.
    pub fn release_joins(&mut self) -> bool {
        let mut any = false;
        for subwarp in &mut self.others {
            any |= subwarp.state == SubwarpState::AtJoin;
            if subwarp.state == SubwarpState::AtJoin {
                subwarp.state = SubwarpState::Ready;
            }
        }
        any
    }

    /// Whether some of these lanes may still arrive where the running subwarp is: they are in another subwarp, or on the other
    /// side of a branch.
    pub fn may_arrive(&self, lanes: u32) -> bool {
        if self.others.iter().any(|subwarp| subwarp.lanes() & lanes != 0) {
            return true;
        }
        let mut above = self.current.mask;
        let mut join = self.current.join;
        for split in self.stack.iter().rev() {
            if split.pc != join && split.mask & !above & lanes != 0 {
                return true;
            }
            above |= split.mask;
            join = split.join;
        }
        false
    }

    /// The lanes that wait at the operation at `pc`, which is for all lanes.
    pub fn at_barrier(&self, pc: Pc) -> u32 {
        let there = |subwarp: &&Subwarp| {
            subwarp.state == SubwarpState::AtBarrier && subwarp.current.pc == pc
        };
        self.others.iter().filter(there).fold(0, |all, subwarp| all | subwarp.current.mask)
    }

    /// All lanes have arrived at the operation at `pc`, where the running subwarp is. Subwarps with another stack go on from the
    /// next instruction by themselves.
    pub fn converge(&mut self, pc: Pc) {
        let mut index = 0;
        while index < self.others.len() {
            let subwarp = &self.others[index];
            if subwarp.state != SubwarpState::AtBarrier || subwarp.current.pc != pc {
                index += 1;
            } else if same_position(self.current, &self.stack, subwarp) {
                self.merge(index);
            } else {
                let subwarp = &mut self.others[index];
                self.guests |= subwarp.current.mask;
                subwarp.current.pc = pc + 1;
                subwarp.state = SubwarpState::Ready;
                index += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::names::NO_PC;
    use crate::machine::registers::Registers;
    use crate::memory::unwritten::Unwritten;
    use crate::program::code::Program;

    /// Lanes 0 and 1 spin at 3, and lanes 2 and 3 wait for them behind the loop, at 8.
    fn spinning() -> Warp {
        let mut warp = Warp::new(&Program::default(), Unwritten::Ones);
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.current.pc = 7;
        warp.diverge(0b0011, 3, 8);
        assert_eq!(warp.current, StackEntry { pc: 3, join: 8, mask: 0b0011 });
        warp
    }

    #[test]
    fn those_that_wait_go_on_and_meet_the_others_later() {
        let mut warp = spinning();
        warp.split_off_waiting(0b1100);
        assert_eq!(warp.subwarp(), 0b0011);
        warp.suspend(SubwarpState::Ready);
        warp.resume_subwarp(0);
        assert_eq!(warp.current, StackEntry { pc: 8, join: NO_PC, mask: 0b1100 });
        // They branch; lane 2 comes to the end of the branch, and lane 3 as well.
        warp.diverge(0b0100, 11, 12);
        assert!(warp.pop());
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 12, join: NO_PC, mask: 0b1100 });
        // The others never come to 12 by a branch of theirs, but end: nobody is lost.
        assert!(!warp.exit(0b1100));
        warp.resume_subwarp(0);
        assert_eq!(warp.current.mask, 0b0011);
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 8, join: NO_PC, mask: 0b0011 });
    }

    #[test]
    fn a_part_waits_where_another_will_come() {
        let mut warp = Warp::new(&Program::default(), Unwritten::Ones);
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.current.pc = 5;
        // Lane 3 skips a branch that ends at 20. In it lanes 0 and 1 spin up to 8.
        warp.diverge(0b1000, 20, 20);
        warp.current.pc = 7;
        warp.diverge(0b0011, 6, 8);
        warp.split_off_waiting(0b1100);
        warp.suspend(SubwarpState::Ready);
        warp.resume_subwarp(0);
        assert_eq!(warp.current, StackEntry { pc: 8, join: 20, mask: 0b0100 });
        assert!(!warp.pop());
        assert_eq!(warp.next_ready(), Some(0));
        warp.resume_subwarp(0);
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 8, join: 20, mask: 0b0011 });
        assert!(warp.pop());
        assert_eq!(warp.current, StackEntry { pc: 20, join: NO_PC, mask: 0b1111 });
        assert!(warp.others.is_empty());
    }

    #[test]
    fn nobody_waits_for_lanes_that_have_ended() {
        let mut warp = spinning();
        warp.stack[0].join = 30;
        warp.stack.insert(0, StackEntry { pc: 30, join: NO_PC, mask: 0b1111 });
        warp.split_off_waiting(0b1100);
        warp.suspend(SubwarpState::Ready);
        warp.resume_subwarp(0);
        assert_eq!(warp.current.pc, 8);
        assert!(!warp.pop());
        warp.resume_subwarp(0);
        assert!(!warp.exit(0b0011));
        assert_eq!(warp.next_ready(), Some(0));
    }

    #[test]
    fn the_other_side_of_a_branch_may_come() {
        let mut warp = Warp::new(&Program::default(), Unwritten::Ones);
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.diverge(0b0011, 9, 12);
        assert!(warp.may_arrive(0b0100));
        assert!(!warp.may_arrive(0b0001));
        let mut warp = spinning();
        assert!(!warp.may_arrive(0b0100));
        warp.split_off_waiting(0b1100);
        assert!(warp.may_arrive(0b0100));
    }
}
