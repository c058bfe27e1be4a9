//! Tests of the virtual machine on whole kernels, on single operations and on broken input.

#![expect(
    clippy::many_single_char_names,
    reason = "operands and dimensions are called as in the kernels"
)]

mod alignment;
mod bad;
mod barriers;
mod bulk;
mod calls;
mod checks;
mod cluster;
mod copy_source;
mod counters;
mod coverage;
mod fences;
mod fixture;
mod footprint;
mod functions;
mod fuzz;
mod global_race;
mod golden;
mod kernels;
mod labels;
mod launches;
mod limits;
mod matrix;
mod mbarrier;
mod measured;
mod members;
mod memory;
mod metamorphic;
mod one_op;
mod products;
mod provenance;
mod ptx_forms;
mod quad_pairs;
mod race;
mod recording;
mod reference;
mod reordered;
mod sparse;
mod support;
mod tensor;
mod textures;
mod touched;
mod waiting;
mod warpgroup;
mod watchpoint;
mod wide;
