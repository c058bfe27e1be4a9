//! Whether a new access of a place in shared memory races with the last ones, and what is remembered of it.

use crate::finding::{AccessKind, RaceKind};
use crate::instruments::check::clocks::{Clocks, WARPS};
use crate::instruments::check::order::lane_clocks::LaneClocks;
use crate::instruments::check::order::vector_clock::WarpClock;
use crate::instruments::check::shared::byte_cells::{
    Accessor, ByteClasses, ByteHistory, OtherReaders, PackError,
};
use crate::instruments::check::shared::epochs::{Access, Epoch, EpochTable};
use crate::instruments::check::shared::last_accesses::LastAccesses;
use crate::machine::simd::shadow_words::{ShadowWord, ShortAccessId};
use crate::program::code::Program;

/// An access that happens now, and what its warp knows of others.
pub(crate) struct CurrentAccess<'c> {
    /// The id of the access, if it accesses whole words.
    pub access_id: ShortAccessId,
    pub access: Access,
    pub clocks: &'c Clocks,
    /// The clock of the warp when its lanes last converged.
    pub converged_at: u32,
    /// What its lanes have released to each other since then.
    pub own: WarpClock,
    /// What they know of each other, if parts of the warp have synchronised since then.
    pub lanes: Option<&'c LaneClocks>,
    pub kind: AccessKind,
    /// The word that is stored, if it is a single one.
    pub value: Option<u32>,
    /// Whether a part of a word is stored that holds the same value already.
    pub unchanged: bool,
    pub program: Option<&'c Program>,
}

/// A race of an access with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Race {
    pub kind: RaceKind,
    /// The earlier access; None for a reader that was not remembered.
    pub other: Option<Access>,
    pub same_warp: bool,
}

