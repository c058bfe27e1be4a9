//! Synchronisation variables: words that threads order each other by, and what a thread that reads one of them knows to have
//! happened.
//!
//! A word carries what its last strong store released, and what every read-modify-write since then released: observation
//! passes through those (PTX ISA 8.9, "Observation Order").
//!
//! Flags of one or two bytes are told apart: each byte has a cell of its own, beside that of its word.

use crate::instruments::check::epochs::Access;
use crate::instruments::check::order::vector_clock::{CountedNodes, JoinCache, VectorClock};
use crate::instruments::check::table::HEADER;
use crate::instruments::check::table::{Table, table_bytes};

/// Words without a cell of their own share so many cells, and what is released by one of them counts for all: that may hide a
/// race, but never reports a false one.
const SHARED: u64 = 1 << 10;
/// Marks the number of a cell that words share; no word has such a number.
const MANY: u64 = 1 << 63;

/// Marks the number of the cell of a byte; no word has such a number.
const BYTE: u64 = 1 << 62;

/// The cells of words and bytes that an access touches, and whether each is of the access's size. `bytes`: whether there are
/// cells of bytes.
pub(crate) fn cells(address: u64, size: u32, bytes: bool) -> impl Iterator<Item = (u64, bool)> {
    let end = address.saturating_add(size.into());
    let (words, small) = (address / 4..end.div_ceil(4), size < 4);
    let parts = match (small, bytes) {
        (true, _) => address..end,
        (false, true) => words.start * 4..words.end.saturating_mul(4),
        (false, false) => 0..0,
    };
    words.map(move |word| (word, !small)).chain(parts.map(move |byte| (byte | BYTE, small)))
}

/// Who accesses a word, and with which scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyncAccess {
    pub block: u32,
    pub warp: u8,
    /// Whether its scope includes other blocks.
    pub device_scope: bool,
}

/// One synchronisation variable: what its value releases to readers.
#[derive(Debug, Default)]
pub(crate) struct SyncVariable {
    /// What was released to all blocks.
    device_scope: VectorClock,
    rest: Option<Box<ColdState>>,
    /// Grows with every write.
    version: u32,
    /// Block and warp that wrote it last.
    last_block: u32,
    last_warp: u8,
    /// Whether it stands for several words.
    many: bool,
}

/// State that few words have.
#[derive(Debug, Default)]
struct ColdState {
    /// Released to the threads of one block only.
    block_scope: Vec<(u32, VectorClock)>,
    /// Its readers since the last write, one for each warp.
    readers: Vec<Access>,
}

impl SyncVariable {
    /// Notes a write: what it releases to all blocks, and what to its own.
    pub fn write(
        &mut self,
        here: SyncAccess,
        update: bool,
        [device_scope, block_scope]: [Option<&VectorClock>; 2],
        last: &mut JoinCache,
    ) {
        // A store hides what others released before. The storing thread's own release goes on (PTX ISA 8.8).
        let by = (self.last_block, self.last_warp);
        let hides = !update && !self.many && by != (here.block, here.warp);
        if hides {
            self.device_scope = VectorClock::default();
        }
        if let Some(rest) = &mut self.rest {
            rest.readers.clear();
            if hides {
                rest.block_scope.clear();
            }
        }
        if let Some(device_scope) = device_scope.filter(|_| here.device_scope) {
            last.join(&mut self.device_scope, device_scope);
        } else if let Some(block_scope) = block_scope {
            self.release_to_block(here.block, block_scope);
        }
        (self.last_block, self.last_warp) = (here.block, here.warp);
        self.version = self.version.wrapping_add(1);
    }

    fn release_to_block(&mut self, block: u32, clock: &VectorClock) {
        let block_scope = &mut self.rest.get_or_insert_default().block_scope;
        match block_scope.iter_mut().find(|(of, _)| *of == block) {
            Some((_, known)) => {
                known.join(clock);
            }
            None => push(block_scope, (block, clock.clone())),
        }
    }

