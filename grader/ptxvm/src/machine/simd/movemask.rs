//! The mask of the lanes for which something holds, from all ones or zero for each lane; by instruction set.

use crate::lanes::LaneArray;
use crate::machine::simd::arith::BIT;

/// With what every processor has.
pub(crate) fn baseline(LaneArray(holds): &LaneArray<u32>) -> u32 {
    holds.iter().zip(BIT).fold(0, |all, (lane, bit)| all | lane & bit)
}

/// With the instruction that takes the sign of each lane.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
#[inline]
pub(crate) fn avx2(LaneArray(holds): &LaneArray<u32>) -> u32 {
    use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_movemask_ps, _mm256_setr_epi32};
    let row = |first: usize| {
        let [a, b, c, d, e, f, g, h] = std::array::from_fn(|lane| holds[first + lane] as i32);
        let signs = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        (_mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u32) << first
    };
    row(0) | row(8) | row(16) | row(24)
}
