//! What is known of the shared memory of a block: for each word who wrote it last and two who read it, in 12 bytes.
//!
//! An access is named by an event, which is one instruction of one warp between two of its barriers, and a lane. Events have rising
//! numbers, so one comparison tells those before the last barrier of all warps, about which nothing more need be known.

#[cfg(test)]
mod tests;

use super::know::Seen;
use super::race::{Clocks, WARPS};
use crate::finding::{AccessKind, RaceKind};
use crate::hooks::WordReads;
use crate::ir::Pc;

/// Bits of a lane.
const LANE_BITS: u32 = 5;
/// Bits of a mark: an event and a lane.
const MARK_BITS: u32 = 21;
/// Events that have numbers, from 1 on.
const MAX_EVENT: usize = (1 << (MARK_BITS - LANE_BITS)) - 1;
/// So many are kept in any case.
const MIN_EVENTS: usize = 1 << 10;
/// Events that a new one is compared with, by instruction and warp.
const RECENT: usize = 256;

/// A lane of an event; 0: nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mark(u32);

impl Mark {
    pub fn new(event: u32, lane: usize) -> Self {
        Self(event << LANE_BITS | (lane as u32 & 31))
    }

    fn event(self) -> u32 {
        self.0 >> LANE_BITS
    }
}

/// The last accesses of a word: writer, first and latest reader from the lowest bit on. A writer is at most one of the readers.
#[derive(Clone, Copy, Debug, Default)]
struct Entry(u64);

impl Entry {
    const WRITER: u32 = 0;
    const READERS: [u32; 2] = [MARK_BITS, 2 * MARK_BITS];
    /// Bytes of the word have entries of their own.
    const SPLIT: u64 = 1 << (3 * MARK_BITS);

    #[inline(always)]
    fn get(self, shift: u32) -> Mark {
        Mark((self.0 >> shift) as u32 & ((1 << MARK_BITS) - 1))
    }

    #[inline(always)]
    fn set(&mut self, shift: u32, mark: Mark) {
        self.0 = self.0 & !(((1 << MARK_BITS) - 1) << shift) | u64::from(mark.0) << shift;
    }

    #[inline(always)]
    fn is_split(self) -> bool {
        self.0 & Self::SPLIT != 0
    }

    /// Whether nothing happened after the first event but reads of two threads after the second one, as which a third one tells
    /// nothing new.
    #[inline(always)]
    fn is_read(self, floor: u32, since: u32) -> bool {
        let [first, second] = Self::READERS.map(|reader| self.get(reader).event());
        !self.is_split() & (self.get(Self::WRITER).event() <= floor) & (first.min(second) > since)
    }
}

/// What the lanes of one warp have in common when they access memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    /// Of the warp.
    pub clock: u32,
    pub pc: Pc,
    pub warp: u8,
    /// Atomic or volatile: such accesses do not race among themselves.
    pub strong: bool,
}

/// An access in full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Access {
    pub event: Event,
    /// Index in the block.
    pub thread: u32,
}

/// Events since the last barrier of all warps.
#[derive(Debug)]
struct Events {
    all: Vec<Event>,
    /// The number of the first of them.
    base: u32,
    recent: [u32; RECENT],
    /// For each warp, the event up to which everything is ordered before it.
    floors: [u32; WARPS],
    /// For each warp, the latest event when it learnt last what lies before it: later ones do not.
    since: [u32; WARPS],
    /// The highest clock of each warp's events.
    latest: [u32; WARPS],
    /// So many are kept without asking whether somebody still refers to them.
    limit: usize,
}

impl Events {
    /// The number of the latest event.
    fn last(&self) -> u32 {
        self.base + self.all.len() as u32 - 1
    }

    fn number(&mut self, event: Event) -> u32 {
        let recent = (event.pc as usize * 8 + usize::from(event.warp)) % RECENT;
        let known = self.recent[recent];
        if known >= self.base && self.all.get((known - self.base) as usize) == Some(&event) {
            return known;
        }
        self.all.push(event);
        let latest = &mut self.latest[usize::from(event.warp) % WARPS];
        *latest = event.clock.max(*latest);
        self.recent[recent] = self.last();
        self.last()
    }

    /// Those so far lie before everything that comes.
    fn pass(&mut self) {
        self.base = self.last() + 1;
        self.floors = [self.base - 1; WARPS];
        self.since = self.floors;
        self.all.clear();
        self.latest = [0; WARPS];
    }
}

/// One access, and what its warp knows.
pub(super) struct Now<'c> {
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
}

