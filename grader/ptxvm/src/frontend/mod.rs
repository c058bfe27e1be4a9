//! From text to a decoded program: the PTX parser, and the translation of its tree into instructions.

pub(crate) mod line_table;
pub(crate) mod lower;
pub(crate) mod syntax;
pub(crate) mod write_set;
