//! Indices of the words that the lanes of a load access, in the usual case where all of them lie in one buffer.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::machine::simd::sets::for_each_set;

/// Lanes of half a warp: a row of a block that is 16 threads wide.
const HALF: usize = 16;

/// A word of memory.
pub(crate) trait Word {
    fn get(&self) -> u32;
}

impl Word for u32 {
    #[inline(always)]
    fn get(&self) -> u32 {
        *self
    }
}

impl Word for AtomicU32 {
    #[inline(always)]
    fn get(&self) -> u32 {
        self.load(Relaxed)
    }
}

/// Bits of a byte offset that a word of a buffer cannot have.
const BEYOND: u64 = !(((1 << 32) - 1) << 2);

macro_rules! define_words {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use super::{BEYOND, HALF, Word};
            use crate::lanes::{LaneArray, LaneIndices};
            use crate::machine::simd::arith::spread;
            use crate::machine::simd::movemask;
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                /// The words at `base + offset`; false if one is not aligned or too far up.
                pub(crate) fn word_indices_64(base: &[u64; 32], offset: u64, mask: u32, words: &mut LaneIndices) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let start = (first >> 2) as u32;
                    let (mut bits, mut reach) = (0, 0);
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            let index = (at >> 2) as u32;
                            reach |= index.wrapping_sub(start);
                            words.index.0[lane] = index;
                        }
                    } else {
                        let LaneArray(spread) = spread(mask);
                        for lane in 0..32 {
                            let keep = i64::from(spread[lane] as i32) as u64;
                            let at = base[lane].wrapping_add(offset) & keep | first & !keep;
                            bits |= at;
                            let index = (at >> 2) as u32;
                            reach |= index.wrapping_sub(start);
                            words.index.0[lane] = index;
                        }
                    }
                    (words.first, words.reach) = (start, reach);
                    bits & BEYOND == 0
                }
            }

            with_features!{ $features
                /// The same with addresses of 32 bits, which wrap.
                pub(crate) fn word_indices_32(base: &[u32; 32], offset: u32, mask: u32, words: &mut LaneIndices) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let start = first >> 2;
                    let (mut bits, mut reach) = (0, 0);
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            reach |= (at >> 2).wrapping_sub(start);
                            words.index.0[lane] = at >> 2;
                        }
                    } else {
                        let LaneArray(spread) = spread(mask);
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset) & spread[lane] | first & !spread[lane];
                            bits |= at;
                            reach |= (at >> 2).wrapping_sub(start);
                            words.index.0[lane] = at >> 2;
                        }
                    }
                    (words.first, words.reach) = (start, reach);
                    bits & 3 == 0
                }
            }

            with_features!{ $features
                /// The lanes but those that have the same place as the two before them.
                pub(crate) fn representative_lanes(words: &LaneIndices) -> u32 {
                    let LaneArray(at) = &words.index;
                    let mut bits = LaneArray([0; 32]);
                    for lane in 2..32 {
                        let same = at[lane] ^ at[lane - 1] | at[lane] ^ at[lane - 2];
                        bits.0[lane] = if same == 0 { u32::MAX } else { 0 };
                    }
                    !movemask::$set(&bits)
                }
            }

            with_features!{ $features
                /// Reads words; false if one does not exist. Half a warp often reads one word, or a row of words.
                pub(crate) fn gather<W: Word>(memory: &[W], words: &LaneIndices, values: &mut [u32; 32]) -> bool {
                    let LaneArray(index) = &words.index;
                    let (index, values) = (index.as_chunks::<HALF>().0, values.as_chunks_mut::<HALF>().0);
                    for (index, values) in index.iter().zip(values) {
                        let first = index[0];
                        let (mut spread, mut odd) = (0, 0);
                        for lane in 0..HALF {
                            let distance = index[lane].wrapping_sub(first);
                            spread |= distance;
                            odd |= distance ^ lane as u32;
                        }
                        let from = memory.get(first as usize..).unwrap_or_default();
                        if spread == 0 {
                            let Some(word) = from.first() else { return false };
                            *values = [word.get(); HALF];
                        } else if let (0, Some(row)) = (odd, from.first_chunk::<HALF>()) {
                            for lane in 0..HALF {
                                values[lane] = row[lane].get();
                            }
                        } else {
                            for lane in 0..HALF {
                                let Some(word) = memory.get(index[lane] as usize) else { return false };
                                values[lane] = word.get();
                            }
                        }
                    }
                    true
                }
            }

            with_features!{ $features
                /// Replaces the lanes of a mask.
                pub(crate) fn blend(old: &mut [u32; 32], values: &[u32; 32], mask: u32) {
                    if mask == u32::MAX {
                        *old = *values;
                    } else {
                        let LaneArray(spread) = spread(mask);
                        for lane in 0..32 {
                            old[lane] = old[lane] & !spread[lane] | values[lane] & spread[lane];
                        }
                    }
                }
            }
        }
    };
}
for_each_set!(define_words);
