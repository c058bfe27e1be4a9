//! What an access of a warp costs, from the addresses of its lanes.

use crate::warp::lanes;

/// Bytes of a sector of L1 and L2.
const SECTOR: u64 = 32;
/// Banks of shared memory, of 4 bytes each (CUDA C++ Programming Guide, "Shared Memory", compute capability 5.0 and later).
const BANKS: usize = 32;

/// Sectors that lanes touch.
pub(crate) fn sectors(addresses: &[u64; 32], mask: u32, size: u32) -> u64 {
    let mut touched: Vec<u64> = lanes(mask)
        .flat_map(|lane| {
            let first = addresses[lane] / SECTOR;
            first..=addresses[lane].saturating_add(u64::from(size) - 1) / SECTOR
        })
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// Sectors that would do if the different bytes that lanes want lay side by side.
pub(crate) fn packed(addresses: &[u64; 32], mask: u32, size: u32) -> u64 {
    let mut starts: Vec<u64> = lanes(mask).map(|lane| addresses[lane]).collect();
    starts.sort_unstable();
    let mut bytes = 0;
    let mut end = 0;
    for start in starts {
        let next = start.saturating_add(u64::from(size));
        bytes += next - start.max(end).min(next);
        end = end.max(next);
    }
    bytes.div_ceil(SECTOR)
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
        let mut words: Vec<u64> = lanes(here)
            .flat_map(|lane| {
                addresses[lane] / 4..=addresses[lane].saturating_add(u64::from(size) - 1) / 4
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut wanted = [0u64; BANKS];
        for word in words {
            wanted[word as usize % BANKS] += 1;
        }
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

    fn every(stride: u64, from: u64) -> [u64; 32] {
        std::array::from_fn(|lane| from + stride * lane as u64)
    }

    const ALL: u32 = u32::MAX;

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
            assert_eq!(sectors(&addresses, ALL, size), expected, "{addresses:?}");
        }
        assert_eq!(sectors(&every(4, 0), 0xFF, 4), 1);
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
