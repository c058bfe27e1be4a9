//! From a spec to cases: draws the inputs, evaluates the formula, and compares with what was computed by hand.

mod expected;
mod inputs;
mod numerical;
mod verify;

use crate::case::{Case, CaseTensor, Role};
use crate::failure::Failure;
use crate::spec::{Check, Checked, Data, DataKind, Spec, Test};
use expected::Expected;
use indexmath::Values;
use std::path::Path;

/// Reads the spec at `path`, called `shown_as` in messages, and checks it by evaluating it: see [`verify()`].
///
/// # Errors
/// The first thing that is wrong with the spec, with its place.
pub fn load(path: &Path, shown_as: &Path) -> Result<Spec, Failure> {
    let spec = Spec::load(path, shown_as)?;
    verify(&spec)?;
    Ok(spec)
}

/// Compares values given by hand with the formula's, and sees to it that each output tells its elements apart in at
/// least one test.
///
/// # Errors
/// A value differs, or an output is trivial in every test.
pub fn verify(spec: &Spec) -> Result<(), Failure> {
    verify::verify(spec).map_err(|fault| spec.failure(fault))
}

/// A test of `spec` with the data of `seed`.
///
/// # Errors
/// The formula cannot be evaluated with these data, or disagrees with its numerical gradient.
pub fn build_case(spec: &Spec, test: &Test, seed: u64) -> Result<Case, Failure> {
    build(spec, test, seed).map_err(|fault| spec.failure(fault))
}

/// Largest absolute values of random integers to try, until all sums are exact.
const RANGES: [u32; 6] = [9, 7, 5, 3, 2, 1];

fn build(spec: &Spec, test: &Test, seed: u64) -> Checked<Case> {
    let (known, mut expected) = exact_if_possible(spec, test, seed)?;
    if let Check::NumericalGradient { epsilon, rtol } = test.check {
        numerical::replace(spec, test, &known, epsilon, rtol, &mut expected)?;
    }
    if let Some(tolerance) = &test.tolerance {
        for approx in expected.values_mut().flatten() {
            approx.bound = tolerance.atol + tolerance.rtol * approx.value.abs();
        }
    }
    let tensors = test
        .tensors
        .iter()
        .map(|tensor| {
            let role = match expected.remove(&tensor.name) {
                Some(values) => Role::Output(values),
                None => Role::Input(known.get(&tensor.name).cloned().unwrap_or_default()),
            };
            CaseTensor { tensor: tensor.clone(), role }
        })
        .collect();
    Ok(Case {
        test: test.name.clone(),
        about: test.about.clone(),
        dims: test.dims.clone(),
        seed,
        tensors,
        launches: test.launches.clone(),
        formula: test.formula.clone(),
        known,
    })
}

/// Inputs and outputs, with the largest integers for which no right kernel can round. Where even the smallest do not
/// achieve that (a division, an exponential, normal values beside), they stay, and the bounds tell how much it may.
fn exact_if_possible(spec: &Spec, test: &Test, seed: u64) -> Checked<(Values, Expected)> {
    let has = |kind| test.data.values().any(|d| *d == Data::Kind(kind));
    let ranges =
        if has(DataKind::Integers) && !has(DataKind::Normal) { &RANGES[..] } else { &RANGES[..1] };
    let mut result = draw_and_evaluate(spec, test, seed, ranges[0])?;
    for &range in &ranges[1..] {
        if result.1.values().flatten().all(|approx| approx.bound == 0.0) {
            break;
        }
        result = draw_and_evaluate(spec, test, seed, range)?;
    }
    Ok(result)
}

fn draw_and_evaluate(
    spec: &Spec,
    test: &Test,
    seed: u64,
    range: u32,
) -> Checked<(Values, Expected)> {
    let known = inputs::draw(test, seed, range);
    let expected = expected::evaluate(spec, test, &known)?;
    Ok((known, expected))
}

#[cfg(test)]
mod tests;
