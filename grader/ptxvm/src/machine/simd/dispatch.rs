//! Chooses, at run time, the code compiled for this processor.
//!
//! The baseline of x86-64 (SSE2) has 4 lanes to a vector and no fused multiply-add, for which it calls a library function.
//! With AVX2 and FMA the same code has 8 lanes to a vector and one instruction for a fused multiply-add. On other
//! architectures there is the baseline alone; that of `AArch64` includes NEON with its fused multiply-add.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicU32;

use crate::isa::ir::Instr;
use crate::isa::ops::product::AddProducts;
use crate::lanes::LaneIndices;
use crate::machine::simd::arith;
use crate::machine::simd::arith::{SpreadMask, ThreadedInstr};
use crate::machine::simd::lane_indices;
use crate::machine::simd::products;
use crate::machine::simd::shadow_words;
use crate::machine::simd::shadow_words::{ROW, ShadowWord, ShortAccessId};

/// The functions that are compiled for each set, for one of the sets.
#[derive(Debug)]
pub(crate) struct Simd {
    pub set_mask: fn(&mut SpreadMask, u32),
    /// Makes the code that [`arith::run`] takes.
    pub thread: fn(&[Instr]) -> Vec<ThreadedInstr>,
    pub word_indices_64: fn(&[u64; 32], u64, &SpreadMask, &mut LaneIndices) -> bool,
    pub word_indices_32: fn(&[u32; 32], u32, &SpreadMask, &mut LaneIndices) -> bool,
    pub load: fn(&[u32], &LaneIndices, &SpreadMask, &mut [u32; 32]) -> bool,
    pub load_global: fn(&[AtomicU32], &LaneIndices, &SpreadMask, &mut [u32; 32]) -> bool,
    pub representative_lanes: fn(&LaneIndices) -> u32,
    pub all_read: fn(&[ShadowWord], u32, u32) -> bool,
    pub note_reads: fn(&mut [ShadowWord; ROW], u32, ShortAccessId) -> bool,
    pub note_writes: fn(&mut [ShadowWord; ROW], u32, ShortAccessId) -> bool,
    pub add_products: AddProducts,
}

/// The functions of a set that not every processor has.
#[cfg(target_arch = "x86_64")]
macro_rules! checked {
    ($set:ident) => {{
        // SAFETY of each: `best` alone gives out the set, and only where the processor has every feature that it is compiled
        // for.
        Simd {
            set_mask: |active, mask| unsafe { arith::$set::set_mask(active, mask) },
            thread: |code| unsafe { arith::$set::thread(code) },
            word_indices_64: |base, offset, active, words| unsafe { lane_indices::$set::word_indices_64(base, offset, active, words) },
            word_indices_32: |base, offset, active, words| unsafe { lane_indices::$set::word_indices_32(base, offset, active, words) },
            load: |memory, words, active, to| unsafe { lane_indices::$set::load(memory, words, active, to) },
            load_global: |memory, words, active, to| unsafe { lane_indices::$set::load(memory, words, active, to) },
            representative_lanes: |words| unsafe { lane_indices::$set::representative_lanes(words) },
            all_read: |entries, floor, since| unsafe { shadow_words::$set::all_read(entries, floor, since) },
            note_reads: |row, floor, access_id| unsafe { shadow_words::$set::note_reads(row, floor, access_id) },
            note_writes: |row, floor, access_id| unsafe { shadow_words::$set::note_writes(row, floor, access_id) },
            add_products: |matrices, size, place| unsafe { products::$set::add_products(matrices, size, place) },
        }
    }};
}

static BASELINE: Simd = Simd {
    set_mask: arith::baseline::set_mask,
    thread: arith::baseline::thread,
    word_indices_64: lane_indices::baseline::word_indices_64,
    word_indices_32: lane_indices::baseline::word_indices_32,
    load: lane_indices::baseline::load,
    load_global: lane_indices::baseline::load,
    representative_lanes: lane_indices::baseline::representative_lanes,
    all_read: shadow_words::baseline::all_read,
    note_reads: shadow_words::baseline::note_reads,
    note_writes: shadow_words::baseline::note_writes,
    add_products: products::baseline::add_products,
};
#[cfg(target_arch = "x86_64")]
static AVX2: Simd = checked!(avx2);

/// The sets that this processor has, the fastest last.
pub(crate) fn sets() -> impl Iterator<Item = &'static Simd> {
    #[cfg(target_arch = "x86_64")]
    let avx2 = {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("f16c");
        has_all.then_some(&AVX2)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let avx2 = None;
    std::iter::once(&BASELINE).chain(avx2)
}

/// The fastest set that this processor can run. All give the same bits.
pub(crate) fn best() -> &'static Simd {
    sets().last().unwrap_or(&BASELINE)
}

