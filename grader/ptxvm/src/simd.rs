//! Chooses, at run time, the code compiled for this processor.
//!
//! The baseline of x86-64 has 4 lanes to a vector and no fused multiply-add, for which it must call a slow library function.
//! With AVX2 and FMA the same code has 8 lanes and one instruction, with AVX-512 16 lanes. On other processors the baseline
//! is what they always have; that of AArch64 includes NEON with its fused multiply-add.
#![allow(unsafe_code)]

use crate::exec::arith::{self, Ran};
use crate::exec::words::{self, Words};
use crate::ir::Instr;
use crate::warp::Registers;

/// Functions compiled for one set of instructions.
pub(crate) struct Simd {
    /// Runs arithmetic from an index on, with a mask of lanes.
    pub run: fn(&[Instr], usize, &mut Registers, u32) -> Ran,
    pub wide: fn(&[u64; 32], u64, u32, &mut Words) -> bool,
    pub narrow: fn(&[u32; 32], u32, u32, &mut Words) -> bool,
    pub gather: fn(&[u32], &Words, &mut [u32; 32]),
    pub put: fn(&mut [u32; 32], &[u32; 32], u32),
}

/// The functions of a set that not every processor has.
#[cfg(target_arch = "x86_64")]
macro_rules! checked {
    ($set:ident) => {{
        // SAFETY of each: `best` alone gives out the set, and only where the processor has every feature that it is compiled
        // for.
        Simd {
            run: |code, start, registers, mask| unsafe { arith::$set::run(code, start, registers, mask) },
            wide: |base, offset, mask, words| unsafe { words::$set::wide(base, offset, mask, words) },
            narrow: |base, offset, mask, words| unsafe { words::$set::narrow(base, offset, mask, words) },
            gather: |memory, words, values| unsafe { words::$set::gather(memory, words, values) },
            put: |old, values, mask| unsafe { words::$set::put(old, values, mask) },
        }
    }};
}

static BASELINE: Simd = Simd {
    run: arith::baseline::run,
    wide: words::baseline::wide,
    narrow: words::baseline::narrow,
    gather: words::baseline::gather,
    put: words::baseline::put,
};
#[cfg(target_arch = "x86_64")]
static AVX2: Simd = checked!(avx2);
#[cfg(target_arch = "x86_64")]
static AVX512: Simd = checked!(avx512);

/// The sets that this processor has, the fastest last.
fn sets() -> impl Iterator<Item = &'static Simd> {
    #[cfg(target_arch = "x86_64")]
    let more = {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("f16c");
        let v4 = v3
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        [v3.then_some(&AVX2), v4.then_some(&AVX512)]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let more = [];
    std::iter::once(&BASELINE).chain(more.into_iter().flatten())
}

/// The fastest set that this processor can run. All give the same bits.
pub(crate) fn best() -> &'static Simd {
    sets().last().unwrap_or(&BASELINE)
}