impl Now<'_> {
    fn warp(&self) -> usize {
        usize::from(self.access.event.warp) % WARPS
    }

    /// An access, unless it lies before this one.
    #[inline(always)]
    fn unordered(&self, events: &Events, old: Mark) -> Option<Access> {
        let warp = self.warp();
        if old.event() <= events.floors[warp] {
            return None;
        }
        let event = *events.all.get((old.event() - events.base) as usize)?;
        let by = usize::from(event.warp) % WARPS;
        let lane = old.0 % 32;
        let ordered = if by == warp {
            event.clock < self.met || self.own.covers(event.clock, lane)
        } else {
            event.clock <= self.clocks[warp][by]
        };
        (!ordered).then_some(Access { event, thread: u32::from(event.warp) * 32 + lane })
    }

    #[inline(always)]
    fn conflict(&self, events: &Events, old: Mark) -> Option<Access> {
        let both_strong = |old: &Access| old.event.strong && self.access.event.strong;
        self.unordered(events, old)
            .filter(|old| old.thread != self.access.thread && !both_strong(old))
    }

    /// The conflict of this access with an earlier one, if there is one. Updates the entry, and the value of a whole word.
    fn visit(
        &self,
        events: &Events,
        entry: &mut Entry,
        value: Option<&mut u32>,
    ) -> Option<(RaceKind, Access)> {
        let writer = self.conflict(events, entry.get(Entry::WRITER));
        let [first, second] = Entry::READERS;
        if self.kind == AccessKind::Read {
            match self.unordered(events, entry.get(first)) {
                None => entry.set(first, self.mark),
                Some(old) if old.thread == self.access.thread => {}
                Some(_) if self.unordered(events, entry.get(second)).is_none() => {
                    entry.set(second, self.mark);
                }
                Some(_) => {}
            }
            return writer.map(|old| (RaceKind::ReadAfterWrite, old));
        }
        let reader = self.conflict(events, entry.get(first));
        let reader = reader.or_else(|| self.conflict(events, entry.get(second)));
        entry.set(Entry::WRITER, self.mark);
        // Two writes of the same value leave the same memory in either order.
        let mut same_value = false;
        if let (Some(new), Some(old)) = (self.value, value) {
            same_value = *old == new;
            *old = new;
        }
        let writer = writer.filter(|_| !same_value).map(|old| (RaceKind::WriteAfterWrite, old));
        writer.or(reader.map(|old| (RaceKind::WriteAfterRead, old)))
    }
}

/// The entries of shared memory.
#[derive(Debug)]
pub(super) struct Shadow {
    words: Vec<Entry>,
    /// What was stored last in each word; of a split word, where its bytes' entries are.
    values: Vec<u32>,
    /// Of words that are accessed in parts.
    parts: Vec<[Entry; 4]>,
    events: Events,
}

impl Default for Shadow {
    fn default() -> Self {
        let events = Events {
            all: Vec::new(),
            base: 1,
            recent: [0; RECENT],
            floors: [0; WARPS],
            since: [0; WARPS],
            latest: [0; WARPS],
            limit: MIN_EVENTS,
        };
        Self { words: Vec::new(), values: Vec::new(), parts: Vec::new(), events }
    }
}

impl Shadow {
    /// A block with so many words begins.
    pub fn begin(&mut self, words: usize) {
        if self.words.len() != words {
            self.words = vec![Entry::default(); words];
            self.values = vec![0; words];
        } else if !self.parts.is_empty() {
            for entry in &mut self.words {
                entry.0 &= !Entry::SPLIT;
            }
        }
        self.parts.clear();
        self.events.pass();
    }

    /// The number of an event; equal ones share it where they follow each other.
    pub fn number(&mut self, event: Event) -> u32 {
        let Events { all, limit, .. } = &self.events;
        if self.events.last() as usize == MAX_EVENT || all.len() >= *limit {
            self.renumber();
        }
        self.events.number(event)
    }

    /// A warp of a block of so many knows of these clocks now, and its lanes have met at its clock `met`.
    pub fn raise_floor(&mut self, warp: usize, clocks: &[u32; WARPS], met: u32, warps: usize) {
        let events = &mut self.events;
        events.since[warp] = events.last();
        let lies_before =
            |by: usize, clock: u32| if by == warp { clock < met } else { clock <= clocks[by] };
        if events.latest.iter().take(warps).enumerate().all(|(by, &clock)| lies_before(by, clock)) {
            events.floors[warp] = events.last();
            return;
        }
        let next = (events.floors[warp] + 1).max(events.base);
        let rest = events.all[(next - events.base) as usize..].iter();
        let passed = rest.take_while(|e| lies_before(usize::from(e.warp) % WARPS, e.clock));
        events.floors[warp] = next - 1 + passed.count() as u32;
    }

    /// Warps have met. If these are all, what they have done need not be known any more.
    pub fn settle(&mut self, warps: usize) {
        let last = self.events.last();
        if self.events.floors.iter().take(warps).all(|&floor| floor == last) {
            self.events.pass();
        }
    }

