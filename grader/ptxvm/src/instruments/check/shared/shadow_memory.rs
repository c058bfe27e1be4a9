//! The shadow memory of a block's shared memory: for each word the last writer and two readers, in 12 bytes; for the bytes of
//! words that are accessed in parts, in 15.
//!
//! The accesses of words are named by [`super::epochs`], those of bytes by [`super::byte_cells`]. Where the accesses of a
//! byte do not fit there, its word gets a shadow word for each byte elsewhere, until the next barrier of all warps.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::byte_cells::{
    Accessor, ByteCell, ByteClasses, ByteHistory, CELL_BITS, NUMBERS, OtherReaders, PackError,
    ambiguous,
};
use super::epochs::{Access, Epoch, EpochTable};
use super::last_accesses::LastAccesses;
use super::race_check::{CurrentAccess, Race};
use crate::lanes::{LaneArray, Pattern, lanes};
use crate::machine::simd::shadow_words::{ROW, ShadowWord, ShortAccessId};

use crate::finding::AccessKind;
use crate::instruments::check::clocks::WARPS;
use crate::machine::monitor::WordReads;
use crate::machine::simd::dispatch::Simd;

/// Epochs that are kept in any case: where bytes have no cells, and where they have.
const MIN_EVENTS: [usize; 2] = [384, 160];
/// Bits of the last cell of a word that lie in a list of their own. The others are in the shadow word and the value.
const REST_BITS: u32 = 24;
/// Words that may have shadow words for their bytes although that could be avoided: then everybody who raced is known.
const SPARE_SPLIT_WORDS: usize = 16;
/// Words that may have shadow words for their bytes at all. Of further ones some accesses are forgotten: that may hide a race,
/// but never reports a false one.
const MAX_SPLIT_WORDS: usize = 1 << 11;

/// The shadow words of the four bytes of a word.
#[derive(Debug)]
struct SplitWord {
    word: u32,
    bytes: [ShadowWord; 4],
}

/// The shadow memory of a block's shared memory.
#[derive(Debug, Default)]
pub(crate) struct SharedMemoryShadow {
    simd: &'static Simd,
    words: Vec<ShadowWord>,
    /// The value that each word holds; of a split word, a part of its cells, or the index of its [`SplitWord`].
    values: Vec<u32>,
    /// The rest of the cells of split words, for all words up to the last of these.
    rest: Vec<[u8; 3]>,
    split_words: Vec<SplitWord>,
    epochs: EpochTable,
    classes: ByteClasses,
    /// Nearly all classes are in use by cells.
    nearly_full: bool,
    /// Classes no longer tell instructions apart.
    instructions_merged: bool,
    /// Some warps have synchronised otherwise than by a barrier of all of them.
    partially_synchronised: bool,
}

impl SharedMemoryShadow {
    /// Prepares for a block with so many words of shared memory.
    pub fn begin(&mut self, words: usize) {
        if self.words.len() != words {
            self.words = vec![ShadowWord::default(); words];
            self.values = vec![0; words];
            self.rest = Vec::new();
            self.split_words.clear();
        }
        self.pass();
    }

    /// The number of an epoch; equal ones share it where they follow each other.
    pub fn number(&mut self, epoch: Epoch) -> u32 {
        if self.epochs.is_full() {
            self.renumber();
        }
        self.epochs.number(epoch)
    }

    /// Raises the floor of a warp that has synchronised: see [`EpochTable::raise_floor`].
    pub fn raise_floor(
        &mut self,
        warp: usize,
        clocks: &[u32; WARPS],
        converged_at: u32,
        warps: usize,
    ) {
        self.epochs.raise_floor(warp, clocks, converged_at, warps);
    }

    /// Notes that some warps, not all, have synchronised.
    pub fn note_partial_sync(&mut self) {
        self.partially_synchronised = true;
    }

    /// Warps have synchronised. If all have, what they did before need not be known any more.
    pub fn settle(&mut self, warps: usize) {
        if self.epochs.all_passed(warps) {
            self.pass();
        }
    }

