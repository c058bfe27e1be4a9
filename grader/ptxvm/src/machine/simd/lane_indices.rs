//! Indices of the words that the lanes of a load access, in the usual case where all of them lie in one buffer.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::lanes::{HALF, Pattern};
use crate::machine::simd::sets::for_each_set;

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

/// The lanes in turn, in each half of a warp.
const IN_HALF: [u32; 32] = in_half();

const fn in_half() -> [u32; 32] {
    let mut lanes = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = (lane % HALF) as u32;
        lane += 1;
    }
    lanes
}

/// The pattern of half a warp: the lanes that have the word of the first lane, and those that have the one which they have in a row.
#[inline(always)]
fn pattern(first: u32, same: u32, in_row: u32) -> Pattern {
    const ALL: u32 = (1 << HALF) - 1;
    if same & ALL == ALL {
        Pattern::Same
    } else if in_row & ALL == ALL && first <= u32::MAX - HALF as u32 {
        // A row does not go on at index 0.
        Pattern::Row
    } else {
        Pattern::Irregular
    }
}

macro_rules! define_words {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use super::{BEYOND, IN_HALF, Word, pattern};
            use crate::lanes::{HALF, LaneArray, LaneIndices, Pattern};
            use crate::machine::simd::arith::SpreadMask;
            use crate::machine::simd::movemask;
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                /// Finds the patterns of both halves. `start`: the index of the first active lane.
                #[inline]
                fn find_patterns(words: &mut LaneIndices, start: u32) {
                    let LaneArray(index) = &words.index;
                    let firsts = [index[0], index[HALF]];
                    let (mut same, mut in_row) = (LaneArray([0; 32]), LaneArray([0; 32]));
                    for lane in 0..32 {
                        let first = if lane < HALF { firsts[0] } else { firsts[1] };
                        same.0[lane] = if index[lane] == first { u32::MAX } else { 0 };
                        let own = first.wrapping_add(IN_HALF[lane]);
                        in_row.0[lane] = if index[lane] == own { u32::MAX } else { 0 };
                    }
                    let (same, in_row) = (movemask::$set(&same), movemask::$set(&in_row));
                    words.halves = [pattern(firsts[0], same, in_row), pattern(firsts[1], same >> HALF, in_row >> HALF)];
                    (words.first, words.reach) = (start, u32::MAX);
                    if words.halves.contains(&Pattern::Irregular) {
                        let mut reach = 0;
                        for lane in 0..32 {
                            reach |= index[lane].wrapping_sub(start);
                        }
                        words.reach = reach;
                    }
                }
            }

            with_features!{ $features
                /// The words at `base + offset`; false if one is not aligned or too far up.
                pub(crate) fn word_indices_64(base: &[u64; 32], offset: u64, active: &SpreadMask, words: &mut LaneIndices) -> bool {
                    let first = base[active.mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let start = (first >> 2) as u32;
                    let mut bits = 0;
                    if active.mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index.0[lane] = (at >> 2) as u32;
                        }
                    } else {
                        for lane in 0..32 {
                            let keep = active.spread.0[lane];
                            let at = base[lane].wrapping_add(offset);
                            bits |= at & i64::from(keep as i32) as u64;
                            words.index.0[lane] = (at >> 2) as u32 & keep | start & !keep;
                        }
                    }
                    find_patterns(words, start);
                    bits & BEYOND == 0
                }
            }

            with_features!{ $features
                /// The same with addresses of 32 bits, which wrap.
                pub(crate) fn word_indices_32(base: &[u32; 32], offset: u32, active: &SpreadMask, words: &mut LaneIndices) -> bool {
                    let first = base[active.mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let mut bits = 0;
                    if active.mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index.0[lane] = at >> 2;
                        }
                    } else {
                        for lane in 0..32 {
                            let keep = active.spread.0[lane];
                            let at = base[lane].wrapping_add(offset) & keep | first & !keep;
                            bits |= at;
                            words.index.0[lane] = at >> 2;
                        }
                    }
                    find_patterns(words, first >> 2);
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
                /// Reads words into the lanes of a mask; false, and nothing done, if one of them does not exist.
                pub(crate) fn load<W: Word>(memory: &[W], words: &LaneIndices, active: &SpreadMask, to: &mut [u32; 32]) -> bool {
                    let LaneArray(index) = &words.index;
                    let mut values = [0; 32];
                    let halves = index.as_chunks::<HALF>().0.iter().zip(words.halves);
                    for ((index, pattern), values) in halves.zip(values.as_chunks_mut::<HALF>().0) {
                        match pattern {
                            Pattern::Same => {
                                let Some(word) = memory.get(index[0] as usize) else { return false };
                                *values = [word.get(); HALF];
                            }
                            Pattern::Row => {
                                let from = memory.get(index[0] as usize..).unwrap_or_default();
                                let Some(row) = from.first_chunk::<HALF>() else { return false };
                                for lane in 0..HALF {
                                    values[lane] = row[lane].get();
                                }
                            }
                            Pattern::Irregular => {
                                for lane in 0..HALF {
                                    let Some(word) = memory.get(index[lane] as usize) else { return false };
                                    values[lane] = word.get();
                                }
                            }
                        }
                    }
                    if active.mask == u32::MAX {
                        *to = values;
                    } else {
                        let LaneArray(spread) = &active.spread;
                        for lane in 0..32 {
                            to[lane] = to[lane] & !spread[lane] | values[lane] & spread[lane];
                        }
                    }
                    true
                }
            }
        }
    };
}
for_each_set!(define_words);
