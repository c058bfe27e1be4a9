//! From a spec to cases: draws the inputs, evaluates the formula, and compares it with values computed by hand.

mod build;
mod expected;
mod given;
mod inputs;
mod numerical;
mod verify;

pub use build::launch;

use crate::case::Case;
use build::build;
use diagnostic::Failure;
use spec::{Spec, Test};
use std::path::Path;

/// Reads the spec at `path`, shown as `shown_as` in messages, and checks it by evaluating it: see [`verify()`].
///
/// # Errors
/// The first mistake in the spec, with its place.
pub fn load(path: &Path, shown_as: &Path) -> Result<Spec, Failure> {
    let spec = Spec::load(path, shown_as)?;
    verify(&spec)?;
    Ok(spec)
}

/// Compares values given by hand with the formula's, and checks that each output distinguishes its elements in at least
/// one test.
///
/// # Errors
/// A value differs, or an output is trivial in every test.
pub fn verify(spec: &Spec) -> Result<(), Failure> {
    verify::verify(spec).map_err(|fault| spec.failure(fault))
}

/// Builds the case of a test of `spec` with the random data of `seed`.
///
/// # Errors
/// The formula cannot be evaluated with these data, or disagrees with its numerical gradient.
pub fn build_case(spec: &Spec, test: &Test, seed: u64) -> Result<Case, Failure> {
    build(spec, test, seed).map_err(|fault| spec.failure(fault))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
