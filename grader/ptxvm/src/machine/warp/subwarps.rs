//! Parts of a warp that go their own way ("Independent Thread Scheduling", CUDA C++ Programming Guide).
//!
//! Most warps have one part: lanes wait where branches meet until all of them have come. That is not enough where lanes wait for
//! each other: a lane that spins until another one has left a lock keeps that one from going on to leave it. Then the warp falls
//! apart: those that spin and those that waited for them are parts with stacks of their own, which take turns. A part that comes
//! to a place where another one will come waits there, and both are one again; so are parts that meet at the same
//! instruction.

use super::subwarp::{Part, State, absorb, lanes_of, same_place, will_come};
use crate::isa::names::Pc;
use crate::machine::warp::split::{Split, Status};
use crate::machine::warp::state::Warp;

impl Warp {
    /// Lanes of the running part.
    pub fn part(&self) -> u32 {
        lanes_of(self.now, &self.stack)
    }

    /// After all lanes of the running part have come to a place where branches meet: true if they go on, and false if they wait
    /// for another part that will come there.
    pub fn arrive(&mut self) -> bool {
        let (now, stack) = (self.now, &self.stack);
        let here = |part: &Part| part.state == State::AtJoin && same_place(now, stack, part);
        if let Some(index) = self.others.iter().position(here) {
            self.absorb(index);
        }
        let comes = self.others.iter().any(|part| will_come(part, self.now, &self.stack));
        if comes {
            self.put_aside(State::AtJoin);
        }
        !comes
    }

    /// The running part takes in another one.
    fn absorb(&mut self, index: usize) {
        let part = self.others.remove(index);
        absorb(&mut self.now, &mut self.stack, &part);
    }

    /// The running part stops; another one, or the same again, has to be taken up.
    pub fn put_aside(&mut self, state: State) {
        let part = Part { now: self.now, stack: std::mem::take(&mut self.stack), state };
        self.now.mask = 0;
        self.add_part(part);
    }

    /// Adds a part that does not run; one that is at the same place takes it in.
    pub fn add_part(&mut self, part: Part) {
        let same = |other: &&mut Part| {
            other.state == part.state && same_place(part.now, &part.stack, other)
        };
        match self.others.iter_mut().find(same) {
            Some(other) => absorb(&mut other.now, &mut other.stack, &part),
            None => self.others.push(part),
        }
    }

    /// Takes lanes out of the running part. None of them has a place above the running split.
    pub fn split_off(&mut self, mask: u32) -> Part {
        let take = |split: &mut Split| {
            let taken = Split { mask: split.mask & mask, ..*split };
            split.mask &= !mask;
            taken
        };
        let now = take(&mut self.now);
        let stack = self.stack.iter_mut().map(take).collect();
        Part { now, stack, state: State::Ready }
    }

    /// Lanes of the running part that wait become a part of their own, which goes on from where they wait.
    pub fn let_go(&mut self, waiting: u32) {
        let mut part = self.split_off(waiting);
        while part.now.mask == 0 {
            let Some(split) = part.stack.pop() else { return };
            part.now = split;
        }
        self.add_part(part);
    }

    /// Takes up a part, after the running one was put aside or has ended.
    pub fn take_up(&mut self, index: usize) {
        let part = self.others.remove(index);
        (self.now, self.stack) = (part.now, part.stack);
        self.status = Status::Ready;
    }

    /// The first part that can go on. Parts that wait where branches meet can if nobody else comes there any more.
    pub fn next_ready(&self) -> Option<usize> {
        self.others.iter().position(|part| match part.state {
            State::Ready => true,
            State::AtJoin => {
                !self.others.iter().any(|other| will_come(other, part.now, &part.stack))
            }
            State::AtMembers(_) | State::AtBarrier => false,
        })
    }

    /// Lets the parts that wait for others where branches meet go on without them. False if there is none.
    pub fn let_parked_go(&mut self) -> bool {
        let mut any = false;
        for part in &mut self.others {
            any |= part.state == State::AtJoin;
            if part.state == State::AtJoin {
                part.state = State::Ready;
            }
        }
        any
    }

    /// Whether some of these lanes are on a way of their own, so that they may come to where the running part is: in another part,
    /// or in the other side of a branch.
    pub fn may_come(&self, lanes: u32) -> bool {
        if self.others.iter().any(|part| part.lanes() & lanes != 0) {
            return true;
        }
        let mut above = self.now.mask;
        let mut join = self.now.join;
        for split in self.stack.iter().rev() {
            if split.pc != join && split.mask & !above & lanes != 0 {
                return true;
            }
            above |= split.mask;
            join = split.join;
        }
        false
    }

