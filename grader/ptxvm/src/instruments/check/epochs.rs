//! Who touched a place of global memory, in four bytes: the number of an event, which is one instruction of one warp in one
//! block between two barriers, and a lane. Events are shared by the lanes, and by the turns of a loop.

use std::collections::HashMap;

use crate::isa::names::Pc;

/// An access; the default is nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessId(u32);

/// Bits of a stamp that name the lane.
pub(crate) const LANE_BITS: u32 = 5;
/// How many epochs an [`AccessId`] can tell apart.
const MAX_EVENTS: usize = 1 << (32 - LANE_BITS);
/// So many events are kept without asking whether somebody still refers to them.
const MIN_EVENTS: usize = 1 << 12;
/// Events that a new one is compared with, by instruction and warp.
const RECENT: usize = 256;

impl AccessId {
    fn new(epoch: u32, lane: u32) -> Self {
        Self(epoch << LANE_BITS | lane)
    }

    /// The id as a number, for columns of packed pages.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The stamp of a number.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    fn epoch(self) -> u32 {
        self.0 >> LANE_BITS
    }

    pub fn lane(self) -> u32 {
        self.0 & ((1 << LANE_BITS) - 1)
    }

    /// The same event in another lane.
    pub fn with_lane(self, lane: u32) -> Self {
        Self(self.0 & !((1 << LANE_BITS) - 1) | lane)
    }

    /// Whether nobody was here.
    pub fn is_nobody(self) -> bool {
        self.epoch() == 0
    }
}

/// What the lanes of one warp have in common when they access memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Epoch {
    /// Index of the block from 1. 0: an earlier one; which thread it was is forgotten.
    pub block: u32,
    /// Clock of the warp.
    pub clock: u32,
    pub pc: Pc,
    /// Index of the warp in its block.
    pub warp: u8,
    /// Whether the access is strong: atomic, volatile, or relaxed and stronger.
    pub strong: bool,
}

/// An event in 12 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Packed {
    block: u32,
    clock: u32,
    /// Instruction, warp and strength, from the highest bit down.
    rest: u32,
}

/// Bits of a packed event for warp and strength.
const REST_BITS: u32 = 6;

impl Packed {
    /// None where the program is too long: kernels have a few thousand instructions.
    fn new(epoch: Epoch) -> Option<Self> {
        let Epoch { block, clock, pc, warp, strong } = epoch;
        let fits = pc >> (32 - REST_BITS) == 0 && warp < 32;
        let rest = pc << REST_BITS | u32::from(warp) << 1 | u32::from(strong);
        fits.then_some(Self { block, clock, rest })
    }

    fn epoch(self) -> Epoch {
        Epoch {
            block: self.block,
            clock: self.clock,
            pc: self.rest >> REST_BITS,
            warp: (self.rest >> 1 & 31) as u8,
            strong: self.rest & 1 == 1,
        }
    }
}

/// An access in full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub epoch: Epoch,
    /// Index of the thread in its block.
    pub thread: u32,
}

/// All events that stamps refer to. Number 0 is nobody.
#[derive(Debug)]
pub(crate) struct EpochTable {
    all: Vec<Packed>,
    recent: [u32; RECENT],
    /// Events from which on those without stamps are given up.
    limit: usize,
}

impl EpochTable {
    pub fn new() -> Self {
        Self { all: vec![Packed::default()], recent: [0; RECENT], limit: MIN_EVENTS }
    }

    /// Forgets all of them; no stamp may be left.
    pub fn clear(&mut self) {
        self.all.truncate(1);
        self.recent = [0; RECENT];
        self.limit = MIN_EVENTS;
    }

    /// The number of an event; equal ones share it where they follow each other.
    pub fn number(&mut self, epoch: Epoch) -> u32 {
        let recent = &mut self.recent[(epoch.pc as usize * 8 + usize::from(epoch.warp)) % RECENT];
        if *recent == 0 || self.all[*recent as usize].epoch() != epoch {
            *recent = self.all.len() as u32;
            // The usual doubling would leave half of the table empty.
            if self.all.len() == self.all.capacity() {
                self.all.reserve_exact(self.all.len() / 8 + 64);
            }
            self.all.push(Packed::new(epoch).unwrap_or_default());
        }
        *recent
    }

    /// Whether events that nobody refers to should be given up now.
    pub fn are_many(&self) -> bool {
        self.all.len() >= self.limit
    }

