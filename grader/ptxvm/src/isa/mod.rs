//! The instruction set: types, operations, decoded instructions, and what each of them computes.

pub(crate) mod atom_op;
pub(crate) mod bulk;
pub(crate) mod class;
pub(crate) mod ir;
pub(crate) mod matrix;
pub(crate) mod matrix_op;
pub(crate) mod mbarrier;
pub(crate) mod names;
pub(crate) mod opcodes;
pub(crate) mod operands;
pub(crate) mod ops;
pub(crate) mod ordering;
pub(crate) mod quad_pairs;
pub mod tensor_map;
pub(crate) mod texture;
pub(crate) mod types;
pub(crate) mod warpgroup;
pub(crate) mod window;
