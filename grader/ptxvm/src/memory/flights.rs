//! Words of shared memory that asynchronous copies are still on their way to.

use crate::ir::Pc;

/// A copy that somebody has not waited for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    pub pc: Pc,
    /// Index in the block.
    pub thread: u32,
}

/// By word.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    words: Vec<Option<Flight>>,
    /// Words with a copy.
    count: usize,
}

impl Flights {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn clear(&mut self) {
        if self.count != 0 {
            self.words.fill(None);
            self.count = 0;
        }
    }

    /// Of what an access touches, the first that a copy is on its way to: address and copy.
    pub fn find(&self, address: u64, size: u32) -> Option<(u64, Flight)> {
        let first = (address / 4) as usize;
        let words = self.words.get(first..)?.iter().zip(first as u64..);
        let count = (address % 4 + u64::from(size)).div_ceil(4) as usize;
        words.take(count).find_map(|(flight, word)| flight.map(|flight| (word * 4, flight)))
    }

    /// A copy of whole words sets out.
    pub fn begin(&mut self, address: u64, size: u32, flight: Flight) {
        let words = (address / 4) as usize..((address + u64::from(size)) / 4) as usize;
        if self.words.len() < words.end {
            self.words.resize(words.end, None);
        }
        for word in &mut self.words[words] {
            self.count += usize::from(word.is_none());
            *word = Some(flight);
        }
    }

    /// It has arrived.
    pub fn end(&mut self, address: u64, size: u32) {
        let words = (address / 4) as usize..((address + u64::from(size)) / 4) as usize;
        for word in self.words.get_mut(words).unwrap_or_default() {
            self.count -= usize::from(word.is_some());
            *word = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_flight_from_begin_to_end() {
        let mut flights = Flights::default();
        let copy = Flight { pc: 7, thread: 3 };
        flights.begin(16, 8, copy);
        assert_eq!(flights.find(14, 4), Some((16, copy)));
        assert_eq!(flights.find(0, 64), Some((16, copy)));
        assert_eq!(flights.find(23, 1), Some((20, copy)));
        assert_eq!(flights.find(12, 4), None);
        assert_eq!(flights.find(24, 4), None);
        assert_eq!(flights.find(1 << 40, 4), None);
        flights.begin(20, 4, copy);
        flights.end(16, 8);
        assert!(flights.is_empty());
        flights.begin(0, 16, copy);
        flights.clear();
        assert!(flights.is_empty());
        assert_eq!(flights.find(0, 16), None);
    }
}
