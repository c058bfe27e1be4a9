//! The instruction set as data. A row of a table holds everything that the machine knows of an instruction, and everything else is
//! derived from it: the decoded operations, how each is executed and counted, its rule of provenance, how PTX is lowered to it, and
//! which instructions are refused.
//!
//! There are two tables. `lanes.rs` holds the operations that compute each lane by itself, with the instructions that are such
//! an operation; `instructions.rs` holds all other instructions, with the functions that lower them.
//!
//! # Spellings
//!
//! Both tables use the same notation for how an instruction is written in PTX:
//!
//! | | |
//! |---|---|
//! | `.rn` | this modifier |
//! | <code>.ca&#124;cg</code> | one of them; the same for opcodes (<code>fma&#124;mad</code>) and types |
//! | `{.ftz}` | optionally this modifier |
//! | <code>{.rn&#124;approx}</code> | optionally one of them |
//! | `.i32` | `.b32`, `.u32` or `.s32`; the same for other widths |
//! | `..` at the end | any further modifiers, which the lowering function parses; what it leaves is refused |
//!
//! Modifiers may stand in any order; types keep theirs, and the last is the instruction's. Where an opcode ends in `..`, the
//! modifiers before it come first and in this order, and those without alternatives are consumed before its function is called.
//!
//! Types of sources may follow: `"shl.i32 t u32"` shifts a value of the instruction's type (`t`) by a `.u32`. Without them all
//! sources are of the instruction's type. The negative of a source is `-t`: `"sub.rz.f32 t -t"` is a row of the addition. `mul-sub`,
//! `sub-mul` and `neg-mul-sub`, which no PTX has, are a product and a difference in one, as `frontend::lower::contraction` makes them.
//!
//! A lane operation itself does what its spelling requires: `add.sat.s32` saturates. What a spelling allows (`{.ftz}`, `{.sat}`,
//! `{.relu}`) becomes separate steps around the operation, which the lowering adds. Floating-point sources are flushed by such a step
//! in either case.

mod instructions;
mod lanes;

pub(crate) use instructions::with_instructions;
pub(crate) use lanes::with_lane_operations;
