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
use crate::machine::warp::simt_stack::StackEntry;
use crate::program::code::Program;

/// Instructions before the first look at a program that has loops which may wait for others, and at any other.
pub(super) const FIRST_PROBE: (u64, u64) = (1 << 9, 1 << 14);
/// Instructions between two looks at most.
const LONGEST_INTERVAL: u64 = 1 << 17;
/// Instructions between two looks at a warp in which lanes have been found to spin.
pub(super) const SHORT_INTERVAL: u64 = 1 << 6;
/// Instructions that one look may take.
const PROBE_LENGTH: u64 = 1 << 11;
/// Instructions of one part of a warp before another gets its turn.
const SUBWARP_SLICE: u64 = 1 << 9;
/// Turns in which a warp does nothing but spin before its lanes part, though other warps of the block have something to do.
const IDLE_ROUNDS: u32 = 8;
/// Instructions after which lanes spin that have seen nothing new, though their registers change.
pub(super) const UNCHANGED_LIMIT: u64 = 1 << 13;

/// When to look, and what is kept.
#[derive(Clone, Debug)]
pub(crate) struct SpinDetector {
    pub(super) first: u64,
    pub(super) interval: u64,
    /// Instructions of the warp when the next look begins.
    pub next_probe: u64,
    /// Instructions of the warp when the turn of the running part ends.
    pub subwarp_slice_end: u64,
    /// Instructions of the warp when, at the next branch, any of this is due.
    pub next_check: u64,
    pub probe: Option<Box<SpinProbe>>,
    /// Turns in a row in which parts did nothing but spin.
    pub idle: usize,
    /// Lanes that wait may part from those that spin.
    pub may_split: bool,
    /// How often in a row the warp has done nothing but spin.
    pub(super) idle_rounds: u32,
    /// Lanes that have seen nothing new since so many instructions of the warp.
    pub(super) unchanged_since: Option<(u32, u64)>,
}

/// A byte of memory: window, lane (in local memory), address.
pub(super) type Byte = (Window, u8, u64);

/// What a lane found with an access by which it may wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PolledValue {
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
pub(crate) struct SpinProbe {
    current: StackEntry,
    stack: Vec<StackEntry>,
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
    pub polled: HashMap<Pc, Vec<PolledValue>>,
    /// One of them found something else than before, or something happened that nobody keeps track of.
    pub news: bool,
    /// Each of `polled` was found again at least once.
    pub again: bool,
    pub lost: bool,
}

/// What a look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpinVerdict {
    /// Nothing yet.
    Undecided,
    /// These lanes spin, and this is what they look at.
    Spinning(u32, Vec<PolledValue>),
    /// They do not.
    Busy,
}

impl SpinDetector {
    pub fn new(program: &Program) -> Self {
        let polls = program.code.iter().any(|instr| match &instr.op {
            Op::Load(address, _) => address.strong,
            Op::Atom(atom) => atom.dst != Slot::Sink,
            _ => false,
        });
        let first = if polls { FIRST_PROBE.0 } else { FIRST_PROBE.1 };
        let mut spin = Self {
            first,
            interval: first,
            next_probe: 0,
            subwarp_slice_end: 0,
            next_check: 0,
            probe: None,
            idle: 0,
            may_split: false,
            idle_rounds: 0,
            unchanged_since: None,
        };
        spin.restart();
        spin
    }

    /// A warp begins.
    pub fn restart(&mut self) {
        self.interval = self.first;
        self.next_probe = self.first;
        self.subwarp_slice_end = u64::MAX;
        self.probe = None;
        self.idle = 0;
        self.may_split = false;
        self.idle_rounds = 0;
        self.unchanged_since = None;
    }

    /// The warp has done nothing but spin, and others get their turn. When that has not helped for a while, it must help itself.
    pub fn note_idle_round(&mut self) {
        self.idle_rounds += 1;
        self.may_split |= self.idle_rounds >= IDLE_ROUNDS;
    }

    /// Another part runs.
    pub fn switch_subwarp(&mut self, executed: u64) {
        self.probe = None;
        self.subwarp_slice_end = executed + SUBWARP_SLICE;
        self.next_probe = executed + SHORT_INTERVAL;
        self.next_check = 0;
    }

    /// After a look that showed lanes at work.
    pub(super) fn note_progress(&mut self, executed: u64) {
        self.probe = None;
        self.idle_rounds = 0;
        self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
        self.next_probe = executed + self.interval;
    }

    /// After a look that showed lanes that spin.
    pub fn note_spinning(&mut self, executed: u64) {
        self.probe = None;
        self.interval = SHORT_INTERVAL;
        self.next_probe = executed + SHORT_INTERVAL;
        self.unchanged_since = None;
    }
}

impl SpinProbe {
    /// Keeps how the running lanes are when a warp has executed so many instructions.
    pub(super) fn new(
        current: StackEntry,
        stack: &[StackEntry],
        registers: &Registers,
        executed: u64,
    ) -> Self {
        Self {
            current,
            stack: stack.to_vec(),
            registers: registers.clone(),
            bytes: HashMap::new(),
            ran: current.mask,
            ran_at_all: current.mask,
            branches: 0,
            end: executed + PROBE_LENGTH,
            polled: HashMap::new(),
            news: false,
            again: false,
            lost: false,
        }
    }

    /// Whether registers and places are those that were kept.
    pub(super) fn is_back(
        &self,
        current: StackEntry,
        stack: &[StackEntry],
        registers: &Registers,
    ) -> bool {
        let kept = &self.registers;
        self.current == current
            && self.stack == stack
            && kept.p == registers.p
            && kept.carry == registers.carry
            && kept.r == registers.r
            && kept.q == registers.q
    }

    /// Keeps how things are now.
    pub(super) fn keep(
        &mut self,
        current: StackEntry,
        stack: &[StackEntry],
        registers: &Registers,
    ) {
        self.current = current;
        self.stack.clear();
        self.stack.extend_from_slice(stack);
        self.registers.reset_from(registers);
        self.bytes.clear();
        self.ran = current.mask;
        self.lost = false;
    }
}
