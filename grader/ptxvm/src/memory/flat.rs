//! Memory of one block or of the module: shared, constant and parameter space.

use super::in_flight::InFlightWords;
use super::layout::Layout;
use crate::lanes::{HALF, LaneIndices};
use crate::memory::lane_memory::{Fault, LaneMemory, byte_flags, within_word};
use crate::memory::unwritten::Unwritten;

/// Words with flags: for each byte whether it belongs to a variable (high nibble) and whether it was written (low nibble).
#[derive(Clone, Debug, Default)]
pub struct Flat {
    words: Vec<u32>,
    flags: Vec<u8>,
    read_only: bool,
    /// What nothing has written is what the block before left.
    keeps: bool,
    in_flight: InFlightWords,
}

/// Every byte of a word written and owned.
const WHOLE: u8 = 0xFF;
/// Every byte of a row of words owned.
const OWNED: u128 = u128::from_le_bytes([0xF0; HALF]);

impl Flat {
    /// Unwritten memory with the variables of a layout.
    pub fn undefined(layout: &Layout, unwritten: Unwritten) -> Self {
        let words = (layout.end as usize).div_ceil(4);
        let mut flags = vec![0; words];
        for &(start, size) in &layout.variables {
            for byte in start..start + size {
                flags[byte as usize / 4] |= 0x10 << (byte & 3);
            }
        }
        Self {
            words: (0..words).map(|word| unwritten.word(word)).collect(),
            flags,
            read_only: false,
            keeps: unwritten.is_left(),
            in_flight: InFlightWords::default(),
        }
    }

    /// Read-only memory, all zero at first.
    pub fn read_only(layout: &Layout) -> Self {
        let mut flat = Self::undefined(layout, Unwritten::Zeros);
        for flags in &mut flat.flags {
            *flags |= *flags >> 4;
        }
        flat.read_only = true;
        flat
    }

    /// The host writes bytes that must lie inside.
    pub fn fill(&mut self, start: u32, bytes: &[u8]) {
        for (place, &byte) in (start as usize..).zip(bytes) {
            let (mask, shift) = within_word(place, 1);
            let word = &mut self.words[place / 4];
            *word = (*word & !mask) | u32::from(byte) << shift;
        }
    }

    /// Bytes that must lie inside.
    pub fn read(&self, start: u32, bytes: usize) -> Vec<u8> {
        let places = start as usize..start as usize + bytes;
        places.map(|place| (self.words[place / 4] >> (8 * (place & 3))) as u8).collect()
    }

    /// Takes over the contents of `other`, reusing the storage.
    pub fn reset_from(&mut self, other: &Self) {
        if other.keeps && self.words.len() == other.words.len() {
            let given = self.words.iter_mut().zip(other.words.iter().zip(&other.flags));
            given.filter(|(_, (_, flags))| **flags & 0x0F != 0).for_each(|(own, of)| *own = *of.0);
        } else {
            self.words.clone_from(&other.words);
        }
        self.keeps = other.keeps;
        self.flags.clone_from(&other.flags);
        self.read_only = other.read_only;
        self.in_flight.clear();
    }

    /// Bytes of the flags, and of the marks of copies in flight.
    pub fn flag_bytes(&self) -> usize {
        self.flags.len() + self.in_flight.bytes()
    }

    /// The words that asynchronous copies will still write.
    #[inline(always)]
    pub fn in_flight_words(&self) -> &InFlightWords {
        &self.in_flight
    }

    /// Begins a copy of whole words to a checked place: until it completes, these are undefined.
    pub fn set_out(&mut self, address: u64, size: u32) {
        self.in_flight.begin(address, size);
        for word in address / 4..(address + u64::from(size)) / 4 {
            self.words[word as usize] = u32::MAX;
            self.flags[word as usize] &= 0xF0;
        }
    }

    /// Ends a copy, whose bytes are about to be written.
    pub fn arrived(&mut self, address: u64, size: u32) {
        self.in_flight.end(address, size);
    }

    /// All words, if those of the lanes of a mask were all written before.
    #[inline(always)]
    pub fn written(&self, words: &LaneIndices, mask: u32) -> Option<&[u32]> {
        let near = words.span().and_then(|span| self.flags.get(span));
        let whole =
            near.is_some_and(|near| near.iter().fold(WHOLE, |all, flags| all & flags) == WHOLE);
        let word = |word| self.flags.get(word) == Some(&WHOLE);
        let row = |first| self.row_flags(first) == Some(u128::MAX);
        (whole || words.all_halves(mask, word, row)).then_some(&self.words)
    }

    /// The flags of a row of words.
    #[inline(always)]
    fn row_flags(&self, first: usize) -> Option<u128> {
        let flags = self.flags.get(first..)?.first_chunk::<HALF>()?;
        Some(u128::from_le_bytes(*flags))
    }

    /// Stores a row of whole aligned words; false, and nothing done, where that is not simply possible.
    #[inline(always)]
    pub fn set_row(&mut self, address: u64, values: &[u32; HALF]) -> bool {
        let first = (address >> 2) as usize;
        let is_owned = self.row_flags(first).is_some_and(|flags| flags & OWNED == OWNED);
        if address & 3 != 0 || self.read_only || !is_owned {
            return false;
        }
        self.words[first..first + HALF].copy_from_slice(values);
        self.flags[first..first + HALF].fill(WHOLE);
        true
    }