    /// What a reader acquires: what was released to all blocks, and what to its own.
    pub fn read(&self, here: SyncAccess) -> [Option<&VectorClock>; 2] {
        let block_scope = self.rest.iter().flat_map(|rest| &rest.block_scope);
        let block_scope = block_scope
            .filter(|(block, _)| *block == here.block)
            .map(|(_, block_scope)| block_scope)
            .next();
        let reaches = here.device_scope || self.last_block == here.block;
        [
            Some(&self.device_scope).filter(|device_scope| reaches && !device_scope.is_empty()),
            block_scope,
        ]
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// Remembers a reader of the last write.
    pub fn note_reader(&mut self, reader: Access) {
        let same = |old: &Access| {
            (old.epoch.block, old.epoch.warp) == (reader.epoch.block, reader.epoch.warp)
        };
        // The first of a warp is before all that the later ones are before.
        if !self.many && !self.readers().iter().any(same) {
            push(&mut self.rest.get_or_insert_default().readers, reader);
        }
    }

    /// The readers of the last write. The write happened before everything that those happened before (PTX ISA 8.9, "Causality
    /// Order").
    pub fn readers(&self) -> &[Access] {
        self.rest.as_ref().map_or(&[], |rest| &rest.readers)
    }

    /// Whether it stands for several words, of which no readers are kept.
    pub fn is_many(&self) -> bool {
        self.many
    }

    /// Lets it stand for another word too.
    fn absorb(&mut self, other: &Self) {
        self.device_scope.join(&other.device_scope);
        for (block, block_scope) in other.rest.iter().flat_map(|rest| &rest.block_scope) {
            self.release_to_block(*block, block_scope);
        }
        self.version = self.version.max(other.version).wrapping_add(1);
    }

    fn bytes(&self, counted: &mut CountedNodes) -> usize {
        let rest = self.rest.as_ref().map_or(0, |rest| {
            let block_scope: usize =
                rest.block_scope.iter().map(|(_, block_scope)| block_scope.bytes(counted)).sum();
            let lists = rest.block_scope.capacity() * size_of::<(u32, VectorClock)>()
                + rest.readers.capacity() * size_of::<Access>();
            size_of::<ColdState>() + lists + 3 * HEADER + block_scope
        });
        self.device_scope.bytes(counted) + rest
    }
}

/// Appends to a list that usually stays short.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

/// All synchronisation variables of a memory, by number.
#[derive(Debug, Default)]
pub(crate) struct SyncVariables {
    cells: Table<SyncVariable>,
    /// A bit for each number that was written strongly, 64 to an entry.
    written: Table<u64>,
    /// Whether there are cells of bytes.
    bytes: bool,
    /// How many cells the numbers without one of their own share; None as long as there is room.
    shared: Option<u64>,
    /// Writes since the size was last checked.
    writes: usize,
}

impl SyncVariables {
    pub fn clear(&mut self) {
        self.cells.clear();
        self.written.clear();
        (self.bytes, self.shared, self.writes) = (false, None, 0);
    }

    /// Whether there are cells of bytes.
    pub fn has_bytes(&self) -> bool {
        self.bytes
    }

    /// Bytes that they take, with the overhead of the tables.
    pub fn bytes(&self, counted: &mut CountedNodes) -> usize {
        let cells: usize = self.cells.values().map(|word| word.bytes(counted)).sum();
        table_bytes(&self.cells) + table_bytes(&self.written) + cells
    }

    /// Whether the size should be checked again, after so many writes.
    pub fn are_many(&self) -> bool {
        self.writes > self.cells.len() / 2 + (1 << 8)
    }

    /// Keeps the size within so many bytes, if possible: from half of that on, further words share cells, and if that is not
    /// enough, all words share one.
    pub fn keep_within(&mut self, limit: usize) {
        self.writes = 0;
        let bytes = self.bytes(&mut CountedNodes::default());
        if bytes > limit && self.shared.is_some() {
            self.shared = Some(1);
            let mut all = SyncVariable { many: true, ..SyncVariable::default() };
            self.cells.values().for_each(|word| all.absorb(word));
            self.cells = Table::default();
            self.cells.insert(MANY, all);
        } else if bytes > limit / 2 && self.shared.is_none() {
            self.shared = Some(SHARED);
        }
    }

    fn place(&self, number: u64) -> u64 {
        match self.shared {
            Some(shared) if !self.cells.contains_key(&number) => (number % shared) | MANY,
            _ => number,
        }
    }

