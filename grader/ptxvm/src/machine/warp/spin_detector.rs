//! Detects spinning lanes: lanes that go around a loop without changing anything, so that they wait for another thread.
//!
//! From time to time a probe saves the registers, and the old contents of whatever memory the lanes then write. If they
//! return to the same instruction with the same registers and memory, they will repeat this until another thread changes what
//! they read: a cycle in the sense of Brent ("An Improved Monte Carlo Factorization Algorithm", 1980), whose algorithm finds
//! it. Loops that count, or read a clock, never return to the same state. They spin if all that they read by volatile,
//! relaxed or atomic accesses stays the same for a long time, or if they read a clock and then that again: so does a wait with a time
//! limit, like that of `cuda::barrier`.

use std::collections::HashMap;

use crate::isa::ir::Op;
use crate::isa::names::{Pc, Slot};
use crate::isa::window::Window;
use crate::machine::registers::Registers;
use crate::machine::warp::simt_stack::StackEntry;
use crate::program::code::Program;

/// Instructions before the first probe: of a program with loops that may wait for others, and of any other.
pub(super) const FIRST_PROBE: (u64, u64) = (1 << 9, 1 << 14);
/// Instructions between two probes at most.
const LONGEST_INTERVAL: u64 = 1 << 17;
/// Instructions between two probes of a warp in which lanes have been found to spin.
pub(super) const SHORT_INTERVAL: u64 = 1 << 6;
/// Instructions that one probe may take.
const PROBE_LENGTH: u64 = 1 << 11;
/// Instructions of one subwarp before another one runs.
const SUBWARP_SLICE: u64 = 1 << 9;
/// Time slices in which a warp does nothing but spin before it may be split, though other warps of the block can run.
const IDLE_ROUNDS: u32 = 8;
/// Instructions after which lanes count as spinning that have read nothing new, though their registers change.
pub(super) const UNCHANGED_LIMIT: u64 = 1 << 13;

/// When a warp is probed next, and the probe that is under way.
#[derive(Clone, Debug)]
pub(crate) struct SpinDetector {
    pub(super) first: u64,
    pub(super) interval: u64,
    /// The instruction count of the warp at which the next probe begins.
    pub next_probe: u64,
    /// The instruction count of the warp at which the slice of the running subwarp ends.
    pub subwarp_slice_end: u64,
    /// The instruction count of the warp from which on the next branch checks any of this.
    pub next_check: u64,
    pub probe: Option<Box<SpinProbe>>,
    /// How many slices in a row the subwarps did nothing but spin.
    pub idle: usize,
    /// Whether waiting lanes may be split off from those that spin.
    pub may_split: bool,
    /// How often in a row the warp has done nothing but spin.
    pub(super) idle_rounds: u32,
    /// Lanes that have read nothing new, and the instruction count of the warp since which that is so.
    pub(super) unchanged_since: Option<(u32, u64)>,
    /// What lanes have read that were found to spin although their registers change. If they read there again and again and get
    /// the same value, they spin again: that need not be found out anew each time it is their turn, or for each round that they
    /// wait for.
    known: Vec<PolledValue>,
    /// If the warp did nothing but spin in its last turn: how many turns it has left to others since.
    pub rested: Option<u32>,
}

/// A byte of memory: its window, the lane (in local memory), and its address.
pub(super) type Byte = (Window, u8, u64);

/// A value that a lane has read by an access that may wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PolledValue {
    /// Index in the block.
    pub warp: u32,
    pub lane: u8,
    pub window: Window,
    pub address: u64,
    /// Size of the access in bytes.
    pub size: u32,
    pub value: u64,
}

impl PolledValue {
    fn same_place(&self, other: &Self) -> bool {
        let place = |value: &Self| (value.lane, value.window, value.address, value.size);
        place(self) == place(other)
    }
}

/// Whether an access has read the same values again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repeated {
    No,
    Yes,
    /// After the lanes have read a clock.
    AfterClock,
}