impl CurrentAccess<'_> {
    #[inline(always)]
    pub fn warp(&self) -> usize {
        usize::from(self.access.epoch.warp) % WARPS
    }

    /// Whether what a lane did happened before this access.
    #[inline(always)]
    fn follows(&self, epoch: &Epoch, lane: u32) -> bool {
        let (warp, by) = (self.warp(), usize::from(epoch.warp) % WARPS);
        if by == warp {
            let own = self.access.thread % 32;
            epoch.clock < self.converged_at
                || self.own.covers(epoch.clock, lane)
                || self.lanes.is_some_and(|lanes| lanes.covers(own, lane, epoch.clock))
        } else {
            epoch.clock <= self.clocks[warp][by]
        }
    }

    /// The access of an id, unless it happened before this one.
    #[inline(always)]
    pub(crate) fn unordered(&self, epochs: &EpochTable, old: ShortAccessId) -> Option<Access> {
        if old.epoch() <= epochs.floors[self.warp()] {
            return None;
        }
        epochs.get(old).filter(|access| !self.follows(&access.epoch, old.lane()))
    }

    fn unordered_accessor(&self, classes: &ByteClasses, old: Accessor) -> Option<Access> {
        classes.access(old).filter(|access| !self.follows(&access.epoch, access.thread % 32))
    }

    fn race(&self, kind: RaceKind, other: Access) -> Race {
        let same_warp = other.epoch.warp == self.access.epoch.warp;
        Race { kind, other: Some(other), same_warp }
    }

    /// The access, if this one conflicts with it.
    #[inline(always)]
    fn conflict(&self, old: Option<Access>) -> Option<Access> {
        old.filter(|old| old.thread != self.access.thread && !self.tolerates(&old.epoch))
    }

    /// Whether this access and one that nothing orders are no race, because of their strength.
    fn tolerates(&self, old: &Epoch) -> bool {
        let new = &self.access.epoch;
        let Some(program) = self.program else { return old.strong && new.strong };
        if old.strong && new.strong {
            return !program.lose_update(old.pc, new.pc);
        }
        match (old.writes, new.writes) {
            (true, false) => program.is_hint(new.strong, old.pc),
            (false, true) => program.is_hint(old.strong, new.pc),
            _ => false,
        }
    }

    /// The race of this access with an earlier one, if there is one; then records the access. `word`: for a whole word, whether
    /// it writes the same value as the last write.
    #[inline(always)]
    fn check<M: Copy>(
        &self,
        last: &mut LastAccesses<M>,
        own: M,
        word: Option<bool>,
        known: impl Fn(M) -> Option<Access>,
        unordered: impl Fn(M) -> Option<Access>,
    ) -> Option<Race> {
        let writer = self.conflict(unordered(last.writer));
        let [first, second] = last.readers;
        if self.kind == AccessKind::Read {
            match unordered(first) {
                None => last.readers[0] = own,
                Some(old) if old.thread == self.access.thread => {}
                Some(old) => {
                    let one_warp = |second: Access| {
                        second.epoch.warp == old.epoch.warp
                            && old.epoch.warp != self.access.epoch.warp
                    };
                    // Of words, two threads are enough.
                    if unordered(second).is_none_or(|second| word.is_none() && one_warp(second)) {
                        last.readers[1] = own;
                    }
                }
            }
            return writer.map(|old| self.race(RaceKind::ReadAfterWrite, old));
        }
        let reader = self.conflict(unordered(first));
        let reader = reader.or_else(|| self.conflict(unordered(second)));
        let is_plain = |old: Access| !old.epoch.strong;
        if self.access.epoch.strong
            && known(last.writer).is_some_and(is_plain)
            && let Some(place) = last.readers.iter_mut().find(|old| unordered(**old).is_none())
        {
            *place = last.writer;
        }
        last.writer = own;
        // Two writes of the same value leave the same memory in either order.
        let writer = writer.filter(|old| {
            let same_value = word == Some(true) && old.epoch.valued || self.unchanged;
            let lost = |program: &Program| program.lose_update(old.epoch.pc, self.access.epoch.pc);
            !same_value || self.program.is_some_and(lost)
        });
        let writer = writer.map(|old| self.race(RaceKind::WriteAfterWrite, old));
        let kind = |old: &Access| {
            if old.epoch.writes { RaceKind::WriteAfterWrite } else { RaceKind::WriteAfterRead }
        };
        writer.or(reader.map(|old| self.race(kind(&old), old)))
    }

    /// Like [`Self::check_byte`], for a byte with more readers than are remembered. Valid only as long as all synchronisation is
    /// by barriers of all warps.
    pub(crate) fn check_shortened(
        &self,
        classes: &ByteClasses,
        known: &mut ByteHistory,
        own: Accessor,
    ) -> Result<Option<Race>, PackError> {
        let LastAccesses { writer, readers: [reader, _] } = known.last;
        let writer = self.conflict(self.unordered_accessor(classes, writer));
        let of_reader = classes.access(reader).ok_or(PackError::Unfit)?;
        let unordered = self.unordered_accessor(classes, reader);
        let same_warp = reader.warp() == own.warp();
        let as_strong = of_reader.epoch.strong == self.access.epoch.strong;
        if self.kind == AccessKind::Read {
            match known.other_readers {
                OtherReaders::Warps if as_strong || !of_reader.epoch.strong => {}
                OtherReaders::Lanes if as_strong && same_warp => {
                    if unordered.is_none() {
                        known.last.readers[0] = own;
                        known.other_readers = OtherReaders::None;
                    }
                }
                OtherReaders::Lanes if as_strong => known.other_readers = OtherReaders::Warps,
                _ => return Err(PackError::Unfit),
            }
            return Ok(writer.map(|old| self.race(RaceKind::ReadAfterWrite, old)));
        }
        known.last.writer = own;
        if let Some(old) = writer.filter(|_| !self.unchanged) {
            return Ok(Some(self.race(RaceKind::WriteAfterWrite, old)));
        }
        if let Some(old) = self.conflict(unordered) {
            return Ok(Some(self.race(RaceKind::WriteAfterRead, old)));
        }
        let both_strong = of_reader.epoch.strong && self.access.epoch.strong;
        let forgotten = match known.other_readers {
            OtherReaders::None => false,
            // If it is the one that is remembered, it is not the other.
            OtherReaders::Lanes => unordered.is_some(),
            // It is of one warp only.
            OtherReaders::Warps => true,
        };
        let race = Race {
            kind: RaceKind::WriteAfterRead,
            other: None,
            same_warp: known.other_readers == OtherReaders::Lanes,
        };
        Ok((forgotten && !both_strong).then_some(race))
    }

    /// Like [`Self::check`], for a shadow word.
    #[inline]
    pub(crate) fn check_word(
        &self,
        epochs: &EpochTable,
        shadow: &mut ShadowWord,
        word: Option<bool>,
    ) -> Option<Race> {
        let mut last = LastAccesses::of(*shadow);
        let (known, unordered) = (|old| epochs.get(old), |old| self.unordered(epochs, old));
        let race = self.check(&mut last, self.access_id, word, known, unordered);
        *shadow = last.packed();
        race
    }

    /// Like [`Self::check`], for a byte.
    pub(crate) fn check_byte(
        &self,
        classes: &ByteClasses,
        known: &mut ByteHistory,
        own: Accessor,
    ) -> Option<Race> {
        let unordered = |accessor| self.unordered_accessor(classes, accessor);
        // The values of single bytes are not kept: an access says itself whether it changes one.
        self.check(&mut known.last, own, None, |accessor| classes.access(accessor), unordered)
    }
}