    /// Everything so far happened before everything that follows.
    fn pass(&mut self) {
        self.epochs.pass(self.event_limit());
        self.classes.pass();
        for split_word in std::mem::take(&mut self.split_words) {
            self.join(split_word.word as usize);
        }
        (self.nearly_full, self.instructions_merged, self.partially_synchronised) =
            (false, false, false);
    }

    /// So many epochs take no more memory than cells of all words would.
    fn event_limit(&self) -> usize {
        let min = MIN_EVENTS[usize::from(!self.rest.is_empty())];
        min.max((self.words.len() - self.rest.len()) / 8)
    }

    fn renumber(&mut self) {
        let (limit, merge_equal) = (self.event_limit(), !self.partially_synchronised);
        let Self { words, split_words, epochs, .. } = self;
        epochs.renumber(limit, merge_equal, |each| {
            words.iter_mut().filter(|entry| !entry.is_split()).for_each(&mut *each);
            split_words.iter_mut().flat_map(|split_word| &mut split_word.bytes).for_each(each);
        });
    }

    /// The fast path for a whole word: an access that races with nothing before it. False, and nothing done, for any other
    /// access.
    #[inline(always)]
    pub fn check_fast_path(&mut self, word: usize, current: &CurrentAccess) -> bool {
        let (floor, since) =
            (self.epochs.floors[current.warp()], self.epochs.since[current.warp()]);
        let Some(entry) = self.words.get_mut(word) else { return false };
        let writer = entry.get(ShadowWord::WRITER);
        let is_strong =
            |old: ShortAccessId| self.epochs.get(old).is_some_and(|old| old.epoch.strong);
        let may_race = writer.epoch() > floor;
        if entry.is_split()
            || may_race && !(current.kind == AccessKind::Atomic && is_strong(writer))
        {
            return false;
        }
        let [first, second] = ShadowWord::READERS;
        let news = [first, second].map(|reader| entry.get(reader).epoch() > floor);
        if current.kind == AccessKind::Read {
            match news {
                [false, _] => entry.set(first, current.access_id),
                [true, true] => return entry.is_read(floor, since),
                [true, false] => match current.unordered(&self.epochs, entry.get(first)) {
                    Some(old) if old.thread == current.access.thread => {}
                    Some(_) => entry.set(second, current.access_id),
                    None => entry.set(first, current.access_id),
                },
            }
        } else {
            // What an atomic does not race with, others may.
            let hides =
                current.access.epoch.strong && self.epochs.has(writer) && !is_strong(writer);
            if news != [false; 2] || hides {
                return false;
            }
            entry.set(ShadowWord::WRITER, current.access_id);
            if let Some(value) = current.value {
                self.values[word] = value;
            }
        }
        true
    }

    /// The fast path for a row of words that consecutive lanes access, from the lane of the access id on, if no lane has released
    /// anything to another. `values`: what is stored, if that is known. False, and nothing done, for any other access.
    #[inline(always)]
    pub fn check_row(
        &mut self,
        word: usize,
        current: &CurrentAccess,
        values: Option<&[u32]>,
    ) -> bool {
        let floor = self.epochs.floors[current.warp()];
        let Some(row) = self.words.get_mut(word..).and_then(<[ShadowWord]>::first_chunk_mut) else {
            return false;
        };
        if current.kind == AccessKind::Read {
            return (self.simd.note_reads)(row, floor, current.access_id);
        }
        let quiet = (self.simd.note_writes)(row, floor, current.access_id);
        if let Some(values) = values.filter(|_| quiet) {
            self.values[word..word + ROW].copy_from_slice(values);
        }
        quiet
    }

    /// Whether these reads would change nothing in the shadow.
    #[inline(always)]
    pub fn are_redundant(&self, reads: &WordReads) -> bool {
        let warp = reads.warp as usize % WARPS;
        let (floor, since) = (self.epochs.floors[warp], self.epochs.since[warp]);
        let near = reads.words.span().and_then(|span| self.words.get(span));
        if near.is_some_and(|near| (self.simd.all_read)(near, floor, since)) {
            return true;
        }
        let word = |word| self.is_read(word, Pattern::Same, floor, since);
        let row = |first| self.is_read(first, Pattern::Row, floor, since);
        reads.words.all_halves(reads.mask, word, row)
    }