    /// Stores a whole aligned word; false where that is not simply possible.
    #[inline(always)]
    pub fn set_word(&mut self, address: u64, value: u32) -> bool {
        let index = (address >> 2) as usize;
        match (self.words.get_mut(index), self.flags.get_mut(index)) {
            (Some(word), Some(flags)) if address & 3 == 0 && *flags >= 0xF0 && !self.read_only => {
                *word = value;
                *flags = WHOLE;
                true
            }
            _ => false,
        }
    }
}

impl LaneMemory for Flat {
    fn check(&self, _lane: usize, address: u64, size: u32, write: bool) -> Result<usize, Fault> {
        let end = self.words.len() as u64 * 4;
        if address >= end || end - address < u64::from(size) {
            return Err(Fault::OutOfBounds);
        }
        let place = address as usize;
        let owned = (place..place + size as usize)
            .all(|byte| self.flags[byte / 4] & (0x10 << (byte & 3)) != 0);
        if !owned {
            return Err(Fault::OutOfBounds);
        }
        if !place.is_multiple_of(size as usize) {
            return Err(Fault::Misaligned);
        }
        if write && self.read_only { Err(Fault::ReadOnly) } else { Ok(place) }
    }

    fn get(&self, _lane: usize, place: usize, bytes: u32) -> (u64, bool) {
        let index = place / 4;
        match bytes {
            8 => {
                let (low, first) = self.get(0, place, 4);
                let (high, second) = self.get(0, place + 4, 4);
                (low | high << 32, first || second)
            }
            4 => (self.words[index].into(), self.flags[index] & 0xF != 0),
            _ => {
                let (mask, shift) = within_word(place, bytes);
                let flags = byte_flags(place, bytes);
                (u64::from((self.words[index] & mask) >> shift), self.flags[index] & flags != 0)
            }
        }
    }

    fn put(&mut self, _lane: usize, place: usize, bytes: u32, value: u64) {
        let index = place / 4;
        match bytes {
            8 => {
                self.put(0, place, 4, value);
                self.put(0, place + 4, 4, value >> 32);
            }
            4 => {
                self.words[index] = value as u32;
                self.flags[index] |= 0xF;
            }
            _ => {
                let (mask, shift) = within_word(place, bytes);
                self.words[index] = (self.words[index] & !mask) | ((value as u32) << shift & mask);
                self.flags[index] |= byte_flags(place, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{LaneArray, Pattern};

    fn two_variables() -> (Flat, u64) {
        let mut layout = Layout::default();
        layout.place(6, 4).unwrap();
        let second = layout.place(8, 8).unwrap();
        (Flat::undefined(&layout, Unwritten::Ones), second.into())
    }

    #[test]
    fn gaps_belong_to_nobody() {
        let (flat, second) = two_variables();
        assert_eq!(flat.check(0, 4, 2, true), Ok(4));
        assert_eq!(flat.check(0, 4, 4, true), Err(Fault::OutOfBounds));
        assert_eq!(flat.check(0, 8, 4, true), Err(Fault::OutOfBounds));
        assert_eq!(flat.check(0, second + 4, 8, true), Err(Fault::OutOfBounds));
        assert_eq!(flat.check(0, 1, 2, true), Err(Fault::Misaligned));
        assert_eq!(flat.check(0, u64::MAX, 4, false), Err(Fault::OutOfBounds));
    }

    #[test]
    fn rows_are_stored_where_all_words_are_owned() {
        let mut layout = Layout::default();
        layout.place(68, 4).unwrap();
        let mut flat = Flat::undefined(&layout, Unwritten::Ones);
        let values = std::array::from_fn(|word| word as u32);
        assert!(flat.set_row(4, &values));
        for refused in [2, 8, u64::MAX - 3] {
            assert!(!flat.set_row(refused, &values), "{refused}");
        }
        assert_eq!(flat.words[1..17], values);
        let row = |first| {
            let index = LaneArray(std::array::from_fn(|lane| first + lane as u32 % 16));
            LaneIndices { index, halves: [Pattern::Row; 2], ..LaneIndices::new() }
        };
        assert!(flat.written(&row(1), 1).is_some() && flat.written(&row(0), 1).is_none());
        layout.place(4, 64).unwrap();
        let mut gap = Flat::undefined(&layout, Unwritten::Ones);
        assert!(!gap.set_row(8, &values), "words behind the first variable belong to nobody");
    }

    #[test]
    fn bytes_are_defined_one_by_one() {
        let (mut flat, _) = two_variables();
        flat.put(0, 1, 1, 0xAB);
        assert_eq!(flat.get(0, 1, 1), (0xAB, true));
        assert_eq!(flat.get(0, 0, 1), (0xFF, false));
        // The other byte may be padding.
        assert_eq!(flat.get(0, 0, 2), (0xABFF, true));
        let first = LaneIndices { halves: [Pattern::Same; 2], ..LaneIndices::new() };
        assert_eq!(flat.written(&first, 1), None);
        assert!(flat.set_word(0, 7));
        assert_eq!(flat.written(&first, 1).map(|words| words[0]), Some(7));
        assert!(!flat.set_word(4, 7));
    }
}
