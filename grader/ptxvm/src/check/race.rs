//! Races: two accesses of one word by different threads, at least one a write, with no barrier between. Here those in
//! shared memory; those in global memory are in [`super::global_race`].
//!
//! Happens-before by vector clocks of warps, with one shadow entry for each word (Flanagan and Freund, "`FastTrack`", 2009). A
//! warp's clock moves on at every barrier it passes. An earlier access by another warp is ordered if this warp has, through
//! a barrier, seen that warp's clock of then; one by another lane of the same warp, if the own clock has moved on since.

use std::collections::HashMap;

use super::global_race::GlobalRaces;
use super::release::Releases;
use crate::finding::{AccessKind, FindingKind, Log, RaceKind};
use crate::hooks::{Event, Monitor, WordReads};
use crate::ir::Pc;
use crate::memory::Window;

/// Warps of a block at most.
const WARPS: usize = 32;

/// Who touched a word, when, and by which instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stamp {
    /// 0: nobody yet; warps start at 1.
    clock: u32,
    pc: Pc,
    /// Index in the block.
    thread: u16,
    /// Atomic or volatile: such accesses do not race among themselves.
    strong: bool,
}

/// The last accesses of a word. Of unordered readers the first and the latest are kept: a writer is at most one of them.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    writer: Stamp,
    value: u32,
    readers: [Stamp; 2],
    /// Bytes of the word have entries of their own.
    split: bool,
}

/// What each warp knows of the others' clocks, and its own.
pub(super) type Clocks = [[u32; WARPS]; WARPS];

/// The checker of blocks, one after another.
#[derive(Debug)]
pub(crate) struct Races {
    clocks: Box<Clocks>,
    /// For each warp, the clock up to which everybody's accesses are ordered before it.
    floors: [u32; WARPS],
    /// Warps of the block.
    warps: usize,
    shadow: Shadow,
    releases: Releases,
    pub global: GlobalRaces,
}

/// The entries of shared memory.
#[derive(Debug, Default)]
struct Shadow {
    words: Vec<Entry>,
    /// For each word the clock of its writer, or the highest if the word is split, and the lower one of its readers' clocks:
    /// what most reads need to know, side by side.
    writers: Vec<u32>,
    readers: Vec<u32>,
    /// Words that are accessed in parts have an entry for each byte instead, by address.
    parts: HashMap<u32, Entry>,
}

impl Races {
    /// A checker that has seen nothing.
    pub fn new(global: GlobalRaces) -> Self {
        Self {
            clocks: Box::new([[0; WARPS]; WARPS]),
            floors: [0; WARPS],
            warps: 0,
            shadow: Shadow::default(),
            releases: Releases::default(),
            global,
        }
    }

    /// Bytes of what is known of shared memory.
    pub fn shared_bytes(&self) -> usize {
        let words = self.shadow.words.len() * (size_of::<Entry>() + 2 * size_of::<u32>());
        // A table keeps every eighth place free, and a byte for each.
        let parts = self.shadow.parts.capacity() / 7 * 8 * (size_of::<(u32, Entry)>() + 1);
        words + parts + self.releases.bytes()
    }
}

/// Whether a stamp lies before everything that `warp` does now.
#[inline(always)]
fn ordered(clocks: &Clocks, stamp: Stamp, warp: usize) -> bool {
    let by = usize::from(stamp.thread) / 32 % WARPS;
    let seen = clocks[warp][by];
    if by == warp { stamp.clock < seen } else { stamp.clock <= seen }
}

/// One access, and what its warp knows.
struct Now<'c> {
    stamp: Stamp,
    warp: usize,
    clocks: &'c Clocks,
    floor: u32,
    kind: AccessKind,
    /// The word that is stored, where it is a single one.
    value: Option<u32>,
}

impl Now<'_> {
    #[inline(always)]
    fn unordered(&self, old: Stamp) -> bool {
        old.clock > self.floor && !ordered(self.clocks, old, self.warp)
    }

    #[inline(always)]
    fn conflicts(&self, old: Stamp) -> bool {
        self.unordered(old) && old.thread != self.stamp.thread && !(old.strong && self.stamp.strong)
    }

    /// The conflict of this access with an earlier one, if there is one. Updates the entry.
    #[inline(always)]
    fn visit(&self, entry: &mut Entry) -> Option<(RaceKind, Stamp)> {
        if self.kind == AccessKind::Read { self.read(entry) } else { self.write(entry) }
    }

    #[inline(always)]
    fn read(&self, entry: &mut Entry) -> Option<(RaceKind, Stamp)> {
        let [first, second] = entry.readers;
        if !self.unordered(first) {
            entry.readers[0] = self.stamp;
        } else if first.thread != self.stamp.thread && !self.unordered(second) {
            entry.readers[1] = self.stamp;
        }
        self.conflicts(entry.writer).then_some((RaceKind::ReadAfterWrite, entry.writer))
    }

    fn write(&self, entry: &mut Entry) -> Option<(RaceKind, Stamp)> {
        let reader = entry.readers.into_iter().find(|&reader| self.conflicts(reader));
        let mut found = reader.map(|reader| (RaceKind::WriteAfterRead, reader));
        // Two writes of the same value leave the same memory in either order.
        let same_value = self.value.is_some_and(|value| value == entry.value);
        if self.conflicts(entry.writer) && !same_value {
            found = Some((RaceKind::WriteAfterWrite, entry.writer));
        }
        entry.writer = self.stamp;
        if let Some(value) = self.value {
            entry.value = value;
        }
        found
    }
}

