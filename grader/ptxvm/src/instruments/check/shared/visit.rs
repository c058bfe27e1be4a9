//! How a new access of a place in shared memory stands to the last ones.

use crate::finding::{AccessKind, RaceKind};
use crate::instruments::check::clocks::{Clocks, WARPS};
use crate::instruments::check::order::vector_clock::Seen;
use crate::instruments::check::shared::classes::{Classes, Doer, Known, More, Refusal};
use crate::instruments::check::shared::events::{Access, Event, Events};
use crate::instruments::check::shared::last::Last;
use crate::machine::simd::shadow_words::Mark;
use crate::program::code::Program;

/// One access, and what its warp knows.
pub(crate) struct Now<'c> {
    /// Of accesses to whole words.
    pub mark: Mark,
    pub access: Access,
    pub clocks: &'c Clocks,
    /// The warp's clock when its lanes met last.
    pub met: u32,
    /// What its lanes know of each other since.
    pub own: Seen,
    pub kind: AccessKind,
    /// The word that is stored, where it is a single one.
    pub value: Option<u32>,
    /// A part of a word is stored, and holds the same already.
    pub unchanged: bool,
    pub program: Option<&'c Program>,
}

/// What an access races with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Race {
    pub kind: RaceKind,
    /// None: a reader that was not remembered.
    pub other: Option<Access>,
    pub same_warp: bool,
}

impl Now<'_> {
    #[inline(always)]
    pub fn warp(&self) -> usize {
        usize::from(self.access.event.warp) % WARPS
    }

    /// Whether what a lane did lies before this access.
    #[inline(always)]
    fn follows(&self, event: &Event, lane: u32) -> bool {
        let (warp, by) = (self.warp(), usize::from(event.warp) % WARPS);
        if by == warp {
            event.clock < self.met || self.own.covers(event.clock, lane)
        } else {
            event.clock <= self.clocks[warp][by]
        }
    }

    /// An access, unless it lies before this one.
    #[inline(always)]
    pub(crate) fn unordered(&self, events: &Events, old: Mark) -> Option<Access> {
        if old.event() <= events.floors[self.warp()] {
            return None;
        }
        events.get(old).filter(|access| !self.follows(&access.event, old.lane()))
    }

    fn unordered_doer(&self, classes: &Classes, old: Doer) -> Option<Access> {
        classes.access(old).filter(|access| !self.follows(&access.event, access.thread % 32))
    }

    fn race(&self, kind: RaceKind, other: Access) -> Race {
        let same_warp = other.event.warp == self.access.event.warp;
        Race { kind, other: Some(other), same_warp }
    }

    /// What this access conflicts with, of what does not lie before it.
    #[inline(always)]
    fn conflict(&self, old: Option<Access>) -> Option<Access> {
        let both_strong = |old: &Access| old.event.strong && self.access.event.strong;
        old.filter(|old| old.thread != self.access.thread && !both_strong(old))
    }

    /// The conflict of this access with an earlier one, if there is one. Takes note of it. `word`: of a whole word, whether it
    /// writes what the last write did.
    #[inline(always)]
    pub(crate) fn visit<M: Copy>(
        &self,
        last: &mut Last<M>,
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
                        second.event.warp == old.event.warp
                            && old.event.warp != self.access.event.warp
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
        let is_plain = |old: Access| !old.event.strong;
        if self.access.event.strong
            && known(last.writer).is_some_and(is_plain)
            && let Some(place) = last.readers.iter_mut().find(|old| unordered(**old).is_none())
        {
            *place = last.writer;
        }
        last.writer = own;
        // Two writes of the same value leave the same memory in either order.
        let writer = writer.filter(|old| {
            let same_word = word == Some(true) && old.event.valued;
            !same_word && !self.unchanged
        });
        let writer = writer.map(|old| self.race(RaceKind::WriteAfterWrite, old));
        let kind = |old: &Access| {
            if old.event.writes { RaceKind::WriteAfterWrite } else { RaceKind::WriteAfterRead }
        };
        writer.or(reader.map(|old| self.race(kind(&old), old)))
    }

    /// The same for a byte of which there were more readers than are remembered.
    /// Only as long as all that warps know of each other comes from barriers of all of them.
    pub(crate) fn visit_shortened(
        &self,
        classes: &Classes,
        known: &mut Known,
        own: Doer,
    ) -> Result<Option<Race>, Refusal> {
        let Last { writer, readers: [reader, _] } = known.last;
        let writer = self.conflict(self.unordered_doer(classes, writer));
        let of_reader = classes.access(reader).ok_or(Refusal::Unfit)?;
        let unordered = self.unordered_doer(classes, reader);
        let same_warp = reader.warp() == own.warp();
        let as_strong = of_reader.event.strong == self.access.event.strong;
        if self.kind == AccessKind::Read {
            match known.more {
                More::Warps if as_strong || !of_reader.event.strong => {}
                More::Lanes if as_strong && same_warp => {
                    if unordered.is_none() {
                        known.last.readers[0] = own;
                        known.more = More::None;
                    }
                }
                More::Lanes if as_strong => known.more = More::Warps,
                _ => return Err(Refusal::Unfit),
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
        let both_strong = of_reader.event.strong && self.access.event.strong;
        let forgotten = match known.more {
            More::None => false,
            // If it is the one that is remembered, it is not the other.
            More::Lanes => unordered.is_some(),
            // It is of one warp only.
            More::Warps => true,
        };
        let race = Race {
            kind: RaceKind::WriteAfterRead,
            other: None,
            same_warp: known.more == More::Lanes,
        };
        Ok((forgotten && !both_strong).then_some(race))
    }

    /// As [`Self::visit`] for a byte.
    pub(crate) fn visit_byte(
        &self,
        classes: &Classes,
        known: &mut Known,
        own: Doer,
    ) -> Option<Race> {
        let unordered = |doer| self.unordered_doer(classes, doer);
        // The values of single bytes are not kept: an access says itself whether it changes one.
        self.visit(&mut known.last, own, None, |doer| classes.access(doer), unordered)
    }
}
