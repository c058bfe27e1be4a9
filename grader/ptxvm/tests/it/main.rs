//! Tests of the virtual machine on whole kernels, on single operations and on broken input.

mod bad;
mod fuzz;
mod kernels;
mod limits;
mod memory;
mod one_op;
mod support;
