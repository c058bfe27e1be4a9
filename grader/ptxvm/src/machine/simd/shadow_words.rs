//! The shadow words of shared memory, and what is done to many of them at once.

use crate::lanes::HALF;
use crate::machine::simd::sets::for_each_set;

/// Bits of a [`ShortAccessId`]: an epoch and a lane.
pub(crate) const MARK_BITS: u32 = 21;
/// Bits of a lane.
pub(crate) const LANE_BITS: u32 = 5;

/// The number of an epoch, and the lane that made the access; 0 if nobody did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortAccessId(u32);

impl ShortAccessId {
    pub const NONE: Self = Self(0);

    pub fn new(epoch: u32, lane: usize) -> Self {
        Self(epoch << LANE_BITS | (lane as u32 & 31))
    }

    #[inline(always)]
    pub fn epoch(self) -> u32 {
        self.0 >> LANE_BITS
    }

    #[inline(always)]
    pub fn lane(self) -> u32 {
        self.0 & ((1 << LANE_BITS) - 1)
    }
}

/// The last accesses of a word of shared memory: writer, first and latest reader from the lowest bit on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ShadowWord(pub(crate) u64);

impl ShadowWord {
    pub(crate) const WRITER: u32 = 0;
    pub(crate) const READERS: [u32; 2] = [MARK_BITS, 2 * MARK_BITS];
    /// The bytes of the word have cells of their own, ...
    pub(crate) const SPLIT: u64 = 1 << (3 * MARK_BITS);
    /// ... or even shadow words.
    pub(crate) const PART: u64 = Self::SPLIT >> 1;

    /// A shadow word that is not split.
    #[inline(always)]
    pub fn new(writer: ShortAccessId, readers: [ShortAccessId; 2]) -> Self {
        let [first, second] = readers.map(|access_id| u64::from(access_id.0));
        let [at_first, at_second] = Self::READERS;
        Self(u64::from(writer.0) | first << at_first | second << at_second)
    }

    #[inline(always)]
    pub fn get(self, shift: u32) -> ShortAccessId {
        ShortAccessId((self.0 >> shift) as u32 & ((1 << MARK_BITS) - 1))
    }

    #[inline(always)]
    pub fn set(&mut self, shift: u32, access_id: ShortAccessId) {
        self.0 = self.0 & !(((1 << MARK_BITS) - 1) << shift) | u64::from(access_id.0) << shift;
    }

    #[inline(always)]
    pub fn is_split(self) -> bool {
        self.0 & Self::SPLIT != 0
    }

    /// Whether nothing has happened after epoch `floor` but reads of two threads after epoch `since`: a third reader tells
    /// nothing new.
    #[inline(always)]
    pub fn is_read(self, floor: u32, since: u32) -> bool {
        let [first, second] = Self::READERS.map(|reader| self.get(reader).epoch());
        self.is_unwritten(floor) & (first.min(second) > since)
    }

    /// Notes that several lanes read the word, the first two of which are enough. False, and nothing done, if anybody has accessed it
    /// after epoch `floor`.
    #[inline(always)]
    pub fn note_readers(&mut self, floor: u32, ShortAccessId(first): ShortAccessId) -> bool {
        let [reader, other] = Self::READERS;
        let latest = self.get(reader).epoch().max(self.get(other).epoch());
        let is_first = self.is_unwritten(floor) && latest <= floor;
        if is_first {
            let readers = [first, first + 1].map(ShortAccessId);
            *self = Self::new(self.get(Self::WRITER), readers);
        }
        is_first
    }

