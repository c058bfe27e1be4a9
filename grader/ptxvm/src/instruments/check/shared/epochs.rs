//! The epochs that shadow words of shared memory refer to: an epoch is one instruction of one warp between two of its
//! barriers, `FastTrack`'s pair of thread and clock with the instruction.
//!
//! Epochs have ascending numbers, so that one comparison recognises those before the last barrier of all warps, about which
//! nothing more need be known.

use std::collections::HashMap;

use crate::instruments::check::clocks::WARPS;
use crate::instruments::check::shared::last_accesses::LastAccesses;
use crate::isa::names::Pc;
use crate::machine::simd::shadow_words::{LANE_BITS, MARK_BITS, ShadowWord, ShortAccessId};

/// Largest number of an epoch; the first is 1.
const MAX_EVENT: usize = (1 << (MARK_BITS - LANE_BITS)) - 1;
/// More epochs than one access can number: lanes, words of each, bytes of these, and accesses known of each.
const ROOM: usize = 32 * 4 * 4 * 3 + 1;
/// Epochs that may be kept however few words there are.
const ROOM_ANYWAY: usize = 1 << 14;
/// Slots of the cache of recent epochs, by instruction and warp.
const RECENT: usize = 256;

/// What the accesses of one warp by one instruction have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Epoch {
    /// The clock of the warp at the access.
    pub clock: u32,
    pub pc: Pc,
    pub warp: u8,
    /// A strong access, atomic or volatile: strong accesses do not race among themselves.
    pub strong: bool,
    pub writes: bool,
    /// Whether it is a store of single words, whose values are known.
    pub valued: bool,
}

/// One access: an epoch and a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    pub epoch: Epoch,
    /// Index of the thread in its block.
    pub thread: u32,
}

/// An epoch in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    clock: u32,
    /// Instruction, warp, strength, whether it writes and whether values are known, from the highest bit down. Programs have
    /// less than 2^24 instructions.
    rest: u32,
}

impl Packed {
    #[inline(always)]
    fn new(Epoch { clock, pc, warp, strong, writes, valued }: Epoch) -> Self {
        let flags = u32::from(strong) << 2 | u32::from(writes) << 1 | u32::from(valued);
        Self { clock, rest: pc << 8 | u32::from(warp) << 3 | flags }
    }

    #[inline(always)]
    fn warp(self) -> usize {
        (self.rest >> 3) as usize % WARPS
    }

    #[inline(always)]
    fn epoch(self) -> Epoch {
        Epoch {
            clock: self.clock,
            pc: self.rest >> 8,
            warp: self.warp() as u8,
            strong: self.rest >> 2 & 1 == 1,
            writes: self.rest >> 1 & 1 == 1,
            valued: self.rest & 1 == 1,
        }
    }
}

/// The epochs since the last barrier of all warps.
#[derive(Debug)]
pub(crate) struct EpochTable {
    all: Vec<Packed>,
    /// The number of the first epoch.
    base: u32,
    recent: [u16; RECENT],
    /// For each warp, the epoch up to which everything happened before it.
    pub floors: [u32; WARPS],
    /// For each warp, the latest epoch at the time when it last synchronised: later ones did not happen before it.
    pub since: [u32; WARPS],
    /// The highest clock of each warp's accesses, those of bytes included.
    latest: [u32; WARPS],
    /// The clock of each warp when its lanes last converged, as far as that is known.
    converged_at: [u32; WARPS],
    /// A mask of the warps that all accesses happened before.
    passed: u32,
    /// Epochs that are kept before unused ones are dropped.
    limit: usize,
}

impl Default for EpochTable {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            base: 1,
            recent: [0; RECENT],
            floors: [0; WARPS],
            since: [0; WARPS],
            latest: [0; WARPS],
            converged_at: [0; WARPS],
            passed: u32::MAX,
            limit: 0,
        }
    }
}

impl EpochTable {
    /// The number of the latest epoch.
    pub fn last(&self) -> u32 {
        self.base + self.all.len() as u32 - 1
    }

