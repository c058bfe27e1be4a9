//! Memory of one thread: its stack frame and the parameters of its calls, lane beside lane.

use super::layout::Layout;
use crate::lanes::lanes;
use crate::memory::lane_memory::{Fault, LaneMemory, byte_flags, within_word};
use crate::memory::unwritten::Unwritten;
use std::array::from_fn;

/// Local memory of a warp: the variables of the kernel and its functions, and above them the call stack.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// A page has memory from its first store on: most threads use a small part of a large array.
    pages: Vec<Option<Box<Page>>>,
    /// Where the variables are, from the first byte of one to the end of the last one directly after it, in rising order.
    variables: Vec<(u32, u32)>,
    /// One past the last variable.
    end: u32,
    /// What it holds before the thread writes it.
    unwritten: Unwritten,
}

/// Words of a page.
const PAGE_WORDS: usize = 32;

/// So many words of each lane.
#[derive(Clone, Debug)]
struct Page {
    words: [[u32; 32]; PAGE_WORDS],
    /// For each byte of a word whether it was written (low nibble), and in the call stack whether it belongs to a variable
    /// (high nibble): each lane has frames of its own there.
    flags: [[u8; 32]; PAGE_WORDS],
}

impl Page {
    /// A page of which nothing is written.
    fn unwritten(contents: Unwritten) -> Self {
        let words = match contents {
            Unwritten::Ones => [[u32::MAX; 32]; PAGE_WORDS],
            _ => from_fn(|word| from_fn(|lane| unwritten_word(contents, word, lane))),
        };
        Self { words, flags: [[0; 32]; PAGE_WORDS] }
    }
}

/// What a word of a page holds, for a lane, before it is written.
fn unwritten_word(contents: Unwritten, word: usize, lane: usize) -> u32 {
    contents.word(word * 32 + lane)
}

/// Words between the variables and the call stack, so that neither overruns the other.
const GUARD: u32 = 256;

impl Local {
    /// Unwritten memory with the variables of a layout.
    pub fn new(layout: &Layout, unwritten: Unwritten) -> Self {
        let mut variables: Vec<(u32, u32)> = Vec::new();
        for &(start, size) in layout.variables.iter().filter(|&&(_, size)| size != 0) {
            match variables.last_mut() {
                Some((_, end)) if *end == start => *end += size,
                _ => variables.push((start, start + size)),
            }
        }
        Self { pages: vec![None; pages(layout.end)], variables, end: layout.end, unwritten }
    }

    /// Makes all bytes undefined, for the warp of a new block.
    pub fn clear(&mut self) {
        for page in self.pages.iter_mut().flatten() {
            **page = Page::unwritten(self.unwritten);
        }
    }

    /// Makes bytes undefined again.
    pub fn undefine(&mut self, lane: usize, address: u64, bytes: u32) {
        let Ok(place) = self.check(lane, address, bytes, true) else { return };
        for word in place / 4..(place + bytes as usize).div_ceil(4) {
            let undefined = if bytes >= 4 { 0xF } else { byte_flags(place, bytes) };
            if let Some((page, word)) = self.written_page(word) {
                page.flags[word][lane] &= !undefined;
            }
        }
    }

    /// Where the call stack begins.
    pub fn stack_start(&self) -> u32 {
        ((self.end.div_ceil(4) + GUARD) * 4).next_multiple_of(128)
    }

    /// Unwritten variables of a frame at `start`: offset and bytes of each.
    pub fn open_frame(&mut self, mask: u32, start: u32, variables: &[(u32, u32)]) {
        let end = variables.iter().map(|&(offset, size)| offset + size).max().unwrap_or(0);
        self.pages.resize(self.pages.len().max(pages(start + end)), None);
        self.close_frame(mask, start, variables);
        for &(offset, size) in variables {
            for byte in start + offset..start + offset + size {
                let (page, word) = self.page(byte as usize / 4);
                for lane in lanes(mask) {
                    page.flags[word][lane] |= 0x10 << (byte & 3);
                }
            }
        }
    }

    /// The variables of a frame are no more.
    pub fn close_frame(&mut self, mask: u32, start: u32, variables: &[(u32, u32)]) {
        let contents = self.unwritten;
        for &(offset, size) in variables {
            for word in (start + offset) / 4..(start + offset + size).div_ceil(4) {
                let Some((page, word)) = self.written_page(word as usize) else { continue };
                for lane in lanes(mask) {
                    page.words[word][lane] = unwritten_word(contents, word, lane);
                    page.flags[word][lane] = 0;
                }
            }
        }
    }

    /// Whether bytes belong to variables. Those of a frame belong to the lanes whose frame it is.
    fn is_owned(&self, lane: usize, place: u32, size: u32) -> bool {
        if place >= self.end {
            return (place..place + size).all(|byte| {
                let (page, word) = place_of(byte as usize / 4);
                let page = self.pages.get(page).and_then(Option::as_ref);
                page.is_some_and(|page| page.flags[word][lane] & (0x10 << (byte & 3)) != 0)
            });
        }
        let after = self.variables.partition_point(|&(start, _)| start <= place);
        after.checked_sub(1).is_some_and(|at| place + size <= self.variables[at].1)
    }

    /// The page of a word, if it has memory, and the number of the word in it.
    fn written_page(&mut self, word: usize) -> Option<(&mut Page, usize)> {
        let (page, word) = place_of(word);
        Some((self.pages.get_mut(page)?.as_mut()?, word))
    }

