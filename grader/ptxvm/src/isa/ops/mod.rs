//! What each operation computes for one lane: pure functions over register bits.
//!
//! Registers of up to 32 bits are `u32` (16-bit values zero-extended), 64-bit ones `u64`. Every function is total, because
//! inactive lanes are computed too. Sections cited are those of the PTX ISA 9.0.

pub mod approx;
pub mod cmp;
pub mod cvt;
pub mod exact;
pub mod float;
pub mod flush;
pub mod fused_sum;
pub mod half;
pub mod int;
pub mod narrow;
pub mod product;
pub mod product8;
pub mod quad_pairs;
pub mod round;
pub mod sfu;
mod sfu_tables;
pub mod shuffle;
pub mod sparse;
pub mod video;