    /// Notes that a lane reads the word. False, and nothing done, if others than lanes of the same epoch have accessed it after epoch
    /// `floor`, unless nobody wrote it and two threads have read it after epoch `since`.
    #[inline(always)]
    pub fn note_reader(&mut self, floor: u32, since: u32, access_id: ShortAccessId) -> bool {
        if !self.is_unwritten(floor) {
            return false;
        }
        let [first, second] = Self::READERS;
        let (reader, other) = (self.get(first), self.get(second));
        if reader.epoch() <= floor {
            self.set(first, access_id);
            return true;
        }
        if other.epoch() > floor {
            return reader.epoch().min(other.epoch()) > since;
        }
        let is_own = reader.epoch() == access_id.epoch();
        if is_own && reader != access_id {
            self.set(second, access_id);
        }
        is_own
    }

    /// Whether nobody has written after epoch `floor`.
    #[inline(always)]
    fn is_unwritten(self, floor: u32) -> bool {
        !self.is_split() & (self.get(Self::WRITER).epoch() <= floor)
    }
}

/// Words of a row, which half a warp accesses.
pub(crate) const ROW: usize = HALF;

/// Sets an accessor of each word to consecutive lanes, the first of which is given.
#[inline(always)]
fn note(row: &mut [ShadowWord; ROW], accessor: u32, ShortAccessId(first): ShortAccessId) {
    for (entry, access_id) in row.iter_mut().zip(first..) {
        entry.set(accessor, ShortAccessId(access_id));
    }
}

macro_rules! define_rows {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use super::{LANE_BITS, MARK_BITS, ShadowWord, ShortAccessId, ROW, note};
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                /// Whether [`ShadowWord::is_read`] holds for all of them.
                pub(crate) fn all_read(entries: &[ShadowWord], floor: u32, since: u32) -> bool {
                    let [writer, first, second] = [floor, since, since].map(|epoch| (i64::from(epoch) + 1) << LANE_BITS);
                    let [at_first, at_second] = ShadowWord::READERS;
                    if second >> MARK_BITS != 0 {
                        return entries.is_empty();
                    }
                    // Positive numbers are compared by the sign of their difference, and all signs at once.
                    let (first, second) = (first << at_first, second << at_second);
                    let signs = entries.iter().fold(0, |signs, &ShadowWord(entry)| {
                        let entry = entry as i64;
                        let accessor = |at: u32| entry & ((1 << MARK_BITS) - 1) << at;
                        signs | entry | entry.wrapping_sub(second) | (accessor(at_first) - first) | (writer - 1 - accessor(ShadowWord::WRITER))
                    });
                    signs >= 0
                }
            }

            with_features!{ $features
                /// Notes that consecutive lanes read a word each. False, and nothing done, if others than lanes of the same epoch
                /// have accessed one after `floor`, or more than one has.
                pub(crate) fn note_reads(row: &mut [ShadowWord; ROW], floor: u32, access_id: ShortAccessId) -> bool {
                    let (mut are_first, mut are_second) = (true, true);
                    for (entry, own) in row.iter().zip(access_id.0..) {
                        let [first, second] = ShadowWord::READERS.map(|reader| entry.get(reader));
                        let unwritten = entry.is_unwritten(floor);
                        are_first &= unwritten & (first.epoch() <= floor);
                        let lanes = (first.epoch() == access_id.epoch()) & (first.0 != own);
                        are_second &= unwritten & lanes & (second.epoch() <= floor);
                    }
                    if are_first | are_second {
                        note(row, ShadowWord::READERS[usize::from(!are_first)], access_id);
                    }
                    are_first | are_second
                }
            }

            with_features!{ $features
                /// Notes that consecutive lanes write a word each. False, and nothing done, if any of the words was accessed
                /// after `floor`.
                pub(crate) fn note_writes(row: &mut [ShadowWord; ROW], floor: u32, access_id: ShortAccessId) -> bool {
                    let mut free = true;
                    for entry in &*row {
                        let [first, second] = ShadowWord::READERS.map(|reader| entry.get(reader).epoch());
                        free &= entry.is_unwritten(floor) & (first.max(second) <= floor);
                    }
                    if free {
                        note(row, ShadowWord::WRITER, access_id);
                    }
                    free
                }
            }
        }
    };
}
for_each_set!(define_rows);