    /// Whether reads of half a warp, from a word on, would change nothing. Nobody knows of irregular ones.
    #[inline(always)]
    fn is_read(&self, first: usize, pattern: Pattern, floor: u32, since: u32) -> bool {
        match pattern {
            Pattern::Same => self.words.get(first).is_some_and(|entry| entry.is_read(floor, since)),
            Pattern::Row => {
                let row = self.words.get(first..first + ROW);
                row.is_some_and(|row| (self.simd.all_read)(row, floor, since))
            }
            Pattern::Irregular => false,
        }
    }

    /// The fast path for words that half a warp reads, from the lane of the access id on, if no lane has released anything to another.
    /// False, and nothing done, for any other reads.
    #[inline(always)]
    pub fn note_reads(
        &mut self,
        first: usize,
        pattern: Pattern,
        warp: usize,
        access_id: ShortAccessId,
    ) -> bool {
        let (floor, since) = (self.epochs.floors[warp], self.epochs.since[warp]);
        let is_noted = match pattern {
            Pattern::Same => {
                self.words.get_mut(first).is_some_and(|entry| entry.note_readers(floor, access_id))
            }
            Pattern::Row => {
                let row = self.words.get_mut(first..).and_then(<[ShadowWord]>::first_chunk_mut);
                row.is_some_and(|row| (self.simd.note_reads)(row, floor, access_id))
            }
            Pattern::Irregular => false,
        };
        is_noted || self.is_read(first, pattern, floor, since)
    }

    /// Like [`Self::note_reads`], lane by lane, with the number of the epoch. Returns the lanes that are left.
    #[inline(always)]
    pub fn note_lanes(
        &mut self,
        index: &LaneArray<u32>,
        mask: u32,
        warp: usize,
        number: u32,
    ) -> u32 {
        let (floor, since) = (self.epochs.floors[warp], self.epochs.since[warp]);
        let mut left = mask;
        for lane in lanes(mask) {
            let access_id = ShortAccessId::new(number, lane);
            let entry = self.words.get_mut(index.0[lane] as usize);
            if !entry.is_some_and(|entry| entry.note_reader(floor, since, access_id)) {
                break;
            }
            left &= left - 1;
        }
        left
    }