/// The fastest set that this processor has.
impl Default for &Simd {
    fn default() -> Self {
        best()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::ir::{Alu, Op, alu};
    use crate::isa::names::{Pred, Reg32, Reg64};
    use crate::isa::opcodes::with_lane_operations;
    use crate::lanes::LaneArray;
    use crate::machine::registers::Registers;

    macro_rules! one_operation {
        ($all:ident $next:ident $signature:ident $op:ident ($($file:ident)*)) => {
            $all.push(Alu::$signature(alu::$signature::$op, $($file($next())),*));
        };
    }
    macro_rules! one_class {
        ($all:ident $next:ident $signature:ident $files:tt $($op:ident)*) => {
            $(one_operation!{ $all $next $signature $op $files })*
        };
    }
    macro_rules! all_operations {
        ($($(#[$doc:meta])* $signature:ident($method:ident: $($file:ident),*) {
            $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
        })*) => {
            /// Every operation of the table, on registers in turn.
            fn operations() -> Vec<Alu> {
                let mut all = Vec::new();
                let mut register = 0;
                let mut next = || {
                    register = (register + 5) % REGISTERS as u32;
                    register
                };
                $(one_class!{ all next $signature ($($file)*) $($op)* })*
                all
            }
        };
    }
    with_lane_operations!(all_operations);

    const REGISTERS: usize = 16;
    /// Where a buffer may start.
    const FAR: u64 = 1 << 40;

    /// Values of every kind, different for each seed.
    fn registers(seed: u64) -> Registers {
        let mut state = seed;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = state ^ state >> 29;
            let special =
                [0, 1, 0x7F80_0000, 0x3F80_0000, 0x8000_0000, 0x0080_0000, 31, 0x7FC0_0001];
            match bits >> 60 {
                0..4 => special[bits as usize % 8],
                4 => special[bits as usize % 8] << 32,
                5 => bits % 64,
                _ => bits,
            }
        };
        let mut registers = Registers::default();
        for _ in 0..REGISTERS {
            registers.r.push(LaneArray(std::array::from_fn(|_| next() as u32)));
            registers.q.push(LaneArray(std::array::from_fn(|_| next())));
            registers.p.push(next() as u32);
        }
        registers
    }

    #[test]
    fn all_sets_compute_the_same_bits() {
        for (alu, seed) in operations().into_iter().zip(1..) {
            let code = [Instr { op: Op::Alu(alu), guard: None, class: Some(alu.class()) }];
            for mask in [u32::MAX, 0x7FFF_FFFE, 0x0001_1000, 1] {
                let before = registers(seed);
                let mut results = sets().map(|set| {
                    let mut after = before.clone();
                    let mut active = SpreadMask::NONE;
                    (set.set_mask)(&mut active, mask);
                    arith::run(&(set.thread)(&code), 0, &mut after, &active, set.set_mask);
                    (after.r, after.q, after.p)
                });
                let baseline = results.next().unwrap();
                for (result, set) in results.zip(1..) {
                    assert!(result == baseline, "{alu:?} with mask {mask:#x} on set {set}");
                }
                let kept = before.r.iter().zip(&baseline.0);
                for lane in (0..32).filter(|lane| mask >> lane & 1 == 0) {
                    assert!(
                        kept.clone().all(|(a, b)| a.0[lane] == b.0[lane]),
                        "{alu:?} lane {lane}"
                    );
                }
            }
        }
    }

    #[test]
    fn all_sets_find_the_same_words() {
        let memory: Vec<u32> = (0..100).collect();
        let shared: Vec<AtomicU32> = (0..100).map(AtomicU32::new).collect();
        let patterns: [fn(u32) -> u32; 8] = [
            |lane| 4 * lane,
            |lane| 4 * (lane / 16),
            |lane| 4 * (lane % 16 + 84 * (lane / 16)),
            |_| 12,
            |lane| 4 * (lane % 16) + 40,
            |lane| 8 * (31 - lane),
            |lane| 4 * lane + u32::from(lane == 7),
            |lane| 4 * (lane + 80),
        ];
        for (pattern, mask) in
            patterns.iter().flat_map(|&pattern| [(pattern, u32::MAX), (pattern, 0xFF00)])
        {
            let base: [u32; 32] = std::array::from_fn(|lane| pattern(lane as u32).wrapping_sub(20));
            let wide = base.map(|at| u64::from(at.wrapping_add(20)) + FAR);
            let mut results = sets().map(|set| {
                let (mut words, mut same, mut values) =
                    (LaneIndices::new(), LaneIndices::new(), [0; 32]);
                let mut active = SpreadMask::NONE;
                (set.set_mask)(&mut active, mask);
                let regular = (set.word_indices_32)(&base, 20, &active, &mut words);
                assert_eq!(
                    (set.word_indices_64)(&wide, 0u64.wrapping_sub(FAR), &active, &mut same),
                    regular
                );
                assert_eq!((words.index, words.halves), (same.index, same.halves));
                let gathered = (set.load)(&memory, &words, &active, &mut values);
                let mut others = [0; 32];
                assert_eq!((set.load_global)(&shared, &words, &active, &mut others), gathered);
                assert_eq!(others, values);
                (
                    regular,
                    words.index,
                    (words.span(), words.halves),
                    (set.representative_lanes)(&words),
                    gathered,
                    values,
                )
            });
            let baseline = results.next().unwrap();
            assert!(results.all(|result| result == baseline));
            let (regular, index, .., gathered, values) = baseline;
            let inside = (0..32).all(|lane| index.0[lane] < 100);
            assert_eq!(gathered, inside);
            let loaded = (0..32).map(|lane| if mask >> lane & 1 == 1 { index.0[lane] } else { 0 });
            assert!(!gathered || loaded.eq(values));
            let aligned = (0..32).all(|lane| mask >> lane & 1 == 0 || pattern(lane) % 4 == 0);
            assert_eq!(regular, aligned);
        }
    }

    #[test]
    fn two_of_many_lanes_that_read_one_word_are_told() {
        let index = LaneArray(std::array::from_fn(|lane| lane as u32 / 16));
        let words = LaneIndices { index, ..LaneIndices::new() };
        for set in sets() {
            assert_eq!((set.representative_lanes)(&words), 0b11 << 16 | 0b11);
        }
    }
}
