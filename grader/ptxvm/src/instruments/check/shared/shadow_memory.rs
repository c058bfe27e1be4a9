//! What is known of the shared memory of a block: for each word who wrote it last and two who read it, in 12 bytes; for the
//! bytes of words that are accessed in parts, in 15.
//!
//! The accesses of words are named by [`super::events`], those of bytes by [`super::classes`]. Where a byte's do not fit there, its word gets
//! entries for each byte elsewhere, up to the next barrier of all warps.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::classes::{CELL_BITS, Cell, Classes, Doer, Known, More, NUMBERS, Refusal, vague};
use super::events::{Access, Event, Events};
use super::last::Last;
use super::visit::{Now, Race};
use crate::machine::simd::shadow_words::{Entry, Mark, ROW};

use crate::finding::AccessKind;
use crate::instruments::check::clocks::WARPS;
use crate::machine::monitor::WordReads;
use crate::machine::simd::dispatch::Simd;

/// Events that are kept in any case, where bytes have no cells and where they have.
const MIN_EVENTS: [usize; 2] = [384, 160];
/// Bits of the last cell of a word that lie in a list of their own. The others are in the entry and the value.
const REST_BITS: u32 = 24;
/// Words that may have entries elsewhere although that could be avoided, for then all is known of who raced.
const SPARE_PARTS: usize = 16;
/// Words that may have entries elsewhere in any case. What others do not fit into is forgotten: that may hide a race, but finds none.
const MAX_PARTS: usize = 1 << 11;

impl Entry {
    fn visit(&mut self, events: &Events, now: &Now, word: Option<bool>) -> Option<Race> {
        let mut last = self.last();
        let (known, unordered) = (|old| events.get(old), |old| now.unordered(events, old));
        let race = now.visit(&mut last, now.mark, word, known, unordered);
        *self = Self::of(last);
        race
    }
}

/// Entries of the bytes of a word.
#[derive(Debug)]
struct Part {
    word: u32,
    bytes: [Entry; 4],
}

/// The entries of shared memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    simd: &'static Simd,
    words: Vec<Entry>,
    /// What was stored last in each word; of a split word, a part of its cells, or where its entries are.
    values: Vec<u32>,
    /// What does not fit there of the cells of split words: of all words up to the last one of these.
    rest: Vec<[u8; 3]>,
    parts: Vec<Part>,
    events: Events,
    classes: Classes,
    /// Classes are nearly used up by those that cells refer to.
    crowded: bool,
    /// Instructions are no longer told apart by classes.
    coarse: bool,
    /// Warps have learnt of others otherwise than by a barrier of all of them.
    in_part: bool,
}

impl Shadow {
    /// A block with so many words begins.
    pub fn begin(&mut self, words: usize) {
        if self.words.len() != words {
            self.words = vec![Entry::default(); words];
            self.values = vec![0; words];
            self.rest = Vec::new();
            self.parts.clear();
        }
        self.pass();
    }

    /// The number of an event; equal ones share it where they follow each other.
    pub fn number(&mut self, event: Event) -> u32 {
        if self.events.is_full() {
            self.renumber();
        }
        self.events.number(event)
    }

    /// A warp of a block of so many knows of these clocks now, and its lanes have met at its clock `met`.
    pub fn raise_floor(&mut self, warp: usize, clocks: &[u32; WARPS], met: u32, warps: usize) {
        self.events.raise_floor(warp, clocks, met, warps);
    }

    /// Some warps have learnt of each other.
    pub fn learns_in_part(&mut self) {
        self.in_part = true;
    }

    /// Warps have met. If these are all, what they have done need not be known any more.
    pub fn settle(&mut self, warps: usize) {
        if self.events.all_passed(warps) {
            self.pass();
        }
    }

    /// Everything so far lies before everything that comes.
    fn pass(&mut self) {
        self.events.pass(self.event_limit());
        self.classes.pass();
        for part in std::mem::take(&mut self.parts) {
            self.join(part.word as usize);
        }
        (self.crowded, self.coarse, self.in_part) = (false, false, false);
    }

