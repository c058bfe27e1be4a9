//! Indices of the words that the lanes of a load access, in the usual case where all of them lie in one buffer.

use crate::machine::simd::sets::for_each_set;

/// Bits of a byte offset that a word of a buffer cannot have.
const BEYOND: u64 = !(((1 << 32) - 1) << 2);

macro_rules! define_words {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use super::BEYOND;
            use crate::lanes::{LaneArray, LaneIndices};
            use crate::machine::simd::arith::{BIT, $set::together, spread};
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                /// The words at `base + offset`; false if one is not aligned or too far up.
                pub(crate) fn word_indices_64(base: &[u64; 32], offset: u64, mask: u32, words: &mut LaneIndices) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let mut bits = 0;
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index.0[lane] = (at >> 2) as u32;
                        }
                    } else {
                        let LaneArray(spread) = spread(mask);
                        for lane in 0..32 {
                            let keep = i64::from(spread[lane] as i32) as u64;
                            let at = base[lane].wrapping_add(offset) & keep | first & !keep;
                            bits |= at;
                            words.index.0[lane] = (at >> 2) as u32;
                        }
                    }
                    reach(words, (first >> 2) as u32);
                    bits & BEYOND == 0
                }
            }

            with_features!{ $features
                /// The same with addresses of 32 bits, which wrap.
                pub(crate) fn word_indices_32(base: &[u32; 32], offset: u32, mask: u32, words: &mut LaneIndices) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let mut bits = 0;
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index.0[lane] = at >> 2;
                        }
                    } else {
                        let LaneArray(spread) = spread(mask);
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset) & spread[lane] | first & !spread[lane];
                            bits |= at;
                            words.index.0[lane] = at >> 2;
                        }
                    }
                    reach(words, first >> 2);
                    bits & 3 == 0
                }
            }

            with_features!{ $features
                fn reach(words: &mut LaneIndices, first: u32) {
                    let mut up = LaneArray([0; 32]);
                    for lane in 0..32 {
                        up.0[lane] = words.index.0[lane].wrapping_sub(first);
                    }
                    words.first = first;
                    words.reach = together(&up);
                }
            }

            with_features!{ $features
                /// The lanes but those that have the same place as the two before them.
                pub(crate) fn representative_lanes(words: &LaneIndices) -> u32 {
                    let LaneArray(at) = &words.index;
                    let mut bits = LaneArray([0; 32]);
                    for lane in 2..32 {
                        let same = at[lane] ^ at[lane - 1] | at[lane] ^ at[lane - 2];
                        bits.0[lane] = if same == 0 { BIT[lane] } else { 0 };
                    }
                    !together(&bits)
                }
            }

            with_features!{ $features
                /// Reads words; false if one does not exist.
                pub(crate) fn gather(memory: &[u32], words: &LaneIndices, values: &mut [u32; 32]) -> bool {
                    let from = memory.get(words.first as usize..).unwrap_or_default();
                    if let Some(all) = from.first_chunk::<32>() {
                        if words.reach == 31 && follow(words) {
                            *values = *all;
                            return true;
                        }
                        if words.reach < 32 {
                            for lane in 0..32 {
                                values[lane] = all[(words.index.0[lane] - words.first) as usize & 31];
                            }
                            return true;
                        }
                    }
                    for lane in 0..32 {
                        let Some(&value) = memory.get(words.index.0[lane] as usize) else { return false };
                        values[lane] = value;
                    }
                    true
                }
            }

            with_features! { $features
                /// Whether each lane reads the word behind that of the lane before.
                fn follow(words: &LaneIndices) -> bool {
                    let mut odd = LaneArray([0; 32]);
                    for lane in 0..32 {
                        odd.0[lane] = words.index.0[lane].wrapping_sub(words.first) ^ lane as u32;
                    }
                    together(&odd) == 0
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