    pub fn get(&self, number: u64) -> Option<&SyncVariable> {
        self.cells.get(&self.place(number))
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut SyncVariable> {
        let place = self.place(number);
        self.cells.get_mut(&place)
    }

    /// The variable for a strong read; None if it was never written strongly, because then nothing can be acquired.
    pub fn strongly_read(&mut self, number: u64) -> Option<&mut SyncVariable> {
        let written =
            self.written.get(&(number / 64)).is_some_and(|all| all >> (number % 64) & 1 == 1);
        if written { Some(self.entry(number)) } else { self.get_mut(number) }
    }

    /// Notes a strong write.
    pub fn note_strong(&mut self, number: u64) {
        self.writes += 1;
        *self.written.entry(number / 64).or_default() |= 1 << (number % 64);
    }

    pub fn entry(&mut self, number: u64) -> &mut SyncVariable {
        let place = self.place(number);
        self.bytes |= number & BYTE != 0;
        self.writes += 1;
        let many = place & MANY != 0;
        self.cells.entry(place).or_insert_with(|| SyncVariable { many, ..SyncVariable::default() })
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::check::order::sync_variables::*;
    use crate::instruments::check::order::vector_clock::WarpClock;

    fn by(block: u32, device_scope: bool) -> SyncAccess {
        SyncAccess { block, warp: 0, device_scope }
    }

    /// What blocks 1 to 3 did, as far as a reader of block 4 learns it.
    fn learnt(word: &SyncVariable) -> Vec<u32> {
        let mut clock = VectorClock::default();
        for news in word.read(by(4, true)).into_iter().flatten() {
            clock.join(news);
        }
        (1..4).filter(|&block| !clock.block(block).is_empty()).collect()
    }

    fn past_of(block: u32) -> VectorClock {
        VectorClock::of(block, Box::new([WarpClock { all: 1, ..WarpClock::default() }]), 1)
    }

    fn write(
        word: &mut SyncVariable,
        here: SyncAccess,
        update: bool,
        released: [Option<&VectorClock>; 2],
    ) {
        word.write(here, update, released, &mut JoinCache::default());
    }

    #[test]
    fn updates_pass_on_what_stores_hide() {
        let [first, second] = [past_of(1), past_of(2)];
        let mut word = SyncVariable::default();
        write(&mut word, by(1, true), false, [Some(&first), None]);
        write(&mut word, by(2, true), true, [Some(&second), None]);
        write(&mut word, by(3, true), true, [None; 2]);
        assert_eq!(learnt(&word), [1, 2]);
        write(&mut word, by(2, true), false, [Some(&second), None]);
        assert_eq!(learnt(&word), [2]);
        write(&mut word, by(2, true), false, [None; 2]);
        assert_eq!(learnt(&word), [2], "its own release goes on");
        write(&mut word, by(3, true), false, [None; 2]);
        assert_eq!(learnt(&word), []);
    }

    #[test]
    fn block_scope_tells_its_block_only() {
        let past = past_of(1);
        for (device_scope, released) in [(true, None), (false, Some(&past))] {
            let mut word = SyncVariable::default();
            write(&mut word, by(1, device_scope), false, [released, Some(&past)]);
            assert_eq!(learnt(&word), []);
            assert!(word.read(by(1, false)).into_iter().flatten().next().is_some());
        }
    }

    #[test]
    fn a_byte_has_a_cell_of_its_own() {
        let all = |address, size, bytes| cells(address, size, bytes).collect::<Vec<_>>();
        assert_eq!(all(8, 8, false), [(2, true), (3, true)]);
        assert_eq!(all(9, 1, true), [(2, false), (9 | BYTE, true)]);
        let [a, b, c, d] = [8, 9, 10, 11].map(|byte| (byte | BYTE, false));
        assert_eq!(all(8, 4, true), [(2, true), a, b, c, d]);
    }

    #[test]
    fn words_beyond_the_limit_share_what_is_released() {
        let mut words = SyncVariables::default();
        let past = past_of(1);
        let limit = 400_000;
        let mut last = JoinCache::default();
        for number in 0..100_000 {
            words.entry(number).write(by(1, true), false, [Some(&past), None], &mut last);
            if words.are_many() {
                words.keep_within(limit);
            }
        }
        assert!(words.bytes(&mut CountedNodes::default()) < limit);
        words.entry(7).write(by(3, true), false, [None; 2], &mut last);
        assert_eq!(words.get(7).map(learnt), Some(vec![]));
        let shared = 99_999;
        words.entry(shared).write(by(3, true), false, [None; 2], &mut last);
        assert_eq!(words.get(shared).map(learnt), Some(vec![1]));
        words.keep_within(1000);
        assert!(words.bytes(&mut CountedNodes::default()) < 1000);
        for number in [7, 99_999, 123_456] {
            assert_eq!(words.get(number).map(learnt), Some(vec![1]), "{number}");
        }
    }

    #[test]
    fn what_was_never_written_strongly_tells_readers_nothing() {
        let mut words = SyncVariables::default();
        assert!(words.strongly_read(5).is_none());
        words.note_strong(5);
        assert!(words.strongly_read(5).is_some() && words.strongly_read(6).is_none());
    }
}