    /// Whether unused epochs should be dropped before there are more.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.last() as usize + ROOM > MAX_EVENT || self.all.len() >= self.limit
    }

    /// The number of an epoch; equal ones share it where they follow each other.
    #[inline]
    pub fn number(&mut self, epoch: Epoch) -> u32 {
        let recent = (epoch.pc as usize * 8 + usize::from(epoch.warp)) % RECENT;
        let known = u32::from(self.recent[recent]);
        let packed = Packed::new(epoch);
        if known >= self.base && self.all.get((known - self.base) as usize) == Some(&packed) {
            return known;
        }
        self.push(epoch);
        self.recent[recent] = self.last() as u16;
        self.last()
    }

    fn push(&mut self, epoch: Epoch) {
        if self.all.len() == self.all.capacity() {
            // The usual doubling would leave half of the list empty.
            let room = self.limit.saturating_sub(self.all.len()).max(1);
            self.all.reserve_exact(room.min(self.all.len() / 8 + 32));
        }
        self.all.push(Packed::new(epoch));
        self.see(epoch);
    }

    /// Notes an access that needs no number.
    pub fn see(&mut self, epoch: Epoch) {
        let latest = &mut self.latest[usize::from(epoch.warp) % WARPS];
        *latest = epoch.clock.max(*latest);
        self.passed = 0;
    }

    /// Whether an id belongs to one of these epochs.
    #[inline(always)]
    pub fn has(&self, access_id: ShortAccessId) -> bool {
        access_id.epoch() >= self.base
    }

    /// The access of an id, unless it lies before the first epoch.
    #[inline(always)]
    pub fn get(&self, access_id: ShortAccessId) -> Option<Access> {
        let at = access_id.epoch().checked_sub(self.base)?;
        let epoch = self.all.get(at as usize)?.epoch();
        Some(Access { epoch, thread: u32::from(epoch.warp) * 32 + access_id.lane() })
    }

    /// Everything so far happened before everything that follows. From `limit` epochs on, unused ones are dropped.
    pub fn pass(&mut self, limit: usize) {
        self.base = self.last() + 1;
        self.floors = [self.base - 1; WARPS];
        self.since = self.floors;
        self.all.clear();
        self.latest = [0; WARPS];
        self.passed = u32::MAX;
        self.limit = limit;
    }

    /// Raises the floor of a warp that has synchronised: it knows these clocks, and its lanes last converged at its clock `converged_at`.
    /// `warps`: how many the block has.
    pub fn raise_floor(
        &mut self,
        warp: usize,
        clocks: &[u32; WARPS],
        converged_at: u32,
        warps: usize,
    ) {
        self.since[warp] = self.last();
        self.converged_at[warp] = converged_at;
        let lies_before = |by: usize, clock: u32| {
            if by == warp { clock < converged_at } else { clock <= clocks[by] }
        };
        if self.latest.iter().take(warps).enumerate().all(|(by, &clock)| lies_before(by, clock)) {
            self.floors[warp] = self.last();
            self.passed |= 1 << warp;
            return;
        }
        self.passed &= !(1 << warp);
        let next = (self.floors[warp] + 1).max(self.base);
        let rest = self.all[(next - self.base) as usize..].iter();
        let passed = rest.take_while(|epoch| lies_before(epoch.warp(), epoch.clock));
        self.floors[warp] = next - 1 + passed.count() as u32;
    }

    /// Whether everything happened before all of so many warps.
    pub fn all_passed(&self, warps: usize) -> bool {
        self.passed.trailing_ones() as usize >= warps.min(WARPS)
    }

    /// Drops epochs that no shadow word refers to, and renumbers the others. `each` visits all shadow words. At least `limit`
    /// epochs fit until the next time. `merge_equal`: nobody can tell what a warp did before its lanes last converged from what
    /// it did before that, so these epochs become equal.
    pub fn renumber(
        &mut self,
        limit: usize,
        merge_equal: bool,
        mut each: impl FnMut(&mut dyn FnMut(&mut ShadowWord)),
    ) {
        let mut used = vec![false; self.all.len()];
        each(&mut |entry| {
            for access_id in LastAccesses::of(*entry).all() {
                if let Some(at) = access_id.epoch().checked_sub(self.base) {
                    used[at as usize] = true;
                }
            }
        });
        let mut count = used.iter().filter(|&&used| used).count();
        // The epoch that stands for each one.
        let mut stands: Vec<u16> = (0..self.all.len()).map(|at| at as u16).collect();
        if merge_equal && count > limit / 2 {
            count -= self.merge(&mut used, &mut stands);
        }
        // Where hardly any can be given up, what comes is compared with what comes later only.
        let most = (limit / 2 * 5).clamp(ROOM_ANYWAY, MAX_EVENT / 8 * 7);
        if count > most {
            used.fill(false);
        }
        let mut numbers = vec![0u16; self.all.len()];
        let mut kept = 0;
        let (mut floors, mut since) = ([0; WARPS], [0; WARPS]);
        for (index, number) in numbers.iter_mut().enumerate() {
            if used[index] {
                self.all[kept as usize] = self.all[index];
                kept += 1;
                *number = kept;
            }
            let bounds = floors.iter_mut().zip(&self.floors);
            for (new, &old) in bounds.chain(since.iter_mut().zip(&self.since)) {
                if self.base + index as u32 <= old {
                    *new = u32::from(kept);
                }
            }
        }
        each(&mut |entry| {
            let renumbered = LastAccesses::of(*entry).map(|access_id| {
                let at = access_id.epoch().checked_sub(self.base);
                let number = at.map_or(0, |at| numbers[usize::from(stands[at as usize])]);
                if number == 0 {
                    ShortAccessId::NONE
                } else {
                    ShortAccessId::new(number.into(), access_id.lane() as usize)
                }
            });
            *entry = renumbered.packed();
        });
        self.all.truncate(kept.into());
        (self.base, self.recent) = (1, [0; RECENT]);
        (self.floors, self.since) = (floors, since);
        self.limit = (2 * self.all.len()).min(most / 4 * 5).max(limit);
        if self.all.capacity() > self.limit {
            self.all.shrink_to(self.limit);
        }
    }

    /// Merges equal epochs into the last of them, and returns how many were dropped.
    fn merge(&mut self, used: &mut [bool], stands: &mut [u16]) -> usize {
        let mut last = HashMap::new();
        let mut merged = 0;
        for at in (0..used.len()).rev() {
            if !used[at] {
                continue;
            }
            let epoch = &mut self.all[at];
            epoch.clock = epoch.clock.max(self.converged_at[epoch.warp()].saturating_sub(1));
            let known = *last.entry((epoch.clock, epoch.rest)).or_insert(at);
            if known != at {
                (used[at], stands[at]) = (false, known as u16);
                merged += 1;
            }
        }
        merged
    }

    /// How many epochs there may be before unused ones are dropped.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many epochs there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Memory that the table takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.all.capacity() * size_of::<Packed>()
    }
}
