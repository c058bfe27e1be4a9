//! Where the lanes of a load find single words: the usual case, in which all of them are in one buffer.

use crate::warp::lanes;

/// Most words between the lowest and the highest for which all in between are looked at together.
pub(crate) const SPAN: usize = 64;

/// Places of aligned words, one for each lane. Lanes that do not take part have the place of the first one that does.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// In words from the start of the buffer or window.
    pub index: [u32; 32],
    pub lowest: u32,
    pub highest: u32,
}

impl Words {
    pub fn new() -> Self {
        Self { index: [0; 32], lowest: 0, highest: 0 }
    }

    /// From the lowest word to the highest, if these are near each other.
    #[inline(always)]
    pub fn span(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let (lowest, highest) = (self.lowest as usize, self.highest as usize);
        (highest - lowest < SPAN).then_some(lowest..=highest)
    }

    /// Whether a condition holds for the words of all lanes.
    #[inline(always)]
    pub fn all(&self, mask: u32, holds: impl Fn(usize) -> bool) -> bool {
        lanes(mask).all(|lane| holds(self.index[lane] as usize))
    }
}

/// Bits of a byte offset that a word of a buffer cannot have.
const BEYOND: u64 = !(((1 << 32) - 1) << 2);

macro_rules! define_words {
    ($set:ident $features:tt) => {
        pub(crate) mod $set {
            use super::{BEYOND, Words};
            use crate::exec::arith::spread;

            with_features!{ $features
                /// The words at `base + offset`; false if one is not aligned or too far up.
                pub(crate) fn wide(base: &[u64; 32], offset: u64, mask: u32, words: &mut Words) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let mut bits = 0;
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index[lane] = (at >> 2) as u32;
                        }
                    } else {
                        let spread = spread(mask);
                        for lane in 0..32 {
                            let keep = i64::from(spread[lane] as i32) as u64;
                            let at = base[lane].wrapping_add(offset) & keep | first & !keep;
                            bits |= at;
                            words.index[lane] = (at >> 2) as u32;
                        }
                    }
                    bound(words);
                    bits & BEYOND == 0
                }
            }

            with_features!{ $features
                /// The same with addresses of 32 bits, which wrap.
                pub(crate) fn narrow(base: &[u32; 32], offset: u32, mask: u32, words: &mut Words) -> bool {
                    let first = base[mask.trailing_zeros() as usize % 32].wrapping_add(offset);
                    let mut bits = 0;
                    if mask == u32::MAX {
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset);
                            bits |= at;
                            words.index[lane] = at >> 2;
                        }
                    } else {
                        let spread = spread(mask);
                        for lane in 0..32 {
                            let at = base[lane].wrapping_add(offset) & spread[lane] | first & !spread[lane];
                            bits |= at;
                            words.index[lane] = at >> 2;
                        }
                    }
                    bound(words);
                    bits & 3 == 0
                }
            }

            with_features!{ $features
                fn bound(words: &mut Words) {
                    words.lowest = words.index.iter().fold(u32::MAX, |low, &at| low.min(at));
                    words.highest = words.index.iter().fold(0, |high, &at| high.max(at));
                }
            }

            with_features!{ $features
                /// Reads words that all exist.
                pub(crate) fn gather(memory: &[u32], words: &Words, values: &mut [u32; 32]) {
                    let from = &memory[words.lowest as usize..=words.highest as usize];
                    if let Ok(all) = <&[u32; 32]>::try_from(from)
                        && words.index.iter().zip(words.lowest..).all(|(&at, next)| at == next)
                    {
                        *values = *all;
                        return;
                    }
                    for (value, &at) in values.iter_mut().zip(&words.index) {
                        *value = from[(at - words.lowest) as usize];
                    }
                }
            }

            with_features!{ $features
                /// Replaces the lanes of a mask.
                pub(crate) fn put(old: &mut [u32; 32], values: &[u32; 32], mask: u32) {
                    if mask == u32::MAX {
                        *old = *values;
                    } else {
                        let spread = spread(mask);
                        for lane in 0..32 {
                            old[lane] = old[lane] & !spread[lane] | values[lane] & spread[lane];
                        }
                    }
                }
            }
        }
    };
}
define_words!(baseline []);
#[cfg(target_arch = "x86_64")]
define_words!(avx2 [#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]]);
#[cfg(target_arch = "x86_64")]
define_words!(avx512 [
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
]);
