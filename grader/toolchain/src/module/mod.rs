//! The kernels of a compiled file: which there are, under which source names, with which parameters.

mod declaration;
mod find;
mod missing;
mod signature;
#[cfg(test)]
mod tests;

pub use declaration::{KernelDecl, Param, kernels};
pub use find::find_kernel;
pub use signature::{ArgDecl, ArgKind, Scalar, check_signature};