impl Shadow {
    /// The usual access to a whole word, which nothing before it can race with; false, and nothing done, where it is another.
    #[inline(always)]
    fn visit_quietly(&mut self, word: usize, now: &Now) -> bool {
        let Some(entry) = self.words.get_mut(word) else { return false };
        if entry.split || entry.writer.clock > now.floor {
            return false;
        }
        let [first, second] = entry.readers;
        if now.kind == AccessKind::Read {
            if first.clock <= now.floor {
                entry.readers[0] = now.stamp;
            } else if first.thread == now.stamp.thread || second.clock > now.floor {
                return true;
            } else {
                let place = usize::from(now.unordered(first));
                entry.readers[place] = now.stamp;
            }
            let [first, second] = entry.readers;
            self.readers[word] = first.clock.min(second.clock);
        } else {
            if first.clock.max(second.clock) > now.floor {
                return false;
            }
            entry.writer = now.stamp;
            if let Some(value) = now.value {
                entry.value = value;
            }
            self.writers[word] = now.stamp.clock;
        }
        true
    }

    /// Whether nothing happened to a word up to a clock but reads of two threads, as which a third one tells nothing new.
    #[inline(always)]
    fn is_read(&self, word: usize, floor: u32) -> bool {
        self.writers.get(word).is_some_and(|&clock| clock <= floor)
            && self.readers.get(word).is_some_and(|&clock| clock > floor)
    }

    #[inline(always)]
    fn knows_words(&self, reads: &WordReads, floor: u32) -> bool {
        let near = reads.words.span().and_then(|span| {
            let readers = self.readers.get(span.clone())?;
            Some(self.writers.get(span)?.iter().zip(readers))
        });
        // No short cut out of the loop, so that it vectorises.
        let news = |news, (&writer, &reader): (&u32, &u32)| {
            news | u32::from(writer > floor) | u32::from(reader <= floor)
        };
        if near.is_some_and(|near| near.fold(0, news) == 0) {
            return true;
        }
        reads.words.all(reads.mask, |word| self.is_read(word, floor))
    }

    /// Visits the entries of one lane's access: one for each word, or for each byte of split words. The first race.
    fn visit(&mut self, address: u32, size: u32, now: &Now) -> Option<(RaceKind, Stamp, u32)> {
        let mut race = None;
        for word in address / 4..(address + size).div_ceil(4) {
            let entry = self.words.get_mut(word as usize)?;
            let (from, to) = (address.max(word * 4), (address + size).min(word * 4 + 4));
            if to - from == 4 && !entry.split {
                let found = now.visit(entry);
                let [first, second] = entry.readers;
                self.writers[word as usize] = entry.writer.clock;
                self.readers[word as usize] = first.clock.min(second.clock);
                race = race.or(found.map(|(kind, other)| (kind, other, word * 4)));
                continue;
            }
            if !entry.split {
                entry.split = true;
                self.writers[word as usize] = u32::MAX;
                for byte in word * 4..word * 4 + 4 {
                    self.parts.insert(byte, *entry);
                }
            }
            for byte in from..to {
                // The values of single bytes are not kept: every write counts as a different one.
                let part = Now { value: None, ..*now };
                let found = part.visit(self.parts.entry(byte).or_default());
                race = race.or(found.map(|(kind, other)| (kind, other, byte)));
            }
        }
        race
    }
}