    /// So many events cost no more than cells of all words would.
    fn event_limit(&self) -> usize {
        let min = MIN_EVENTS[usize::from(!self.rest.is_empty())];
        min.max((self.words.len() - self.rest.len()) / 8)
    }

    fn renumber(&mut self) {
        let (limit, alike) = (self.event_limit(), !self.in_part);
        let Self { words, parts, events, .. } = self;
        events.renumber(limit, alike, |each| {
            words.iter_mut().filter(|entry| !entry.is_split()).for_each(&mut *each);
            parts.iter_mut().flat_map(|part| &mut part.bytes).for_each(each);
        });
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
            // What an atomic does not race with, others may.
            let hides = now.access.event.strong && self.events.has(entry.get(Entry::WRITER));
            if news != [false; 2] || hides {
                return false;
            }
            entry.set(Entry::WRITER, now.mark);
            if let Some(value) = now.value {
                self.values[word] = value;
            }
        }
        true
    }

    /// The usual plain access to a row of words, one by each lane in turn from that of the mark on, if no lane has released
    /// anything to another. `values`: what is stored, if that is known. False, and nothing done, where it is another.
    #[inline(always)]
    pub fn visit_row(&mut self, word: usize, now: &Now, values: Option<&[u32]>) -> bool {
        let floor = self.events.floors[now.warp()];
        let Some(row) = self.words.get_mut(word..).and_then(<[Entry]>::first_chunk_mut) else {
            return false;
        };
        if now.kind == AccessKind::Read {
            return (self.simd.note_reads)(row, floor, now.mark);
        }
        let quiet = (self.simd.note_writes)(row, floor, now.mark);
        if let Some(values) = values.filter(|_| quiet) {
            self.values[word..word + ROW].copy_from_slice(values);
        }
        quiet
    }

    /// Whether reads of words tell nothing new.
    #[inline(always)]
    pub fn knows_words(&self, reads: &WordReads) -> bool {
        let warp = reads.warp as usize % WARPS;
        let (floor, since) = (self.events.floors[warp], self.events.since[warp]);
        let near = reads.words.span().and_then(|span| self.words.get(span));
        if near.is_some_and(|near| (self.simd.all_read)(near, floor, since)) {
            return true;
        }
        let is_read = |word| {
            let entry: Option<&Entry> = self.words.get(word);
            entry.is_some_and(|entry| entry.is_read(floor, since))
        };
        reads.words.all(reads.mask, is_read)
    }

    /// Visits the entries of one lane's access: one for each word, or for each byte of split words. The first race, and where.
    pub fn visit(&mut self, address: u32, size: u32, now: &Now) -> Option<(Race, u32)> {
        let mut race = None;
        for word in address / 4..(address + size).div_ceil(4) {
            let index = word as usize;
            let entry = *self.words.get(index)?;
            let (from, to) = (address.max(word * 4), (address + size).min(word * 4 + 4));
            let whole = to - from == 4;
            if whole && entry.is_split() && self.is_over(index) {
                self.join(index);
            }
            if whole && !self.words[index].is_split() {
                let found = self.visit_word(index, now);
                race = race.or(found.map(|race| (race, word * 4)));
                continue;
            }
            if !entry.is_split() {
                self.split(index, now);
            }
            let bytes = (from - word * 4) as usize..(to - word * 4) as usize;
            let found = self.visit_bytes(index, bytes, now);
            race = race.or(found.map(|(race, byte)| (race, word * 4 + byte as u32)));
        }
        race
    }

    fn visit_word(&mut self, word: usize, now: &Now) -> Option<Race> {
        let mut same_value = false;
        if let (AccessKind::Write | AccessKind::Atomic, Some(new)) = (now.kind, now.value) {
            let old = std::mem::replace(&mut self.values[word], new);
            same_value = old == new;
        }
        self.words[word].visit(&self.events, now, Some(same_value))
    }

    /// The cells of a split word, or where its entries are.
    fn cells_or_part(&self, word: usize) -> Result<[Cell; 4], usize> {
        let entry = self.words[word].0;
        if entry & Entry::PART != 0 {
            return Err(self.values[word] as usize);
        }
        let [a, b, c] = self.rest.get(word).copied().unwrap_or_default();
        let value = self.values[word];
        let last = u32::from_le_bytes([a, b, c, 0])
            | value >> CELL_BITS << REST_BITS
            | ((entry >> (2 * CELL_BITS)) as u32) << (REST_BITS + u32::BITS - CELL_BITS);
        let bits = [entry as u32, (entry >> CELL_BITS) as u32, value, last];
        Ok(bits.map(Cell::from_bits))
    }

    fn set_cells(&mut self, word: usize, cells: [Cell; 4]) {
        let [first, second, third, last] = cells.map(Cell::bits);
        let over = last >> REST_BITS;
        let entry = u64::from(over >> (u32::BITS - CELL_BITS)) << (2 * CELL_BITS);
        let entry = entry | u64::from(second) << CELL_BITS | u64::from(first);
        self.words[word].0 = Entry::SPLIT | entry;
        self.values[word] = over << CELL_BITS | third;
        let [a, b, c, _] = last.to_le_bytes();
        if self.rest.len() <= word {
            self.grow_rest(word + 1);
        }
        self.rest[word] = [a, b, c];
    }

    fn grow_rest(&mut self, words: usize) {
        let room = self.rest.capacity();
        if room < words {
            // In steps, but never beyond the words that there are.
            let room = words.max(self.rest.len() / 8 * 9 + 16).min(self.words.len().max(words));
            self.rest.reserve_exact(room - self.rest.len());
        }
        self.rest.resize(words, [0; 3]);
        if self.rest.capacity() != room && self.events.limit() > self.event_limit() {
            self.renumber();
        }
    }

    /// Whether all that is known of the bytes of a split word lies before everything that comes.
    fn is_over(&self, word: usize) -> bool {
        let cells = self.cells_or_part(word);
        cells.is_ok_and(|cells| cells.iter().all(|&cell| self.classes.is_over(cell)))
    }

    /// A word about which nothing need be known is whole.
    fn join(&mut self, word: usize) {
        self.words[word] = Entry::default();
        self.values[word] = 0;
        if let Some(rest) = self.rest.get_mut(word) {
            *rest = [0; 3];
        }
    }

    /// The bytes of a word are told apart.
    fn split(&mut self, word: usize, now: &Now) {
        let entry = self.words[word];
        for _ in 0..2 {
            match self.pack_entry(entry) {
                Ok(cell) => return self.set_cells(word, [cell; 4]),
                Err(Refusal::Full) if self.collect(now) => {}
                Err(_) => break,
            }
        }
        if self.parts.len() < MAX_PARTS {
            self.add_part(word, [entry; 4]);
        } else {
            self.set_cells(word, [Cell::default(); 4]);
        }
    }

    /// The cell of a byte of a word.
    fn pack_entry(&mut self, entry: Entry) -> Result<Cell, Refusal> {
        let mut doers = [Doer::default(); 3];
        for (doer, mark) in doers.iter_mut().zip(entry.last().all()) {
            if let Some(Access { event, thread }) = self.events.get(mark) {
                let action = self.classes.action(event).ok_or(Refusal::Full)?;
                *doer = Doer { thread: thread as u16, action };
            }
        }
        let [writer, mut first, mut second] = doers;
        if first.is_nobody() {
            std::mem::swap(&mut first, &mut second);
        }
        let last = Last { writer, readers: [first, second] };
        self.pack(&Known { last, more: More::None })
    }

    /// The cell for what is known, in a shorter form if need be and if that tells enough.
    fn pack(&mut self, known: &Known) -> Result<Cell, Refusal> {
        let packed = self.classes.pack(known);
        let spare = if self.in_part { MAX_PARTS } else { SPARE_PARTS };
        if packed != Err(Refusal::Unfit) || self.parts.len() < spare {
            return packed;
        }
        let shorter = if self.in_part { None } else { self.classes.shorten(known) };
        let shorter = match shorter {
            None if self.parts.len() < MAX_PARTS => return Err(Refusal::Unfit),
            // The first reader will do.
            None => {
                let Last { writer, readers: [first, _] } = known.last;
                let readers = [first, Doer::default()];
                Known { last: Last { writer, readers }, more: More::None }
            }
            Some(shorter) => shorter,
        };
        self.classes.pack(&shorter)
    }

    /// Visits some bytes of a split word. The first race, and at which byte.
    fn visit_bytes(
        &mut self,
        word: usize,
        mut bytes: Range<usize>,
        now: &Now,
    ) -> Option<(Race, usize)> {
        let mut race = None;
        while !bytes.is_empty() {
            let before = match self.cells_or_part(word) {
                Ok(cells) => cells,
                Err(part) => {
                    for byte in bytes {
                        let found = self.visit_part(part, byte, now);
                        race = race.or(found.map(|race| (race, byte)));
                    }
                    return race;
                }
            };
            let mut cells = before;
            let visited = self.visit_cells(&mut cells, &mut bytes, now, &mut race);
            if cells != before {
                self.set_cells(word, cells);
            }
            match visited {
                Ok(()) => return race,
                Err(Refusal::Full) if self.collect(now) => {}
                Err(_) if self.parts.len() < MAX_PARTS => self.move_to_part(word, cells, now),
                Err(_) => {
                    let cell = &mut cells[bytes.start];
                    // Where not even a new beginning finds a place, this access is not taken note of.
                    bytes.start += usize::from(*cell == Cell::default());
                    *cell = Cell::default();
                    self.set_cells(word, cells);
                }
            }
        }
        race
    }

    /// Visits cells as long as what is known then fits into them.
    fn visit_cells(
        &mut self,
        cells: &mut [Cell; 4],
        bytes: &mut Range<usize>,
        now: &Now,
        race: &mut Option<(Race, usize)>,
    ) -> Result<(), Refusal> {
        let mut event = now.access.event;
        self.events.see(event);
        if self.coarse {
            event.pc = vague(now.program, event.pc);
        }
        let action = self.classes.action(event).ok_or(Refusal::Full)?;
        let own = Doer { thread: now.access.thread as u16, action };
        let mut previous = None;
        while bytes.start < bytes.end {
            let byte = bytes.start;
            let before = cells[byte];
            // The bytes of a half mostly have the same past.
            let (after, found) = match previous {
                Some((same, after, found)) if same == before => (after, found),
                _ => self.visit_cell(before, own, now)?,
            };
            previous = Some((before, after, found));
            cells[byte] = after;
            *race = race.or(found.map(|race| (race, byte)));
            bytes.start += 1;
        }
        Ok(())
    }

    fn visit_cell(
        &mut self,
        cell: Cell,
        own: Doer,
        now: &Now,
    ) -> Result<(Cell, Option<Race>), Refusal> {
        let mut known = Known::default();
        if self.classes.is_over(cell) {
            match now.kind {
                AccessKind::Read => known.last.readers[0] = own,
                AccessKind::Write | AccessKind::Atomic => known.last.writer = own,
            }
            return Ok((self.pack(&known)?, None));
        }
        let before = self.classes.unpack(cell);
        known = before;
        if self.in_part {
            known.more = More::None;
        }
        let race = if known.more == More::None {
            now.visit_byte(&self.classes, &mut known, own)
        } else {
            now.visit_shortened(&self.classes, &mut known, own)?
        };
        let cell = if known == before { cell } else { self.pack(&known)? };
        Ok((cell, race))
    }

    fn visit_part(&mut self, part: usize, byte: usize, now: &Now) -> Option<Race> {
        let mark = match now.mark {
            Mark::NONE => Mark::new(self.number(now.access.event), now.access.thread as usize),
            mark => mark,
        };
        let now = Now { mark, ..*now };
        let part = self.parts.get_mut(part)?;
        part.bytes[byte].visit(&self.events, &now, None)
    }

    /// Gives the bytes of a word that has cells entries.
    fn move_to_part(&mut self, word: usize, cells: [Cell; 4], now: &Now) {
        // The marks of an access to whole words must stay what they are.
        if now.mark == Mark::NONE && self.events.is_full() {
            self.renumber();
        }
        let Self { events, classes, .. } = self;
        let entries = cells.map(|cell| {
            let mut marks = [Mark::default(); 3];
            for (mark, doer) in marks.iter_mut().zip(classes.unpack(cell).last.all()) {
                if let Some(Access { event, thread }) = classes.access(doer) {
                    *mark = Mark::new(events.number(event), thread as usize);
                }
            }
            let [writer, first, second] = marks;
            Entry::of(Last { writer, readers: [first, second] })
        });
        self.add_part(word, entries);
    }

    fn add_part(&mut self, word: usize, bytes: [Entry; 4]) {
        // The usual doubling would leave half of the list empty.
        if self.parts.len() == self.parts.capacity() {
            self.parts.reserve_exact(self.parts.len() / 8 + 4);
        }
        self.words[word].0 = Entry::SPLIT | Entry::PART;
        self.values[word] = self.parts.len() as u32;
        self.parts.push(Part { word: word as u32, bytes });
    }

    /// Gives up classes that no cell is of, or that need not be told apart. False, and nothing done, where that was of little
    /// use the last time.
    fn collect(&mut self, now: &Now) -> bool {
        if self.crowded {
            return false;
        }
        let mut used = [false; NUMBERS];
        self.each_cell(|cell| {
            used[cell.class()] = true;
            Some(cell)
        });
        let numbers = self.classes.keep(&used);
        self.each_cell(|cell| Some(cell.with_class(numbers[cell.class()])));
        if self.classes.is_crowded() && !self.in_part {
            // What a warp did before its lanes met last, nobody can tell from what it did before that.
            self.recast(|event| {
                let warp = usize::from(event.warp) % WARPS;
                let met = now.clocks[warp][warp];
                Event { clock: if event.clock < met { met - 1 } else { event.clock }, ..event }
            });
        }
        if self.classes.is_crowded() {
            self.recast(|event| Event { pc: vague(now.program, event.pc), ..event });
            self.coarse = true;
        }
        self.crowded = self.classes.is_crowded();
        true
    }

    /// Changes the events of all cells, if there is room for that.
    fn recast(&mut self, change: impl Fn(Event) -> Event) {
        let (old, mut new) = (std::mem::take(&mut self.classes), Classes::default());
        let fits = self.each_cell(|cell| new.take(&old, cell, &change).map(|_| cell));
        if !fits {
            self.classes = old;
            return;
        }
        self.each_cell(|cell| new.take(&old, cell, &change));
        self.classes = new;
    }

    /// Changes the cells of all split words, as long as that gives any. Words of which nothing is known are whole then.
    fn each_cell(&mut self, mut change: impl FnMut(Cell) -> Option<Cell>) -> bool {
        for word in 0..self.rest.len() {
            if !self.words[word].is_split() {
                continue;
            }
            let Ok(cells) = self.cells_or_part(word) else { continue };
            let mut changed = cells;
            for cell in &mut changed {
                let Some(new) = change(*cell) else { return false };
                *cell = new;
            }
            if changed == [Cell::default(); 4] {
                self.join(word);
            } else if changed != cells {
                self.set_cells(word, changed);
            }
        }
        true
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        let words = self.words.len() * (size_of::<Entry>() + size_of::<u32>());
        let cells = self.rest.capacity() * size_of::<[u8; 3]>();
        let parts = self.parts.capacity() * size_of::<Part>();
        words + cells + parts + self.events.bytes() + self.classes.bytes()
    }
}
