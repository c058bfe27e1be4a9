//! Tests of the virtual machine on whole kernels, on single operations and on broken input.

#![expect(
    clippy::many_single_char_names,
    reason = "operands and dimensions are called as in the kernels"
)]

mod bad;
mod counters;
mod fuzz;
mod global_race;
mod golden;
mod kernels;
mod limits;
mod memory;
mod one_op;
mod race;
mod shadow;
mod support;