impl Monitor for Races {
    fn block_start(&mut self, shared_bytes: u32, warps: u32) {
        self.global.block_start();
        self.releases.clear();
        self.warps = warps as usize;
        let words = (shared_bytes as usize).div_ceil(4);
        let highest = self.clocks.iter().flatten().copied().max().unwrap_or(0);
        // Clocks of a block start above those of the block before, so what that one left counts as ordered.
        let mut base = highest + 1;
        if self.shadow.words.len() != words || highest > u32::MAX / 2 {
            self.shadow.words = vec![Entry::default(); words];
            self.shadow.writers = vec![0; words];
            self.shadow.readers = vec![0; words];
            base = 1;
        }
        for (byte, _) in self.shadow.parts.drain() {
            if let Some(entry) = self.shadow.words.get_mut(byte as usize / 4) {
                entry.split = false;
                self.shadow.writers[byte as usize / 4] = entry.writer.clock;
            }
        }
        for (warp, clocks) in self.clocks.iter_mut().enumerate() {
            // Nothing of this block is seen yet.
            clocks.fill(base - 1);
            clocks[warp] = base;
        }
        self.floors = [base - 1; WARPS];
    }

    #[inline(always)]
    fn access(&mut self, event: &Event, log: &mut Log) {
        if event.window == Window::Shared && event.done != 0 {
            self.shared_access(event, log);
        } else if event.window == Window::Global {
            self.global.access(event, &self.clocks, log);
        }
        if event.strong
            && let Some(ordering) = event.program.ordering(event.pc)
            && self.releases.order(event, ordering, &mut self.clocks)
        {
            // What follows is later than what was released.
            self.tick(event.warp as usize % WARPS);
        }
    }

    #[inline(always)]
    fn knows(&self, reads: &WordReads) -> bool {
        match reads.window {
            Window::Shared => {
                self.shadow.knows_words(reads, self.floors[reads.warp as usize % WARPS])
            }
            Window::Global => self.global.knows(reads),
            _ => true,
        }
    }

    fn barrier(&mut self, warps: u32) {
        let members = || crate::warp::lanes(warps);
        let mut joined = [0; WARPS];
        for warp in members() {
            for (all, &clock) in joined.iter_mut().zip(&self.clocks[warp]) {
                *all = clock.max(*all);
            }
        }
        for warp in members() {
            self.clocks[warp] = joined;
            self.tick(warp);
        }
    }

    fn warp_barrier(&mut self, warp: u32) {
        self.tick(warp as usize % WARPS);
    }

    fn exchange(&mut self, common: &mut Self) {
        std::mem::swap(&mut self.global, &mut common.global);
    }

    fn resume(&mut self, block: u64) {
        self.global.resume(block);
    }
}

impl Races {
    /// Moves a warp's own clock on.
    fn tick(&mut self, warp: usize) {
        let clocks = &mut self.clocks[warp];
        clocks[warp] = clocks[warp].saturating_add(1);
        let own = clocks[warp] - 1;
        let others = clocks.iter().take(self.warps).enumerate().filter(|&(other, _)| other != warp);
        self.floors[warp] = others.map(|(_, &clock)| clock).fold(own, u32::min);
    }

    fn shared_access(&mut self, event: &Event, log: &mut Log) {
        let warp = event.warp as usize % WARPS;
        let mut now = Now {
            stamp: Stamp {
                clock: self.clocks[warp][warp],
                pc: event.pc,
                thread: 0,
                strong: event.strong,
            },
            warp,
            clocks: &self.clocks,
            floor: self.floors[warp],
            kind: event.kind,
            value: None,
        };
        let stored = event.stored.map(|register| event.registers.r(register));
        let (mut last, mut repeated) = (u64::MAX, 0);
        for lane in crate::warp::lanes(event.telling) {
            let address = event.addresses[lane];
            if event.kind == AccessKind::Read {
                // Of many lanes that read one word, two are as good as all.
                repeated = if address == last { repeated + 1 } else { 0 };
                last = address;
                if repeated > 1 {
                    continue;
                }
            }
            let thread = event.warp * 32 + lane as u32;
            now.stamp.thread = thread as u16;
            now.value = stored.map(|stored| stored[lane]);
            if event.size == 4 && self.shadow.visit_quietly((address / 4) as usize, &now) {
                continue;
            }
            if let Some((kind, other, at)) = self.shadow.visit(address as u32, event.size, &now) {
                let same_warp = u32::from(other.thread) / 32 == event.warp;
                // Two sums over tiles of several warps use one word of each warp with nothing but a shuffle in between. That is
                // CUDA's own way, whatever one thinks of it.
                if same_warp && [event.pc, other.pc].iter().all(|&pc| event.program.in_groups(pc)) {
                    continue;
                }
                let finding = FindingKind::SharedRace {
                    kind,
                    size: event.size,
                    offset: at.into(),
                    other: event.program.place(other.pc).cloned(),
                    other_thread: event.thread_coordinates(other.thread.into()),
                    same_warp,
                };
                log.record(finding, event.pc, thread, 1);
            }
        }
    }
}