/// One probe: a saved state of the running lanes, to which they may return.
#[derive(Clone, Debug)]
pub(crate) struct SpinProbe {
    current: StackEntry,
    stack: Vec<StackEntry>,
    registers: Registers,
    /// The old values of all bytes that were written since the state was saved.
    pub bytes: HashMap<Byte, u8>,
    /// Lanes that have run since the state was saved, and those that have run in the whole probe.
    pub(super) ran: u32,
    pub(super) ran_at_all: u32,
    /// Branches executed during the probe.
    pub(super) branches: u32,
    pub(super) end: u64,
    /// What volatile accesses and atomics have read, by instruction, as long as it stays the same.
    pub polled: HashMap<Pc, Vec<PolledValue>>,
    /// One of them has read another value than before.
    pub news: bool,
    /// Whether one of them has read the same values again.
    pub repeated: Repeated,
    /// The lanes have read a clock.
    pub clock: bool,
    pub lost: bool,
}

/// What a probe has shown so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpinVerdict {
    /// The probe goes on.
    Undecided,
    /// These lanes spin, and these are the values that they poll.
    Spinning(u32, Vec<PolledValue>),
    /// The lanes make progress.
    Busy,
}

impl SpinDetector {
    pub fn new(program: &Program) -> Self {
        let polls = program.code.iter().any(|instr| match &instr.op {
            Op::Load(address, _) => address.marks.strength.is_marked(),
            Op::Atom(atom) => atom.dst != Slot::Sink,
            Op::WideAtom(_) => true,
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
            known: Vec::new(),
            rested: None,
        };
        spin.restart();
        spin
    }

    /// Forgets everything, for the warp of a new block.
    pub fn restart(&mut self) {
        self.interval = self.first;
        self.next_probe = self.first;
        self.subwarp_slice_end = u64::MAX;
        self.probe = None;
        self.idle = 0;
        self.may_split = false;
        self.idle_rounds = 0;
        self.unchanged_since = None;
        self.known.clear();
        self.rested = None;
    }

    /// Notes that the warp has done nothing but spin in its slice. If others have not helped for a while, it may be split.
    pub fn note_idle_round(&mut self) {
        self.idle_rounds += 1;
        self.may_split |= self.idle_rounds >= IDLE_ROUNDS;
    }

    /// Ends the probe, because another subwarp runs from here on.
    pub fn switch_subwarp(&mut self, executed: u64) {
        self.probe = None;
        self.subwarp_slice_end = executed + SUBWARP_SLICE;
        self.next_probe = executed + SHORT_INTERVAL;
        self.next_check = 0;
    }

    /// Ends a probe that has shown progress: the next one comes later.
    pub(super) fn note_progress(&mut self, executed: u64) {
        self.probe = None;
        self.idle_rounds = 0;
        self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
        self.next_probe = executed + self.interval;
    }

    /// Remembers what spinning lanes have read, in the place of what those lanes read before.
    pub(super) fn remember(&mut self, polled: &[PolledValue]) {
        let lanes = polled.iter().fold(0u32, |lanes, value| lanes | 1 << (value.lane % 32));
        self.known.retain(|old| lanes >> (old.lane % 32) & 1 == 0);
        self.known.extend_from_slice(polled);
    }

    /// Whether lanes that were found to spin read at the same places again, nothing else, and nothing new.
    pub(super) fn still_spins(&self, probe: &SpinProbe) -> bool {
        let is_known = |value: &PolledValue| self.known.iter().any(|old| old.same_place(value));
        probe.reads_nothing_new() && probe.polled.values().flatten().all(is_known)
    }

    /// The verdict on lanes that spin although their registers change: where they do so again, they are known.
    pub(super) fn found(&mut self, probe: SpinProbe) -> SpinVerdict {
        let ran = probe.ran_at_all;
        let polled = probe.into_polled();
        self.remember(&polled);
        SpinVerdict::Spinning(ran, polled)
    }

    /// Ends a probe that has shown spinning lanes: the next one comes soon.
    pub fn note_spinning(&mut self, executed: u64) {
        self.probe = None;
        self.interval = SHORT_INTERVAL;
        self.next_probe = executed + SHORT_INTERVAL;
        self.unchanged_since = None;
    }
}

impl SpinProbe {
    /// Saves the state of the running lanes when a warp has executed so many instructions.
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
            repeated: Repeated::No,
            clock: false,
            lost: false,
        }
    }

    /// What the lanes have polled.
    pub(super) fn into_polled(self) -> Vec<PolledValue> {
        self.polled.into_values().flatten().collect()
    }

    /// Whether the lanes have polled something again, and all that they polled was as before.
    pub(super) fn reads_nothing_new(&self) -> bool {
        self.repeated != Repeated::No && !self.news && !self.lost
    }

    /// Whether the lanes have returned to the saved state, memory aside.
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

    /// Saves the state again.
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
