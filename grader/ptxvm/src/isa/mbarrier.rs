//! Barrier objects in shared memory, `mbarrier` (PTX ISA 9.7.13.15): the instructions on them, and the 64 bits of one.

use crate::isa::bulk::{BulkLoad, BulkSend};
use crate::isa::names::{Address, Pred, Reg32, Reg64, Slot};

/// An instruction on an object, or on as many as lanes give addresses.
#[derive(Clone, Copy, Debug)]
pub struct Mbarrier {
    pub address: Address,
    pub operation: Operation,
}

/// Tells accesses by `mbarrier` from all others, in `What::operation`.
pub(crate) const OPERATION: u32 = u32::MAX;

/// What it does with the object.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Makes one that expects so many arrivals in each phase.
    Init(Reg32),
    Invalidate,
    /// So many bytes more must come before the phase completes.
    Expect(Reg32),
    /// So many of them have come.
    Complete(Reg32),
    Arrive(Arrival),
    /// `cp.async.mbarrier.arrive`: an arrival when the thread's copies so far are there.
    CopiesArrive {
        /// Without `.noinc`: one arrival more is expected, so that it need not be counted beforehand.
        adds_itself: bool,
    },
    /// `cp.async.bulk` from global memory: the phase hears of the bytes when they are there.
    Copy(BulkLoad),
    /// `cp.async.bulk` from shared memory to that of another block.
    Send(BulkSend),
    /// `test_wait` or `try_wait`: asks whether a phase is complete, without blocking the thread.
    Test {
        done: Pred,
        phase: Phase,
        acquires: bool,
    },
}

/// The modifiers and operands of `mbarrier.arrive` and `mbarrier.arrive_drop`.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Where the state before it goes.
    pub token: Slot,
    /// How many arrivals it counts as; one if this is None.
    pub count: Option<Reg32>,
    /// Bytes that the phase waits for from now on.
    pub expects: Option<Reg32>,
    /// Later phases expect as many arrivals less.
    pub drops: bool,
    /// False: it may not be the last one.
    pub completes: bool,
    pub releases: bool,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The end of the phase of this token.
    Token(Reg64),
    /// The end of the current phase, or of the one before, whichever has this parity.
    Parity(Reg32),
}

/// The state of an object. Programs may only copy it: this layout is this machine's own.
///
/// From the lowest bit: 20 bits of arrivals that the phase still waits for, 20 of those that each phase expects, 21 of the
/// bytes still to come, with a sign, and 3 of the phase's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MbarrierState(pub u64);

/// Bits of a count of arrivals.
const COUNT_BITS: u32 = 20;
/// Arrivals at most, and bytes either way (PTX ISA 9.7.13.15.2).
pub const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
/// Bits of a count of bytes.
const BYTES_BITS: u32 = COUNT_BITS + 1;
/// Where the parts of a word begin.
const EXPECTED: u32 = COUNT_BITS;
const BYTES: u32 = 2 * COUNT_BITS;
const NUMBER: u32 = BYTES + BYTES_BITS;
/// Phases that a word tells apart.
const NUMBERS: u32 = 1 << (64 - NUMBER);

impl MbarrierState {
    /// A new object in its first phase.
    pub fn new(expected: u32) -> Self {
        let expected = expected & MAX_COUNT;
        Self(u64::from(expected) << EXPECTED | u64::from(expected))
    }

    /// Arrivals that the phase waits for.
    pub fn pending(self) -> u32 {
        self.0 as u32 & MAX_COUNT
    }

    /// Arrivals that the next phase will wait for.
    pub fn expected(self) -> u32 {
        (self.0 >> EXPECTED) as u32 & MAX_COUNT
    }

    /// Bytes that the phase waits for; below zero if more have come than were expected.
    pub fn bytes(self) -> i32 {
        let above = 64 - NUMBER;
        ((self.0 << above) as i64 >> (64 - BYTES_BITS)) as i32
    }

    /// Number of the phase, in a circle.
    pub fn number(self) -> u32 {
        (self.0 >> NUMBER) as u32
    }

    /// Phases that lie between a token's and the current one.
    pub fn phases_since(self, token: Self) -> u32 {
        self.number().wrapping_sub(token.number()) % NUMBERS
    }

    fn set(&mut self, place: u32, bits: u32, value: u64) {
        let mask = (1 << bits) - 1;
        self.0 = self.0 & !(mask << place) | (value & mask) << place;
    }

    /// Takes away arrivals that have come.
    pub fn arrive(&mut self, count: u32) {
        let left = self.pending().saturating_sub(count);
        self.set(0, COUNT_BITS, left.into());
    }

    /// Later phases expect less.
    pub fn drop_expected(&mut self, count: u32) {
        let left = self.expected().saturating_sub(count);
        self.set(EXPECTED, COUNT_BITS, left.into());
    }

    /// Adds to the bytes still to come; false, and nothing done, if they are too many.
    pub fn expect(&mut self, bytes: i64) -> bool {
        let sum = i64::from(self.bytes()).saturating_add(bytes);
        let fits = sum.unsigned_abs() <= MAX_COUNT.into();
        if fits {
            self.set(BYTES, BYTES_BITS, sum as u64);
        }
        fits
    }

    /// Whether nothing is missing.
    pub fn is_complete(self) -> bool {
        self.pending() == 0 && self.bytes() == 0
    }

    /// The next phase begins.
    pub fn advance(&mut self) {
        let (number, expected) = (self.number() + 1, self.expected());
        self.set(NUMBER, 64 - NUMBER, number.into());
        self.set(0, COUNT_BITS, expected.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_word_do_not_touch_each_other() {
        let mut word = MbarrierState::new(MAX_COUNT);
        assert_eq!((word.pending(), word.expected(), word.bytes()), (MAX_COUNT, MAX_COUNT, 0));
        assert!(word.expect(MAX_COUNT.into()));
        assert!(!word.expect(1));
        assert_eq!(word.bytes(), MAX_COUNT as i32);
        assert!(word.expect(-2 * i64::from(MAX_COUNT)));
        assert_eq!(word.bytes(), -(MAX_COUNT as i32));
        assert_eq!((word.pending(), word.expected(), word.number()), (MAX_COUNT, MAX_COUNT, 0));
        assert!(word.expect(MAX_COUNT.into()));
        word.drop_expected(MAX_COUNT - 3);
        word.arrive(MAX_COUNT);
        assert!(word.is_complete());
        word.advance();
        assert_eq!((word.pending(), word.expected(), word.number()), (3, 3, 1));
    }

    #[test]
    fn phases_go_round() {
        let mut word = MbarrierState::new(1);
        let first = word;
        for since in 1..20 {
            word.arrive(1);
            word.advance();
            assert_eq!(word.phases_since(first), since % 8);
            assert_eq!((word.number() & 1, word.pending()), (since & 1, 1));
        }
    }
}
