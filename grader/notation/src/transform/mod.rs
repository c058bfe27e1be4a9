//! From a program to another program: derivatives, and other forms of the same statement.
//!
//! - [`fresh_indices`]: copies of expressions whose reductions bind indices of their own;
//! - [`local_derivatives`]: what a single operation passes on to its operands in the reverse pass;
//! - [`reverse_mode`]: the gradient of a program;
//! - [`propagated_errors`]: how errors pass through the steps of a recurrence;
//! - [`gather`]: a scattered sum, solved for its target;
//! - [`unparse`]: a statement as text again.
//!
//! A transformation sees names, indices and expressions, never sizes or values. A new one, a variant of a formula for example,
//! stands here as a file of its own that takes a [`Program`](crate::program::ir::Program) and gives one.

pub mod fresh_indices;
pub mod gather;
pub mod local_derivatives;
pub mod propagated_errors;
pub mod reverse_mode;
pub mod unparse;
