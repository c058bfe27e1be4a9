//! What memory holds that nothing has written. A GPU leaves there what was there before.

/// The contents of memory that nothing has written. Results that are the same with all of them do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unwritten {
    /// All bits are set: a NaN in every type of floating-point number, -1 as an integer.
    #[default]
    Ones,
    /// All bits are 0.
    Zeros,
    /// Large positive numbers, as floats or in half precision and as integers. Neighbouring words differ, so that their difference
    /// is not 0.
    Large,
    /// The same with large negative numbers.
    Small,
    /// Numbers between 1 and 2 as floats, such as a program computes with: what ignores large numbers does not ignore these.
    Ordinary,
    /// Integers below 256, which are indices and counts, and the smallest positive numbers as floats. Shared memory holds what the block before
    /// left there, if there was one.
    Left,
}

impl Unwritten {
    /// All but the contents that memory has by default.
    pub const OTHERS: [Self; 5] =
        [Self::Zeros, Self::Large, Self::Small, Self::Ordinary, Self::Left];

    /// What the word with this number holds.
    #[inline]
    pub fn word(self, index: usize) -> u32 {
        match self {
            Self::Ones => u32::MAX,
            Self::Zeros => 0,
            Self::Large => 0x7B7B_7B00 | low_byte(index),
            Self::Small => 0xFBFB_FB00 | low_byte(index),
            Self::Ordinary => 0x3F8F_8F00 | low_byte(index),
            Self::Left => low_byte(index),
        }
    }

    /// Whether a block finds in shared memory what the one before left there.
    pub fn is_left(self) -> bool {
        self == Self::Left
    }
}

/// Eight bits that depend on the number of a word, by Fibonacci hashing (Knuth, volume 3, section 6.4).
fn low_byte(index: usize) -> u32 {
    (index as u32).wrapping_mul(0x9E37_79B9) >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_are_so_in_every_type() {
        let float = |contents: Unwritten| f32::from_bits(contents.word(0));
        let half = |contents: Unwritten| half::f16::from_bits(contents.word(0) as u16).to_f32();
        let (large, small) = (Unwritten::Large, Unwritten::Small);
        assert!(float(large) > 1e36 && float(small) < -1e36);
        assert!(half(large) > 50_000.0 && half(small) < -50_000.0);
        assert!(large.word(0) as i32 > 1 << 30 && (small.word(255) as i32) < -(1 << 26));
        assert!((1.0..2.0).contains(&float(Unwritten::Ordinary)));
    }

    #[test]
    fn near_words_differ() {
        for contents in Unwritten::OTHERS.into_iter().filter(|of| *of != Unwritten::Zeros) {
            let near = (0..1000).flat_map(|i| (1..64).map(move |step| (i, i + step)));
            let same = near.filter(|&(i, j)| contents.word(i) == contents.word(j));
            assert_eq!(same.count(), 0);
        }
    }
}