    /// Lanes that wait at an operation for all lanes, the same one.
    pub fn at_barrier(&self, pc: Pc) -> u32 {
        let there = |part: &&Part| part.state == State::AtBarrier && part.now.pc == pc;
        self.others.iter().filter(there).fold(0, |all, part| all | part.now.mask)
    }

    /// All lanes have come to the operation at `pc`, where the running part is. Parts with another way before them go on from the
    /// next instruction by themselves.
    pub fn gather(&mut self, pc: Pc) {
        let mut index = 0;
        while index < self.others.len() {
            let part = &self.others[index];
            if part.state != State::AtBarrier || part.now.pc != pc {
                index += 1;
            } else if same_place(self.now, &self.stack, part) {
                self.absorb(index);
            } else {
                let part = &mut self.others[index];
                self.guests |= part.now.mask;
                part.now.pc = pc + 1;
                part.state = State::Ready;
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
    use crate::program::code::Program;

    /// Lanes 0 and 1 spin at 3, and lanes 2 and 3 wait for them behind the loop, at 8.
    fn spinning() -> Warp {
        let mut warp = Warp::new(&Program::default());
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.now.pc = 7;
        warp.diverge(0b0011, 3, 8);
        assert_eq!(warp.now, Split { pc: 3, join: 8, mask: 0b0011 });
        warp
    }

    #[test]
    fn those_that_wait_go_on_and_meet_the_others_later() {
        let mut warp = spinning();
        warp.let_go(0b1100);
        assert_eq!(warp.part(), 0b0011);
        warp.put_aside(State::Ready);
        warp.take_up(0);
        assert_eq!(warp.now, Split { pc: 8, join: NO_PC, mask: 0b1100 });
        // They branch; lane 2 comes to the end of the branch, and lane 3 as well.
        warp.diverge(0b0100, 11, 12);
        assert!(warp.pop());
        assert!(warp.pop());
        assert_eq!(warp.now, Split { pc: 12, join: NO_PC, mask: 0b1100 });
        // The others never come to 12 by a branch of theirs, but end: nobody is lost.
        assert!(!warp.exit(0b1100));
        warp.take_up(0);
        assert_eq!(warp.now.mask, 0b0011);
        assert!(warp.pop());
        assert_eq!(warp.now, Split { pc: 8, join: NO_PC, mask: 0b0011 });
    }

    #[test]
    fn a_part_waits_where_another_will_come() {
        let mut warp = Warp::new(&Program::default());
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.now.pc = 5;
        // Lane 3 skips a branch that ends at 20. In it lanes 0 and 1 spin up to 8.
        warp.diverge(0b1000, 20, 20);
        warp.now.pc = 7;
        warp.diverge(0b0011, 6, 8);
        warp.let_go(0b1100);
        warp.put_aside(State::Ready);
        warp.take_up(0);
        assert_eq!(warp.now, Split { pc: 8, join: 20, mask: 0b0100 });
        assert!(!warp.pop());
        assert_eq!(warp.next_ready(), Some(0));
        warp.take_up(0);
        assert!(warp.pop());
        assert_eq!(warp.now, Split { pc: 8, join: 20, mask: 0b0011 });
        assert!(warp.pop());
        assert_eq!(warp.now, Split { pc: 20, join: NO_PC, mask: 0b1111 });
        assert!(warp.others.is_empty());
    }

    #[test]
    fn nobody_waits_for_lanes_that_have_ended() {
        let mut warp = spinning();
        warp.stack[0].join = 30;
        warp.stack.insert(0, Split { pc: 30, join: NO_PC, mask: 0b1111 });
        warp.let_go(0b1100);
        warp.put_aside(State::Ready);
        warp.take_up(0);
        assert_eq!(warp.now.pc, 8);
        assert!(!warp.pop());
        warp.take_up(0);
        assert!(!warp.exit(0b0011));
        assert_eq!(warp.next_ready(), Some(0));
    }

    #[test]
    fn the_other_side_of_a_branch_may_come() {
        let mut warp = Warp::new(&Program::default());
        warp.restart(&Registers::default(), 0, 0b1111);
        warp.diverge(0b0011, 9, 12);
        assert!(warp.may_come(0b0100));
        assert!(!warp.may_come(0b0001));
        let mut warp = spinning();
        assert!(!warp.may_come(0b0100));
        warp.let_go(0b1100);
        assert!(warp.may_come(0b0100));
    }
}
