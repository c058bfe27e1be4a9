//! The kernels of a compiled file: which there are, under which source names, with which parameters; and its constants.

mod constant;
mod declaration;
mod find;
mod missing;
mod signature;
#[cfg(test)]
mod tests;

pub use constant::{ConstantUse, VariableDecl, find_constant, variables};
pub use declaration::{KernelDecl, Param, kernels};
pub use find::find_kernel;
pub use signature::{ArgDecl, ArgKind, Scalar, check_signature};
