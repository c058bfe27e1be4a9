//! The instruction set as data: what the machine knows of an instruction stands in its row, and everything else follows from
//! there: decoded operations, how each runs, what it counts as, where its values come from, how PTX is lowered to it, and what
//! is refused.
//!
//! There are two tables. `lanes.rs` holds the operations that compute each lane by itself, with the instructions that are such
//! an operation; `instructions.rs` holds all other instructions, with the functions that lower them.
//!
//! # Spellings
//!
//! Both say in the same way how an instruction is written in PTX:
//!
//! | | |
//! |---|---|
//! | `.rn` | this modifier |
//! | <code>.ca&#124;cg</code> | one of them; so of opcodes (<code>fma&#124;mad</code>) and types |
//! | `{.ftz}` | perhaps this modifier |
//! | <code>{.rn&#124;approx}</code> | perhaps one of them |
//! | `.i32` | `.b32`, `.u32` or `.s32`; so of other widths |
//! | `..` at the end | whatever follows, which the function takes apart; what it leaves is refused |
//!
//! Modifiers may stand in any order; types keep theirs, and the last is the instruction's. Where an opcode ends in `..`, the
//! modifiers before it come first and in this order, and those without a choice are taken already when its function looks.
//!
//! Types of sources may follow: `"shl.i32 t u32"` shifts a value of the instruction's type (`t`) by a `.u32`. Without them all
//! sources are of the instruction's type. The negative of a source is `-t`: `"sub.rz.f32 t -t"` is a row of the addition.
//!
//! A lane operation does itself what its spelling demands: `add.sat.s32` saturates. What a spelling allows (`{.ftz}`, `{.sat}`,
//! `{.relu}`) are steps around the operation, which the lowering adds. The sources of floats are flushed beforehand either way.

mod instructions;
mod lanes;

pub(crate) use instructions::with_instructions;
pub(crate) use lanes::with_lane_operations;
