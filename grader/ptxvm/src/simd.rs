//! Chooses, at run time, the arithmetic compiled for this processor.
//!
//! The baseline of x86-64 has 4 lanes to a vector and no fused multiply-add, for which it must call a slow library function.
//! With AVX2 and FMA the same code has 8 lanes and one instruction.
#![allow(unsafe_code)]

use crate::exec::arith::{Ran, run_body};
use crate::ir::Instr;
use crate::warp::Registers;

/// Runs arithmetic from an index on, with a mask of lanes.
pub(crate) type Run = fn(&[Instr], usize, &mut Registers, u32) -> Ran;

fn baseline(code: &[Instr], start: usize, registers: &mut Registers, mask: u32) -> Ran {
    run_body(code, start, registers, mask)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,lzcnt,popcnt,f16c")]
fn avx2_body(code: &[Instr], start: usize, registers: &mut Registers, mask: u32) -> Ran {
    run_body(code, start, registers, mask)
}

#[cfg(target_arch = "x86_64")]
fn avx2(code: &[Instr], start: usize, registers: &mut Registers, mask: u32) -> Ran {
    // SAFETY: `best` alone gives out this function, and only where the processor has every feature that it is compiled for.
    unsafe { avx2_body(code, start, registers, mask) }
}

/// The fastest version that this processor can run. All give the same bits.
pub(crate) fn best() -> Run {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("f16c")
    {
        return avx2;
    }
    baseline
}
