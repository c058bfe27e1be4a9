//! Memory of one thread: its stack frame and the parameters of its calls, lane beside lane.

use super::layout::Layout;
use crate::lanes::lanes;
use crate::memory::lane_memory::{Fault, LaneMemory, byte_flags, within_word};

/// Local memory of a warp.
#[derive(Clone, Debug, Default)]
pub struct Local {
    words: Vec<[u32; 32]>,
    /// For each byte of a word whether it was written (low nibble), and in the call stack whether it belongs to a variable
    /// (high nibble): each lane has frames of its own there.
    flags: Vec<[u8; 32]>,
    /// For each word below the call stack, which bytes belong to a variable.
    owned: Vec<u8>,
}

/// Words between the variables and the call stack, so that neither overruns the other.
const GUARD: usize = 256;

impl Local {
    /// Unwritten memory with the variables of a layout.
    pub fn new(layout: &Layout) -> Self {
        let words = (layout.end as usize).div_ceil(4);
        let mut owned = vec![0; words];
        for &(start, size) in &layout.variables {
            for byte in start..start + size {
                owned[byte as usize / 4] |= 1 << (byte & 3);
            }
        }
        Self { words: vec![[u32::MAX; 32]; words], flags: vec![[0; 32]; words], owned }
    }

    /// Makes all bytes undefined, for the warp of a new block.
    pub fn clear(&mut self) {
        self.words.truncate(self.owned.len());
        self.flags.truncate(self.owned.len());
        self.words.fill([u32::MAX; 32]);
        self.flags.fill([0; 32]);
    }

    /// Makes bytes undefined again.
    pub fn undefine(&mut self, lane: usize, address: u64, bytes: u32) {
        let Ok(place) = self.check(lane, address, bytes, true) else { return };
        if bytes == 8 {
            self.flags[place / 4][lane] &= 0xF0;
            self.flags[place / 4 + 1][lane] &= 0xF0;
        } else {
            self.flags[place / 4][lane] &= !byte_flags(place, bytes);
        }
    }

    /// Where the call stack begins.
    pub fn stack_start(&self) -> u32 {
        ((self.owned.len() + GUARD) * 4).next_multiple_of(128) as u32
    }

    /// Unwritten variables of a frame at `start`: offset and bytes of each.
    pub fn open_frame(&mut self, mask: u32, start: u32, variables: &[(u32, u32)]) {
        let end = variables.iter().map(|&(offset, size)| offset + size).max().unwrap_or(0);
        let words = (start + end).div_ceil(4) as usize;
        if words > self.words.len() {
            self.words.resize(words, [u32::MAX; 32]);
            self.flags.resize(words, [0; 32]);
        }
        self.close_frame(mask, start, variables);
        for &(offset, size) in variables {
            for byte in start + offset..start + offset + size {
                let flags = &mut self.flags[byte as usize / 4];
                for lane in lanes(mask) {
                    flags[lane] |= 0x10 << (byte & 3);
                }
            }
        }
    }

    /// The variables of a frame are no more.
    pub fn close_frame(&mut self, mask: u32, start: u32, variables: &[(u32, u32)]) {
        for &(offset, size) in variables {
            let (first, end) = ((start + offset) / 4, (start + offset + size).div_ceil(4));
            for word in first as usize..(end as usize).min(self.words.len()) {
                for lane in lanes(mask) {
                    self.words[word][lane] = u32::MAX;
                    self.flags[word][lane] = 0;
                }
            }
        }
    }
}

impl LaneMemory for Local {
    fn check(&self, lane: usize, address: u64, size: u32, _write: bool) -> Result<usize, Fault> {
        let end = self.words.len() as u64 * 4;
        if address >= end || end - address < u64::from(size) {
            return Err(Fault::OutOfBounds);
        }
        let place = address as usize;
        let owned = (place..place + size as usize).all(|byte| {
            let owned = match self.owned.get(byte / 4) {
                Some(owned) => *owned,
                None => self.flags[byte / 4][lane] >> 4,
            };
            owned & (1 << (byte & 3)) != 0
        });
        if !owned {
            Err(Fault::OutOfBounds)
        } else if !place.is_multiple_of(size as usize) {
            Err(Fault::Misaligned)
        } else {
            Ok(place)
        }
    }

    fn get(&self, lane: usize, place: usize, bytes: u32) -> (u64, bool) {
        let (word, flags) = (&self.words[place / 4], self.flags[place / 4][lane]);
        match bytes {
            8 => {
                let (low, first) = self.get(lane, place, 4);
                let (high, second) = self.get(lane, place + 4, 4);
                (low | high << 32, first || second)
            }
            4 => (word[lane].into(), flags & 0xF != 0),
            _ => {
                let (mask, shift) = within_word(place, bytes);
                let defined = flags & byte_flags(place, bytes) != 0;
                (u64::from((word[lane] & mask) >> shift), defined)
            }
        }
    }

    fn put(&mut self, lane: usize, place: usize, bytes: u32, value: u64) {
        if bytes == 8 {
            self.put(lane, place, 4, value);
            self.put(lane, place + 4, 4, value >> 32);
            return;
        }
        let word = &mut self.words[place / 4][lane];
        if bytes == 4 {
            *word = value as u32;
        } else {
            let (mask, shift) = within_word(place, bytes);
            *word = (*word & !mask) | ((value as u32) << shift & mask);
        }
        self.flags[place / 4][lane] |= byte_flags(place, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_not_see_each_other() {
        let mut layout = Layout::default();
        layout.place(8, 8).unwrap();
        let mut local = Local::new(&layout);
        local.put(3, 0, 8, 0x1122_3344_5566_7788);
        assert_eq!(local.get(3, 4, 4), (0x1122_3344, true));
        assert_eq!(local.get(3, 2, 2), (0x5566, true));
        assert!(!local.get(4, 0, 4).1);
        assert_eq!(local.check(3, 8, 4, false), Err(Fault::OutOfBounds));
        local.clear();
        assert!(!local.get(3, 0, 1).1);
    }
}
