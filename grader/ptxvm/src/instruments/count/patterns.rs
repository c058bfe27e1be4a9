//! What a memory access of a warp costs, computed from the addresses of its lanes.

use crate::lanes::lanes;

/// Bytes of a sector of L1 and L2.
const SECTOR: u64 = 32;
/// Banks of shared memory, of 4 bytes each (CUDA C++ Programming Guide, "Shared Memory", compute capability 5.0 and later).
const BANKS: usize = 32;

/// Where the lanes of an access begin, in ascending order.
struct Starts {
    at: [u64; 32],
    count: usize,
}

impl Starts {
    fn new(addresses: &[u64; 32], mask: u32) -> Self {
        let mut starts = Self { at: [0; 32], count: 0 };
        if mask == u32::MAX {
            starts = Self { at: *addresses, count: 32 };
        } else {
            for lane in lanes(mask) {
                starts.at[starts.count] = addresses[lane];
                starts.count += 1;
            }
        }
        let at = &mut starts.at[..starts.count];
        // Lanes mostly are in order.
        if !at.is_sorted() {
            at.sort_unstable();
        }
        starts
    }

    /// Calls `see` with the first and last piece of `2^shift` bytes that each lane touches and none before it did.
    #[inline(always)]
    fn pieces(&self, size: u32, shift: u32, mut see: impl FnMut(u64, u64)) {
        let mut next = 0;
        for &start in &self.at[..self.count] {
            let last = start.saturating_add(u64::from(size) - 1) >> shift;
            let first = (start >> shift).max(next);
            if first <= last {
                see(first, last);
                next = last + 1;
            }
        }
    }
}

/// Sectors that lanes touch, and those that would do if the different bytes that they want lay side by side.
pub(crate) fn sectors(addresses: &[u64; 32], mask: u32, size: u32) -> (u64, u64) {
    let starts = Starts::new(addresses, mask);
    let mut sectors = 0;
    starts.pieces(size, SECTOR.ilog2(), |first, last| sectors += last - first + 1);
    let mut bytes = 0;
    let mut end = 0;
    for &start in &starts.at[..starts.count] {
        let next = start.saturating_add(u64::from(size));
        bytes += next - start.max(end).min(next);
        end = end.max(next);
    }
    (sectors, bytes.div_ceil(SECTOR))
}