    /// Checks and records one lane's access, word by word, or byte by byte in split words. The first race, and its byte offset.
    pub fn check(
        &mut self,
        address: u32,
        size: u32,
        current: &CurrentAccess,
    ) -> Option<(Race, u32)> {
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
                let found = self.check_word(index, current);
                race = race.or(found.map(|race| (race, word * 4)));
                continue;
            }
            if !entry.is_split() {
                self.split(index, current);
            }
            let bytes = (from - word * 4) as usize..(to - word * 4) as usize;
            let found = self.check_bytes(index, bytes, current);
            race = race.or(found.map(|(race, byte)| (race, word * 4 + byte as u32)));
        }
        race
    }

    fn check_word(&mut self, word: usize, current: &CurrentAccess) -> Option<Race> {
        let mut same_value = false;
        if let (AccessKind::Write | AccessKind::Atomic, Some(new)) = (current.kind, current.value) {
            let old = std::mem::replace(&mut self.values[word], new);
            same_value = old == new;
        }
        current.check_word(&self.epochs, &mut self.words[word], Some(same_value))
    }

    /// The cells of a split word, or the index of its [`SplitWord`].
    fn cells_or_split_word(&self, word: usize) -> Result<[ByteCell; 4], usize> {
        let entry = self.words[word].0;
        if entry & ShadowWord::PART != 0 {
            return Err(self.values[word] as usize);
        }
        let [a, b, c] = self.rest.get(word).copied().unwrap_or_default();
        let value = self.values[word];
        let last = u32::from_le_bytes([a, b, c, 0])
            | value >> CELL_BITS << REST_BITS
            | ((entry >> (2 * CELL_BITS)) as u32) << (REST_BITS + u32::BITS - CELL_BITS);
        let bits = [entry as u32, (entry >> CELL_BITS) as u32, value, last];
        Ok(bits.map(ByteCell::from_bits))
    }

    fn set_cells(&mut self, word: usize, cells: [ByteCell; 4]) {
        let [first, second, third, last] = cells.map(ByteCell::bits);
        let over = last >> REST_BITS;
        let entry = u64::from(over >> (u32::BITS - CELL_BITS)) << (2 * CELL_BITS);
        let entry = entry | u64::from(second) << CELL_BITS | u64::from(first);
        self.words[word].0 = ShadowWord::SPLIT | entry;
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
        if self.rest.capacity() != room && self.epochs.limit() > self.event_limit() {
            self.renumber();
        }
    }

    /// Whether all known accesses of the bytes of a split word happened before everything that follows.
    fn is_over(&self, word: usize) -> bool {
        let cells = self.cells_or_split_word(word);
        cells.is_ok_and(|cells| cells.iter().all(|&cell| self.classes.is_over(cell)))
    }

    /// Makes a word whole again, about which nothing need be known.
    fn join(&mut self, word: usize) {
        self.words[word] = ShadowWord::default();
        self.values[word] = 0;
        if let Some(rest) = self.rest.get_mut(word) {
            *rest = [0; 3];
        }
    }

    /// Splits a word into cells of its bytes.
    fn split(&mut self, word: usize, current: &CurrentAccess) {
        let entry = self.words[word];
        for _ in 0..2 {
            match self.pack_entry(entry) {
                Ok(cell) => return self.set_cells(word, [cell; 4]),
                Err(PackError::Full) if self.collect(current) => {}
                Err(_) => break,
            }
        }
        if self.split_words.len() < MAX_SPLIT_WORDS {
            self.add_split_word(word, [entry; 4]);
        } else {
            self.set_cells(word, [ByteCell::default(); 4]);
        }
    }

    /// The cell of each byte of a word that is whole.
    fn pack_entry(&mut self, entry: ShadowWord) -> Result<ByteCell, PackError> {
        let mut accessors = [Accessor::default(); 3];
        for (accessor, access_id) in accessors.iter_mut().zip(LastAccesses::of(entry).all()) {
            if let Some(Access { epoch, thread }) = self.epochs.get(access_id) {
                let action = self.classes.action(epoch).ok_or(PackError::Full)?;
                *accessor = Accessor { thread: thread as u16, action };
            }
        }
        let [writer, mut first, mut second] = accessors;
        if first.is_nobody() {
            std::mem::swap(&mut first, &mut second);
        }
        let last = LastAccesses { writer, readers: [first, second] };
        self.pack(&ByteHistory { last, other_readers: OtherReaders::None })
    }

    /// The cell for a history; in a shorter form if necessary, and if that is precise enough.
    fn pack(&mut self, known: &ByteHistory) -> Result<ByteCell, PackError> {
        let packed = self.classes.pack(known);
        let spare = if self.partially_synchronised { MAX_SPLIT_WORDS } else { SPARE_SPLIT_WORDS };
        if packed != Err(PackError::Unfit) || self.split_words.len() < spare {
            return packed;
        }
        let shorter = if self.partially_synchronised { None } else { self.classes.shorten(known) };
        let shorter = match shorter {
            None if self.split_words.len() < MAX_SPLIT_WORDS => return Err(PackError::Unfit),
            // The first reader will do.
            None => {
                let LastAccesses { writer, readers: [first, _] } = known.last;
                let readers = [first, Accessor::default()];
                ByteHistory {
                    last: LastAccesses { writer, readers },
                    other_readers: OtherReaders::None,
                }
            }
            Some(shorter) => shorter,
        };
        self.classes.pack(&shorter)
    }

    /// Checks and records an access of some bytes of a split word. The first race, and at which byte.
    fn check_bytes(
        &mut self,
        word: usize,
        mut bytes: Range<usize>,
        current: &CurrentAccess,
    ) -> Option<(Race, usize)> {
        let mut race = None;
        while !bytes.is_empty() {
            let before = match self.cells_or_split_word(word) {
                Ok(cells) => cells,
                Err(split_word) => {
                    for byte in bytes {
                        let found = self.check_split_word(split_word, byte, current);
                        race = race.or(found.map(|race| (race, byte)));
                    }
                    return race;
                }
            };
            let mut cells = before;
            let visited = self.check_cells(&mut cells, &mut bytes, current, &mut race);
            if cells != before {
                self.set_cells(word, cells);
            }
            match visited {
                Ok(()) => return race,
                Err(PackError::Full) if self.collect(current) => {}
                Err(_) if self.split_words.len() < MAX_SPLIT_WORDS => {
                    self.move_to_split_word(word, cells, current);
                }
                Err(_) => {
                    let cell = &mut cells[bytes.start];
                    // Where not even a new beginning finds a place, this access is not taken note of.
                    bytes.start += usize::from(*cell == ByteCell::default());
                    *cell = ByteCell::default();
                    self.set_cells(word, cells);
                }
            }
        }
        race
    }

    /// Checks and records an access of cells, as long as their new histories fit into them.
    fn check_cells(
        &mut self,
        cells: &mut [ByteCell; 4],
        bytes: &mut Range<usize>,
        current: &CurrentAccess,
        race: &mut Option<(Race, usize)>,
    ) -> Result<(), PackError> {
        let mut epoch = current.access.epoch;
        self.epochs.see(epoch);
        if self.instructions_merged {
            epoch.pc = ambiguous(current.program, epoch.pc);
        }
        let action = self.classes.action(epoch).ok_or(PackError::Full)?;
        let own = Accessor { thread: current.access.thread as u16, action };
        let mut previous = None;
        while bytes.start < bytes.end {
            let byte = bytes.start;
            let before = cells[byte];
            // The bytes of a half mostly have the same past.
            let (after, found) = match previous {
                Some((same, after, found)) if same == before => (after, found),
                _ => self.check_cell(before, own, current)?,
            };
            previous = Some((before, after, found));
            cells[byte] = after;
            *race = race.or(found.map(|race| (race, byte)));
            bytes.start += 1;
        }
        Ok(())
    }

    fn check_cell(
        &mut self,
        cell: ByteCell,
        own: Accessor,
        current: &CurrentAccess,
    ) -> Result<(ByteCell, Option<Race>), PackError> {
        let mut known = ByteHistory::default();
        if self.classes.is_over(cell) {
            match current.kind {
                AccessKind::Read => known.last.readers[0] = own,
                AccessKind::Write | AccessKind::Atomic => known.last.writer = own,
            }
            return Ok((self.pack(&known)?, None));
        }
        let before = self.classes.unpack(cell);
        known = before;
        if self.partially_synchronised {
            known.other_readers = OtherReaders::None;
        }
        let race = if known.other_readers == OtherReaders::None {
            current.check_byte(&self.classes, &mut known, own)
        } else {
            current.check_shortened(&self.classes, &mut known, own)?
        };
        let cell = if known == before { cell } else { self.pack(&known)? };
        Ok((cell, race))
    }

    fn check_split_word(
        &mut self,
        split_word: usize,
        byte: usize,
        current: &CurrentAccess,
    ) -> Option<Race> {
        let access_id = match current.access_id {
            ShortAccessId::NONE => ShortAccessId::new(
                self.number(current.access.epoch),
                current.access.thread as usize,
            ),
            access_id => access_id,
        };
        let current = CurrentAccess { access_id, ..*current };
        let split_word = self.split_words.get_mut(split_word)?;
        current.check_word(&self.epochs, &mut split_word.bytes[byte], None)
    }

    /// Replaces the cells of a word by shadow words of its bytes.
    fn move_to_split_word(&mut self, word: usize, cells: [ByteCell; 4], current: &CurrentAccess) {
        // The ids of an access to whole words must stay as they are.
        if current.access_id == ShortAccessId::NONE && self.epochs.is_full() {
            self.renumber();
        }
        let Self { epochs, classes, .. } = self;
        let entries = cells.map(|cell| {
            let mut access_ids = [ShortAccessId::default(); 3];
            for (access_id, accessor) in access_ids.iter_mut().zip(classes.unpack(cell).last.all())
            {
                if let Some(Access { epoch, thread }) = classes.access(accessor) {
                    *access_id = ShortAccessId::new(epochs.number(epoch), thread as usize);
                }
            }
            let [writer, first, second] = access_ids;
            LastAccesses { writer, readers: [first, second] }.packed()
        });
        self.add_split_word(word, entries);
    }

    fn add_split_word(&mut self, word: usize, bytes: [ShadowWord; 4]) {
        // The usual doubling would leave half of the list empty.
        if self.split_words.len() == self.split_words.capacity() {
            self.split_words.reserve_exact(self.split_words.len() / 8 + 4);
        }
        self.words[word].0 = ShadowWord::SPLIT | ShadowWord::PART;
        self.values[word] = self.split_words.len() as u32;
        self.split_words.push(SplitWord { word: word as u32, bytes });
    }

    /// Drops classes that no cell uses, and merges those that need not be told apart. False, and nothing done, if that was of
    /// little use the last time.
    fn collect(&mut self, current: &CurrentAccess) -> bool {
        if self.nearly_full {
            return false;
        }
        let mut used = [false; NUMBERS];
        self.each_cell(|cell| {
            used[cell.class()] = true;
            Some(cell)
        });
        let numbers = self.classes.keep(&used);
        self.each_cell(|cell| Some(cell.with_class(numbers[cell.class()])));
        if self.classes.is_nearly_full() && !self.partially_synchronised {
            // Nobody can tell what a warp did before its lanes last converged from what it did before that.
            self.rewrite_epochs(|epoch| {
                let warp = usize::from(epoch.warp) % WARPS;
                let converged_at = current.clocks[warp][warp];
                Epoch {
                    clock: if epoch.clock < converged_at { converged_at - 1 } else { epoch.clock },
                    ..epoch
                }
            });
        }
        if self.classes.is_nearly_full() {
            self.rewrite_epochs(|epoch| Epoch {
                pc: ambiguous(current.program, epoch.pc),
                ..epoch
            });
            self.instructions_merged = true;
        }
        self.nearly_full = self.classes.is_nearly_full();
        true
    }

    /// Changes the epochs of all cells, if there is room for the result.
    fn rewrite_epochs(&mut self, change: impl Fn(Epoch) -> Epoch) {
        let (old, mut new) = (std::mem::take(&mut self.classes), ByteClasses::default());
        let fits = self.each_cell(|cell| new.take(&old, cell, &change).map(|_| cell));
        if !fits {
            self.classes = old;
            return;
        }
        self.each_cell(|cell| new.take(&old, cell, &change));
        self.classes = new;
    }

    /// Changes the cells of all split words until `change` gives None. Words of which nothing is known become whole.
    fn each_cell(&mut self, mut change: impl FnMut(ByteCell) -> Option<ByteCell>) -> bool {
        for word in 0..self.rest.len() {
            if !self.words[word].is_split() {
                continue;
            }
            let Ok(cells) = self.cells_or_split_word(word) else { continue };
            let mut changed = cells;
            for cell in &mut changed {
                let Some(new) = change(*cell) else { return false };
                *cell = new;
            }
            if changed == [ByteCell::default(); 4] {
                self.join(word);
            } else if changed != cells {
                self.set_cells(word, changed);
            }
        }
        true
    }

    /// Memory that the shadow takes, in bytes.
    pub fn bytes(&self) -> usize {
        let words = self.words.len() * (size_of::<ShadowWord>() + size_of::<u32>());
        let cells = self.rest.capacity() * size_of::<[u8; 3]>();
        let split_words = self.split_words.capacity() * size_of::<SplitWord>();
        words + cells + split_words + self.epochs.bytes() + self.classes.bytes()
    }
}
