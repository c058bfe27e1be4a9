//! The words of shared memory that an asynchronous copy will still write.

/// One bit for each word.
#[derive(Clone, Debug, Default)]
pub struct InFlightWords {
    words: Vec<u64>,
    /// How many words a copy will still write.
    count: usize,
}

/// Words whose bits are one number.
const BITS: u64 = u64::BITS as u64;

/// The words of an access, as far as they are whole ones.
fn words(address: u64, size: u32) -> std::ops::Range<u64> {
    address / 4..(address + u64::from(size)) / 4
}

impl InFlightWords {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn clear(&mut self) {
        if self.count != 0 {
            self.words.fill(0);
            self.count = 0;
        }
    }

    fn has(&self, word: u64) -> bool {
        self.words.get((word / BITS) as usize).is_some_and(|bits| bits >> (word % BITS) & 1 == 1)
    }

    /// The address of the first word of an access that a copy will still write.
    pub fn find(&self, address: u64, size: u32) -> Option<u64> {
        let end = address.saturating_add(size.into()).div_ceil(4);
        (address / 4..end).find(|&word| self.has(word)).map(|word| word * 4)
    }

    /// Begins a copy to whole words.
    pub fn begin(&mut self, address: u64, size: u32) {
        for word in words(address, size) {
            let at = (word / BITS) as usize;
            if self.words.len() <= at {
                self.words.resize(at + 1, 0);
            }
            self.count += usize::from(!self.has(word));
            self.words[at] |= 1 << (word % BITS);
        }
    }

    /// Ends the copy to `size` bytes at an address.
    pub fn end(&mut self, address: u64, size: u32) {
        for word in words(address, size) {
            if self.has(word) {
                self.count -= 1;
                self.words[(word / BITS) as usize] &= !(1 << (word % BITS));
            }
        }
    }

    /// Memory that the bits take, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_flight_from_begin_to_end() {
        let mut in_flight = InFlightWords::default();
        in_flight.begin(16, 8);
        assert_eq!(in_flight.find(14, 4), Some(16));
        assert_eq!(in_flight.find(0, 64), Some(16));
        assert_eq!(in_flight.find(23, 1), Some(20));
        assert_eq!(in_flight.find(12, 4), None);
        assert_eq!(in_flight.find(24, 4), None);
        assert_eq!(in_flight.find(1 << 40, 4), None);
        in_flight.begin(20, 4);
        in_flight.end(16, 8);
        assert!(in_flight.is_empty());
        in_flight.begin(0, 16);
        in_flight.clear();
        assert!(in_flight.is_empty());
        assert_eq!(in_flight.find(0, 16), None);
    }
}
