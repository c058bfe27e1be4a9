//! A formula with its names resolved: tensors, sizes and indices are known, and every index has a range.
//!
//! - [`node`]: real-valued expressions;
//! - [`ir`]: statements, and the tables of tensors and indices. This is what the rest of the crate works on;
//! - [`groups`]: which statements assign a tensor together;
//! - [`limits`]: how far an index can reach whose range depends on other indices or on data;
//! - [`ranges`]: over which values an index runs, inferred from the axes that it stands on;
//! - [`resolve`]: from parsed statements to a program.

pub mod groups;
pub mod ir;
pub mod limits;
pub mod node;
pub mod ranges;
pub mod resolve;