    /// The page of a word that is inside, and the number of the word in it.
    fn page(&mut self, word: usize) -> (&mut Page, usize) {
        let (page, word) = place_of(word);
        let unwritten = || Box::new(Page::unwritten(self.unwritten));
        (self.pages[page].get_or_insert_with(unwritten), word)
    }
}

/// How many pages hold so many bytes.
fn pages(bytes: u32) -> usize {
    (bytes as usize).div_ceil(4 * PAGE_WORDS)
}

/// The numbers of a word's page, and of the word in it.
fn place_of(word: usize) -> (usize, usize) {
    (word / PAGE_WORDS, word % PAGE_WORDS)
}

impl LaneMemory for Local {
    fn check(&self, lane: usize, address: u64, size: u32, _write: bool) -> Result<usize, Fault> {
        let end = (self.pages.len() * PAGE_WORDS * 4) as u64;
        if address >= end || end - address < u64::from(size) {
            return Err(Fault::OutOfBounds);
        }
        let place = address as usize;
        if !self.is_owned(lane, address as u32, size) {
            Err(Fault::OutOfBounds)
        } else if !place.is_multiple_of(size as usize) {
            Err(Fault::Misaligned)
        } else {
            Ok(place)
        }
    }

    fn get(&self, lane: usize, place: usize, bytes: u32) -> (u64, bool) {
        if bytes == 8 {
            let (low, first) = self.get(lane, place, 4);
            let (high, second) = self.get(lane, place + 4, 4);
            return (low | high << 32, first || second);
        }
        let (page, word) = place_of(place / 4);
        let (word, flags) = match &self.pages[page] {
            Some(page) => (page.words[word][lane], page.flags[word][lane]),
            None => (unwritten_word(self.unwritten, word, lane), 0),
        };
        if bytes == 4 {
            return (word.into(), flags & 0xF != 0);
        }
        let (mask, shift) = within_word(place, bytes);
        (u64::from((word & mask) >> shift), flags & byte_flags(place, bytes) != 0)
    }

    fn put(&mut self, lane: usize, place: usize, bytes: u32, value: u64) {
        if bytes == 8 {
            self.put(lane, place, 4, value);
            self.put(lane, place + 4, 4, value >> 32);
            return;
        }
        let (page, at) = self.page(place / 4);
        let word = &mut page.words[at][lane];
        if bytes == 4 {
            *word = value as u32;
        } else {
            let (mask, shift) = within_word(place, bytes);
            *word = (*word & !mask) | ((value as u32) << shift & mask);
        }
        page.flags[at][lane] |= byte_flags(place, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_not_see_each_other() {
        let mut layout = Layout::default();
        layout.place(8, 8).unwrap();
        let mut local = Local::new(&layout, Unwritten::Ones);
        local.put(3, 0, 8, 0x1122_3344_5566_7788);
        assert_eq!(local.get(3, 4, 4), (0x1122_3344, true));
        assert_eq!(local.get(3, 2, 2), (0x5566, true));
        assert!(!local.get(4, 0, 4).1);
        assert_eq!(local.check(3, 8, 4, false), Err(Fault::OutOfBounds));
        local.undefine(3, 0, 4);
        assert_eq!((local.get(3, 0, 4).1, local.get(3, 4, 4).1), (false, true));
        local.clear();
        assert!(!local.get(3, 4, 1).1);
    }

    #[test]
    fn a_large_array_costs_what_is_written() {
        let mut layout = Layout::default();
        let place = layout.place(512 << 10, 4).unwrap() as usize + (512 << 10) - 4;
        let mut local = Local::new(&layout, Unwritten::Ones);
        assert_eq!(local.check(0, place as u64, 4, true), Ok(place));
        assert_eq!(local.get(0, place, 4), (u32::MAX.into(), false));
        local.put(0, place, 2, 7);
        assert_eq!(local.get(0, place, 4), (0xFFFF_0007, true));
        assert_eq!(local.pages.iter().flatten().count(), 1);
        assert_eq!(local.check(0, place as u64 + 4, 4, true), Err(Fault::OutOfBounds));
    }

    #[test]
    fn neighbours_without_a_gap_are_accessed_together() {
        let mut layout = Layout::default();
        let first = layout.place(4, 4).unwrap();
        layout.place_close(4, 4).unwrap();
        let far = layout.place(4, 4).unwrap();
        let local = Local::new(&layout, Unwritten::Ones);
        assert!(local.check(0, first.into(), 8, false).is_ok());
        assert_eq!(local.check(0, u64::from(far) - 4, 8, false), Err(Fault::OutOfBounds));
    }

    #[test]
    fn a_frame_belongs_to_its_lanes() {
        let mut local = Local::new(&Layout::default(), Unwritten::Ones);
        let start = local.stack_start();
        local.open_frame(0b01, start, &[(16, 8)]);
        assert!(local.check(0, u64::from(start) + 16, 8, true).is_ok());
        assert_eq!(local.check(1, u64::from(start) + 16, 8, true), Err(Fault::OutOfBounds));
        local.close_frame(0b01, start, &[(16, 8)]);
        assert_eq!(local.check(0, u64::from(start) + 16, 8, true), Err(Fault::OutOfBounds));
    }
}
