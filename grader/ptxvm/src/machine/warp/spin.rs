//! Tells whether the lanes that run spin: whether they go around a loop with nothing changing, so that they wait for somebody else.
//!
//! Once in a while the registers are kept, and what lies where the lanes then write. If they come back to the same
//! instruction with the same values in registers and memory, they will do so again until another thread changes what they look at.
//! Loops that count, or look at a clock, never come back to the same values. They spin if all that they look at with volatile,
//! relaxed or atomic accesses stays the same for a long time.

use std::collections::HashMap;

use crate::isa::ir::Op;
use crate::isa::names::{Pc, Slot};
use crate::isa::window::Window;
use crate::machine::registers::Registers;
use crate::machine::warp::split::Split;
use crate::program::code::Program;

/// Instructions before the first look at a program that has loops which may wait for others, and at any other.
pub(super) const FIRST: (u64, u64) = (1 << 9, 1 << 14);
/// Instructions between two looks at most.
const LONGEST: u64 = 1 << 17;
/// Instructions between two looks at a warp in which lanes have been found to spin.
pub(super) const SHORT: u64 = 1 << 6;
/// Instructions that one look may take.
const LOOK: u64 = 1 << 11;
/// Instructions of one part of a warp before another gets its turn.
const PART_TURN: u64 = 1 << 9;
/// Turns in which a warp does nothing but spin before its lanes part, though other warps of the block have something to do.
const RESTS: u32 = 8;
/// Instructions after which lanes spin that have seen nothing new, though their registers change.
pub(super) const PATIENCE: u64 = 1 << 13;

/// When to look, and what is kept.
#[derive(Clone, Debug)]
pub(crate) struct Spin {
    pub(super) first: u64,
    pub(super) interval: u64,
    /// Instructions of the warp when the next look begins.
    pub look_at: u64,
    /// Instructions of the warp when the turn of the running part ends.
    pub turn_end: u64,
    /// Instructions of the warp when, at the next branch, any of this is due.
    pub next_turn: u64,
    pub watch: Option<Box<Watch>>,
    /// Turns in a row in which parts did nothing but spin.
    pub idle: usize,
    /// Lanes that wait may part from those that spin.
    pub may_part: bool,
    /// How often in a row the warp has done nothing but spin.
    pub(super) rests: u32,
    /// Lanes that have seen nothing new since so many instructions of the warp.
    pub(super) bored: Option<(u32, u64)>,
}

/// A byte of memory: window, lane (in local memory), address.
pub(super) type Byte = (Window, u8, u64);

/// What a lane found with an access by which it may wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    /// Index in the block.
    pub warp: u32,
    pub lane: u8,
    pub window: Window,
    pub address: u64,
    /// Bytes.
    pub size: u32,
    pub value: u64,
}

/// What is kept for one look.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    now: Split,
    stack: Vec<Split>,
    registers: Registers,
    /// What lay where something was written since.
    pub bytes: HashMap<Byte, u8>,
    /// Lanes that ran since, and those that ran in the whole look.
    pub(super) ran: u32,
    pub(super) ran_at_all: u32,
    /// Branches in the whole look.
    pub(super) branches: u32,
    pub(super) end: u64,
    /// What volatile accesses and atomics found, by instruction, each time the same.
    pub polled: HashMap<Pc, Vec<Polled>>,
    /// One of them found something else than before, or something happened that nobody keeps track of.
    pub news: bool,
    /// Each of `polled` was found again at least once.
    pub again: bool,
    pub lost: bool,
}

/// What a look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing yet.
    Nothing,
    /// These lanes spin, and this is what they look at.
    Spinning(u32, Vec<Polled>),
    /// They do not.
    Busy,
}

impl Spin {
    pub fn new(program: &Program) -> Self {
        let polls = program.code.iter().any(|instr| match &instr.op {
            Op::Load(address, _) => address.strong,
            Op::Atom(atom) => atom.dst != Slot::Sink,
            _ => false,
        });
        let first = if polls { FIRST.0 } else { FIRST.1 };
        let mut spin = Self {
            first,
            interval: first,
            look_at: 0,
            turn_end: 0,
            next_turn: 0,
            watch: None,
            idle: 0,
            may_part: false,
            rests: 0,
            bored: None,
        };
        spin.restart();
        spin
    }

    /// A warp begins.
    pub fn restart(&mut self) {
        self.interval = self.first;
        self.look_at = self.first;
        self.turn_end = u64::MAX;
        self.watch = None;
        self.idle = 0;
        self.may_part = false;
        self.rests = 0;
        self.bored = None;
    }

    /// The warp has done nothing but spin, and others get their turn. When that has not helped for a while, it must help itself.
    pub fn rested(&mut self) {
        self.rests += 1;
        self.may_part |= self.rests >= RESTS;
    }

    /// Another part runs.
    pub fn change(&mut self, executed: u64) {
        self.watch = None;
        self.turn_end = executed + PART_TURN;
        self.look_at = executed + SHORT;
        self.next_turn = 0;
    }

    /// After a look that showed lanes at work.
    pub(super) fn rest(&mut self, executed: u64) {
        self.watch = None;
        self.rests = 0;
        self.interval = (self.interval * 2).min(LONGEST);
        self.look_at = executed + self.interval;
    }

    /// After a look that showed lanes that spin.
    pub fn found(&mut self, executed: u64) {
        self.watch = None;
        self.interval = SHORT;
        self.look_at = executed + SHORT;
        self.bored = None;
    }
}

impl Watch {
    /// Keeps how the running lanes are when a warp has executed so many instructions.
    pub(super) fn new(now: Split, stack: &[Split], registers: &Registers, executed: u64) -> Self {
        Self {
            now,
            stack: stack.to_vec(),
            registers: registers.clone(),
            bytes: HashMap::new(),
            ran: now.mask,
            ran_at_all: now.mask,
            branches: 0,
            end: executed + LOOK,
            polled: HashMap::new(),
            news: false,
            again: false,
            lost: false,
        }
    }

    /// Whether registers and places are those that were kept.
    pub(super) fn is_back(&self, now: Split, stack: &[Split], registers: &Registers) -> bool {
        let kept = &self.registers;
        self.now == now
            && self.stack == stack
            && kept.p == registers.p
            && kept.carry == registers.carry
            && kept.r == registers.r
            && kept.q == registers.q
    }

    /// Keeps how things are now.
    pub(super) fn keep(&mut self, now: Split, stack: &[Split], registers: &Registers) {
        self.now = now;
        self.stack.clear();
        self.stack.extend_from_slice(stack);
        self.registers.reset_from(registers);
        self.bytes.clear();
        self.ran = now.mask;
        self.lost = false;
    }
}