    /// Gives up events that nobody refers to and numbers the others anew.
    fn renumber(&mut self) {
        let Self { words, parts, events, .. } = self;
        let mut numbers = vec![0; events.all.len()];
        let entries = || words.iter().chain(parts.iter().flatten());
        let shifts = [Entry::WRITER, Entry::READERS[0], Entry::READERS[1]];
        for mark in entries().flat_map(|entry| shifts.map(|shift| entry.get(shift))) {
            if mark.event() >= events.base {
                numbers[(mark.event() - events.base) as usize] = 1;
            }
        }
        // Where hardly any can be given up, what comes is compared with what comes later only.
        let count: u32 = numbers.iter().sum();
        if count as usize > MAX_EVENT / 8 * 7 {
            numbers.fill(0);
        }
        let mut kept = Vec::new();
        let (mut floors, mut since) = ([0; WARPS], [0; WARPS]);
        for (index, number) in numbers.iter_mut().enumerate() {
            if *number != 0 {
                kept.push(events.all[index]);
                *number = kept.len() as u32;
            }
            let bounds = floors.iter_mut().zip(&events.floors);
            for (new, &old) in bounds.chain(since.iter_mut().zip(&events.since)) {
                if events.base + index as u32 <= old {
                    *new = kept.len() as u32;
                }
            }
        }
        for entry in words.iter_mut().chain(parts.iter_mut().flatten()) {
            for shift in shifts {
                let mark = entry.get(shift);
                let number = mark.event().checked_sub(events.base);
                let number = number.map_or(0, |index| numbers[index as usize]);
                let mark = if number == 0 { Mark(0) } else { Mark::new(number, mark.0 as usize) };
                entry.set(shift, mark);
            }
        }
        let limit = (2 * kept.len()).max(MIN_EVENTS);
        let latest = events.latest;
        *events = Events { all: kept, base: 1, recent: [0; RECENT], floors, since, latest, limit };
    }

    /// The usual access to a whole word, which nothing before it can race with; false, and nothing done, where it is another.
    #[inline(always)]
    pub fn visit_quietly(&mut self, word: usize, now: &Now) -> bool {
        let (floor, since) = (self.events.floors[now.warp()], self.events.since[now.warp()]);
        let Some(entry) = self.words.get_mut(word) else { return false };
        if entry.is_split() || entry.get(Entry::WRITER).event() > floor {
            return false;
        }
        let [first, second] = Entry::READERS;
        let news = [first, second].map(|reader| entry.get(reader).event() > floor);
        if now.kind == AccessKind::Read {
            match news {
                [false, _] => entry.set(first, now.mark),
                [true, true] => return entry.is_read(floor, since),
                [true, false] => match now.unordered(&self.events, entry.get(first)) {
                    Some(old) if old.thread == now.access.thread => {}
                    Some(_) => entry.set(second, now.mark),
                    None => entry.set(first, now.mark),
                },
            }
        } else {
            if news != [false; 2] {
                return false;
            }
            entry.set(Entry::WRITER, now.mark);
            if let Some(value) = now.value {
                self.values[word] = value;
            }
        }
        true
    }

    /// Whether reads of words tell nothing new.
    #[inline(always)]
    pub fn knows_words(&self, reads: &WordReads) -> bool {
        let warp = reads.warp as usize % WARPS;
        let (floor, since) = (self.events.floors[warp], self.events.since[warp]);
        let near = reads.words.span().and_then(|span| self.words.get(span));
        // No short cut out of the loop, so that it vectorises.
        if near.is_some_and(|near| {
            near.iter().fold(true, |all, entry| all & entry.is_read(floor, since))
        }) {
            return true;
        }
        let is_read =
            |word| self.words.get(word).is_some_and(|entry: &Entry| entry.is_read(floor, since));
        reads.words.all(reads.mask, is_read)
    }

    /// Visits the entries of one lane's access: one for each word, or for each byte of split words. The first race, and where.
    pub fn visit(&mut self, address: u32, size: u32, now: &Now) -> Option<(RaceKind, Access, u32)> {
        let mut race = None;
        for word in address / 4..(address + size).div_ceil(4) {
            let index = word as usize;
            let entry = self.words.get_mut(index)?;
            let (from, to) = (address.max(word * 4), (address + size).min(word * 4 + 4));
            if to - from == 4 && !entry.is_split() {
                let found = now.visit(&self.events, entry, self.values.get_mut(index));
                race = race.or(found.map(|(kind, other)| (kind, other, word * 4)));
                continue;
            }
            if !entry.is_split() {
                self.values[index] = self.parts.len() as u32;
                // The usual doubling would leave half of the list empty.
                if self.parts.len() == self.parts.capacity() {
                    self.parts.reserve_exact(self.parts.len() / 8 + 16);
                }
                self.parts.push([*entry; 4]);
                entry.0 |= Entry::SPLIT;
            }
            let parts = self.parts.get_mut(self.values[index] as usize)?;
            for byte in from..to {
                // The values of single bytes are not kept: every write counts as a different one.
                let found = now.visit(&self.events, &mut parts[byte as usize % 4], None);
                race = race.or(found.map(|(kind, other)| (kind, other, byte)));
            }
        }
        race
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        let words = self.words.len() * (size_of::<Entry>() + size_of::<u32>());
        let events = self.events.all.capacity() * size_of::<Event>() + size_of::<Events>();
        words + self.parts.capacity() * size_of::<[Entry; 4]>() + events
    }
}
