//! Words by which threads tell each other how far they are: what who reads one of them may take for done.
//!
//! A word carries what its last strong store released, and on top of that what every read-modify-write since then did:
//! observation goes through those (PTX ISA 8.10.1, "Observation Order").

use std::collections::HashMap;

use super::know::Know;
use super::stamps::Access;

/// Words that are told apart. Others share one of as many, so that what was released by one of them counts for all: that
/// may hide a race, but finds none.
const MAX_WORDS: usize = 1 << 16;

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

    /// Who has read the last write. The write lies before all that these lie before (PTX ISA 8.10.6, "Causality Order").
    pub fn readers(&self) -> &[Access] {
        &self.readers
    }
}

/// All words of a kind of memory, by number.
#[derive(Debug, Default)]
pub(super) struct Words(HashMap<u64, Word>);

impl Words {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn place(&self, number: u64) -> u64 {
        if self.0.len() < MAX_WORDS || self.0.contains_key(&number) {
            number
        } else {
            // No word has such a number.
            number % MAX_WORDS as u64 | 1 << 63
        }
    }

    pub fn get(&self, number: u64) -> Option<&Word> {
        self.0.get(&self.place(number))
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Word> {
        let place = self.place(number);
        self.0.get_mut(&place)
    }

    pub fn entry(&mut self, number: u64) -> &mut Word {
        let place = self.place(number);
        let many = place >> 63 == 1;
        self.0.entry(place).or_insert_with(|| Word { many, ..Word::default() })
    }
}