    /// Gives up the events without a stamp and renumbers the rest, in their order. False if even those are too many to go on.
    /// `each` shows all stamps that there are. Where a block is given, only the instructions of other blocks' events are kept.
    pub fn keep_used(
        &mut self,
        block: Option<u32>,
        mut each: impl FnMut(&mut dyn FnMut(&mut AccessId)),
    ) -> bool {
        let mut numbers = vec![0; self.all.len()];
        each(&mut |access_id| numbers[access_id.epoch() as usize] = 1);
        numbers[0] = 0;
        let mut kept = 1;
        let mut forgotten = HashMap::new();
        for (number, from) in numbers.iter_mut().zip(0..) {
            if *number == 0 {
                continue;
            }
            let Epoch { block: of, pc, strong, .. } = self.all[from].epoch();
            if block.is_some_and(|block| of != block) {
                let known = forgotten.entry((pc, strong)).or_insert(kept);
                *number = *known;
                if *known != kept {
                    continue;
                }
                let epoch = Epoch { block: 0, clock: 0, pc, warp: 0, strong };
                self.all[kept as usize] = Packed::new(epoch).unwrap_or_default();
            } else {
                *number = kept;
                self.all[kept as usize] = self.all[from];
            }
            kept += 1;
        }
        each(&mut |access_id| {
            *access_id = AccessId::new(numbers[access_id.epoch() as usize], access_id.lane());
        });
        self.all.truncate(kept as usize);
        self.all.shrink_to_fit();
        self.limit = (2 * self.all.len()).clamp(MIN_EVENTS, MAX_EVENTS);
        self.recent = [0; RECENT];
        2 * self.all.len() < MAX_EVENTS
    }

    /// The stamp, with the lane only if the thread is known.
    pub fn without_unknown_lane(&self, access_id: AccessId) -> AccessId {
        let is_known = self.access(access_id).is_some_and(|access| access.epoch.block != 0);
        if is_known { access_id } else { access_id.with_lane(0) }
    }

    /// The stamp of a lane.
    pub fn access_id(epoch: u32, lane: usize) -> AccessId {
        AccessId::new(epoch, lane as u32 % 32)
    }

    /// What a stamp stands for; None: nobody.
    pub fn access(&self, access_id: AccessId) -> Option<Access> {
        if access_id.is_nobody() {
            return None;
        }
        let epoch = self.all.get(access_id.epoch() as usize)?.epoch();
        Some(Access { epoch, thread: u32::from(epoch.warp) * 32 + access_id.lane() })
    }

    /// Bytes of the table.
    pub fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Packed>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(pc: Pc, clock: u32) -> Epoch {
        Epoch { block: 1, clock, pc, warp: 3, strong: false }
    }

    #[test]
    fn a_loop_has_one_event_for_each_instruction() {
        let mut epochs = EpochTable::new();
        let numbers = [7, 8, 7, 8].map(|pc| epochs.number(epoch(pc, 1)));
        assert_eq!(numbers, [1, 2, 1, 2]);
        assert_eq!(epochs.number(epoch(7, 2)), 3);
    }

    #[test]
    fn stamps_keep_their_events_when_others_go() {
        let mut epochs = EpochTable::new();
        let mut access_ids: Vec<AccessId> = (0..MIN_EVENTS as u32)
            .map(|clock| EpochTable::access_id(epochs.number(epoch(5, clock)), clock as usize % 32))
            .filter(|access_id| access_id.epoch() % 100 == 0)
            .collect();
        assert!(epochs.are_many());
        let before: Vec<Access> =
            access_ids.iter().filter_map(|&access_id| epochs.access(access_id)).collect();
        access_ids.push(AccessId::default());
        assert!(epochs.keep_used(None, |each| access_ids.iter_mut().for_each(each)));
        assert!(!epochs.are_many());
        assert_eq!(access_ids.pop(), Some(AccessId::default()));
        let after: Vec<Access> =
            access_ids.iter().filter_map(|&access_id| epochs.access(access_id)).collect();
        assert_eq!(before.len(), after.len());
        for (old, new) in before.iter().zip(&after) {
            assert_eq!((old.epoch, old.thread), (new.epoch, new.thread));
        }
        assert_eq!(epochs.all.len(), access_ids.len() + 1);
    }
}