/// Passes through the banks, and how many of them are due to conflicts.
///
/// Lanes that want the same word share it. Accesses of 64 bits go by halves of the warp, those of 128 bits by quarters;
/// a part without active lanes takes no pass.
pub(crate) fn wavefronts(addresses: &[u64; 32], mask: u32, size: u32) -> (u64, u64) {
    let part = match size {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (mut passes, mut least) = (0, 0);
    for start in (0..32).step_by(part) {
        let here = mask & (u32::MAX >> (32 - part)) << start;
        if here == 0 {
            continue;
        }
        let mut wanted = [0u64; BANKS];
        Starts::new(addresses, here).pieces(size, 2, |first, last| {
            for word in first..=last {
                wanted[word as usize % BANKS] += 1;
            }
        });
        passes += wanted.into_iter().max().unwrap_or(0);
        least += 1;
    }
    (passes, passes - least)
}

/// How far neighbouring lanes are apart in bytes, if it is the same for all of them that are active.
pub(crate) fn stride(addresses: &[u64; 32], mask: u32) -> Option<i64> {
    let mut pairs = lanes(mask & mask >> 1)
        .map(|lane| addresses[lane + 1].wrapping_sub(addresses[lane]) as i64);
    let first = pairs.next()?;
    pairs.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn every(stride: u64, from: u64) -> [u64; 32] {
        std::array::from_fn(|lane| from + stride * lane as u64)
    }

    const ALL: u32 = u32::MAX;

    fn packed(addresses: &[u64; 32], mask: u32, size: u32) -> u64 {
        sectors(addresses, mask, size).1
    }

    proptest! {
        #[test]
        fn sets_say_the_same(
            near in proptest::array::uniform32(0u64..300),
            stride in 0u64..40,
            mask: u32,
            power in 0u32..5,
        ) {
            let size = 1 << power;
            let bytes = u64::from(size);
            let addresses = std::array::from_fn(|lane| {
                (near[lane] * u64::from(lane % 3 == 0) + stride * lane as u64) * bytes
            });
            let pieces = |of: u32, piece: u64| -> BTreeSet<u64> {
                lanes(of)
                    .flat_map(|lane| (0..bytes).map(move |byte| (lane, byte)))
                    .map(|(lane, byte): (usize, u64)| (addresses[lane] + byte) / piece)
                    .collect()
            };
            let touched = pieces(mask, SECTOR).len() as u64;
            let packed = (pieces(mask, 1).len() as u64).div_ceil(SECTOR);
            prop_assert_eq!(sectors(&addresses, mask, size), (touched, packed));
            let part = [32, 32, 32, 16, 8][power as usize];
            let (mut passes, mut parts) = (0, 0);
            for start in (0..32).step_by(part) {
                let here = mask & (u32::MAX >> (32 - part)) << start;
                let words = pieces(here, 4);
                let of = |bank| words.iter().filter(|&&word| word % 32 == bank).count() as u64;
                passes += (0..32).map(of).max().unwrap_or(0);
                parts += u64::from(here != 0);
            }
            prop_assert_eq!(wavefronts(&addresses, mask, size), (passes, passes - parts));
        }
    }

    #[test]
    fn sectors_follow_stride_and_alignment() {
        for (addresses, size, expected) in [
            (every(4, 0), 4, 4),
            (every(4, 4), 4, 5),
            (every(8, 0), 4, 8),
            (every(128, 0), 4, 32),
            (every(0, 64), 4, 1),
            (every(2, 0), 2, 2),
            (every(8, 0), 8, 8),
            (every(16, 0), 16, 16),
            (every(12, 0), 4, 12),
        ] {
            assert_eq!(sectors(&addresses, ALL, size).0, expected, "{addresses:?}");
        }
        assert_eq!(sectors(&every(4, 0), 0xFF, 4).0, 1);
        let spread = every(128, 0);
        assert_eq!(
            [packed(&spread, ALL, 4), packed(&spread, 0b11, 4), packed(&spread, ALL, 16)],
            [4, 1, 16]
        );
        assert_eq!(packed(&every(0, 64), ALL, 4), 1, "one word for all");
        assert_eq!(packed(&every(2, 64), ALL, 4), 3, "words that overlap");
    }

    #[test]
    fn wavefronts_follow_the_banks() {
        for (addresses, size, expected) in [
            (every(4, 0), 4, (1, 0)),
            (every(8, 0), 4, (2, 1)),
            (every(32, 0), 4, (8, 7)),
            (every(128, 0), 4, (32, 31)),
            (every(132, 0), 4, (1, 0)),
            (every(0, 0), 4, (1, 0)),
            (every(2, 0), 2, (1, 0)),
            (every(8, 0), 8, (2, 0)),
            (every(16, 0), 16, (4, 0)),
            (every(16, 0), 8, (4, 2)),
        ] {
            assert_eq!(wavefronts(&addresses, ALL, size), expected, "{addresses:?}");
        }
        assert_eq!(wavefronts(&every(8, 0), 0xFFFF, 8), (1, 0), "half of the warp is idle");
    }

    #[test]
    fn a_stride_is_of_all_neighbours() {
        assert_eq!(stride(&every(12, 0), ALL), Some(12));
        assert_eq!(stride(&every(12, 0), 0b101), None);
        let mut odd = every(4, 0);
        odd[7] = 0;
        assert_eq!(stride(&odd, ALL), None);
        assert_eq!(stride(&odd, 0b111), Some(4));
    }
}
