//! Words by which threads tell each other how far they are: what who reads one of them may take for done.
//!
//! A word carries what its last strong store released, and on top of that what every read-modify-write since then did:
//! observation goes through those (PTX ISA 8.9, "Observation Order").
//!
//! Flags of one or two bytes are told apart: each byte is a cell of its own, beside that of its word.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::keys::KeyHasher;
use super::know::{Counted, Know};
use super::stamps::Access;

/// Words that are told apart. Others share one of as many, so that what was released by one of them counts for all: that
/// may hide a race, but finds none.
const MAX_WORDS: usize = 1 << 16;

/// Marks the cell of a byte; no word has such a number.
const BYTE: u64 = 1 << 62;

/// The cells of words and bytes that an access concerns, and whether each is of its own size. `bytes`: there are cells of bytes.
pub(super) fn cells(address: u64, size: u32, bytes: bool) -> impl Iterator<Item = (u64, bool)> {
    let end = address.saturating_add(size.into());
    let (words, small) = (address / 4..end.div_ceil(4), size < 4);
    let parts = match (small, bytes) {
        (true, _) => address..end,
        (false, true) => words.start * 4..words.end.saturating_mul(4),
        (false, false) => 0..0,
    };
    words.map(move |word| (word, !small)).chain(parts.map(move |byte| (byte | BYTE, small)))
}

/// One access of one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    pub block: u32,
    pub warp: u8,
    /// Its scope takes in other blocks.
    pub wide: bool,
}

/// What a word tells.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// Released to all blocks.
    wide: Know,
    /// Released to the threads of one block only.
    near: Vec<(u32, Know)>,
    /// Block and warp that wrote it last.
    last: (u32, u8),
    /// Grows with every write.
    version: u32,
    /// Who has read it since then, once for each warp.
    readers: Vec<Access>,
    /// Stands for several words.
    many: bool,
}

impl Word {
    /// A write: what it releases to all, and what to its own block.
    pub fn write(&mut self, here: Here, update: bool, wide: Option<&Know>, near: Option<&Know>) {
        let by = (here.block, here.warp);
        // A store hides what others released before. The storing thread's own release goes on (PTX ISA 8.8).
        if !update && !self.many && self.last != by {
            self.wide = Know::default();
            self.near.clear();
        }
        if let Some(wide) = wide.filter(|_| here.wide) {
            self.wide.join(wide);
        } else if let Some(near) = near {
            match self.near.iter_mut().find(|(block, _)| *block == here.block) {
                Some((_, known)) => {
                    known.join(near);
                }
                None => self.near.push((here.block, near.clone())),
            }
        }
        self.last = by;
        self.version = self.version.wrapping_add(1);
        self.readers.clear();
    }

    /// What a reader learns: what was released to all, and what to its own block.
    pub fn read(&self, here: Here) -> [Option<&Know>; 2] {
        let near = self.near.iter().find(|(block, _)| *block == here.block).map(|(_, near)| near);
        let reaches = here.wide || self.last.0 == here.block;
        [Some(&self.wide).filter(|wide| reaches && !wide.is_empty()), near]
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// Keeps who has read the last write.
    pub fn note_reader(&mut self, reader: Access) {
        let same = |old: &Access| {
            (old.event.block, old.event.warp) == (reader.event.block, reader.event.warp)
        };
        // The first of a warp is before all that the later ones are before.
        if !self.many && !self.readers.iter().any(same) {
            self.readers.push(reader);
        }
    }

    /// Who has read the last write. The write lies before all that these lie before (PTX ISA 8.9, "Causality Order").
    pub fn readers(&self) -> &[Access] {
        &self.readers
    }
}

/// All words of a kind of memory, by number.
#[derive(Debug, Default)]
pub(super) struct Words {
    cells: HashMap<u64, Word, BuildHasherDefault<KeyHasher>>,
    bytes: bool,
}

impl Words {
    pub fn clear(&mut self) {
        self.cells.clear();
        self.bytes = false;
    }

    /// Whether there are cells of bytes.
    pub fn has_bytes(&self) -> bool {
        self.bytes
    }

    /// Bytes, with what the table adds.
    pub fn bytes(&self, counted: &mut Counted) -> usize {
        // A table keeps every eighth place free, and a byte for each.
        let table = self.cells.capacity() / 7 * 8 * (size_of::<(u64, Word)>() + 1);
        let of_word = |word: &Word| {
            let near: usize = word.near.iter().map(|(_, near)| near.bytes(counted)).sum();
            let lists = word.near.capacity() * size_of::<(u32, Know)>()
                + word.readers.capacity() * size_of::<Access>();
            word.wide.bytes(counted) + near + lists
        };
        table + self.cells.values().map(of_word).sum::<usize>()
    }

    fn place(&self, number: u64) -> u64 {
        if self.cells.len() < MAX_WORDS || self.cells.contains_key(&number) {
            number
        } else {
            // No word has such a number.
            (number % MAX_WORDS as u64) | (1 << 63)
        }
    }

    pub fn get(&self, number: u64) -> Option<&Word> {
        self.cells.get(&self.place(number))
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Word> {
        let place = self.place(number);
        self.cells.get_mut(&place)
    }

    pub fn entry(&mut self, number: u64) -> &mut Word {
        let place = self.place(number);
        let many = place >> 63 == 1;
        self.bytes |= number & BYTE != 0;
        self.cells.entry(place).or_insert_with(|| Word { many, ..Word::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::know::Seen;
    use super::*;

    fn by(block: u32, wide: bool) -> Here {
        Here { block, warp: 0, wide }
    }

    /// What blocks 1 to 3 did, as far as a reader of block 4 learns it.
    fn learnt(word: &Word) -> Vec<u32> {
        let mut know = Know::default();
        for news in word.read(by(4, true)).into_iter().flatten() {
            know.join(news);
        }
        (1..4).filter(|&block| !know.block(block, 1).is_empty()).collect()
    }

    fn past_of(block: u32) -> Know {
        Know::of(block, Box::new([Seen { all: 1, ..Seen::default() }]), 1)
    }

    #[test]
    fn updates_pass_on_what_stores_hide() {
        let [first, second] = [past_of(1), past_of(2)];
        let mut word = Word::default();
        word.write(by(1, true), false, Some(&first), None);
        word.write(by(2, true), true, Some(&second), None);
        word.write(by(3, true), true, None, None);
        assert_eq!(learnt(&word), [1, 2]);
        word.write(by(2, true), false, Some(&second), None);
        assert_eq!(learnt(&word), [2]);
        word.write(by(2, true), false, None, None);
        assert_eq!(learnt(&word), [2], "its own release goes on");
        word.write(by(3, true), false, None, None);
        assert_eq!(learnt(&word), []);
    }

    #[test]
    fn block_scope_tells_its_block_only() {
        let past = past_of(1);
        for (wide, released) in [(true, None), (false, Some(&past))] {
            let mut word = Word::default();
            word.write(by(1, wide), false, released, Some(&past));
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
        let mut words = Words::default();
        let past = past_of(1);
        for number in 0..2 * MAX_WORDS as u64 + 10 {
            words.entry(number).write(by(1, true), false, Some(&past), None);
        }
        assert_eq!(words.cells.len(), 2 * MAX_WORDS);
        words.entry(7).write(by(3, true), false, None, None);
        assert_eq!(words.get(7).map(learnt), Some(vec![]));
        let shared = 2 * MAX_WORDS as u64 + 7;
        words.entry(shared).write(by(3, true), false, None, None);
        assert_eq!(words.get(shared).map(learnt), Some(vec![1]));
    }
}
