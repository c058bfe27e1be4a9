//! Gradients by central differences, in f64.
//!
//! For L = Σ T ⊙ grad(T) over the outputs T of the forward formula, each element x of X is moved by ±ε:
//! dL/dx ≈ (L(x + ε) − L(x − ε)) / 2ε. The derived gradient must agree within `rtol`, else the differentiation is
//! wrong (or ε crosses a kink). The numerical value then becomes what is right.
//!
//! How far off a kernel may be: a right one differs from the *derived* value by its rounding bound at most, so from the
//! numerical one by |numerical − derived| + bound. Nothing is added to that: a loose `rtol` lets no wrong kernel pass,
//! and where the differences are exact (integers, a function linear in X) the kernel must be equal.

use super::expected::{Expected, at_formula, math};
use crate::spec::{Checked, Fault, Spec, Test, grad_of};
use crate::tensor::Tensor;
use indexmath::{Approx, Values};

/// Elements of X: each costs two evaluations of the forward formula.
const MAX_ELEMENTS: usize = 4096;

/// Replaces the values of each `grad(X)` in `expected` by the numerical ones.
pub(super) fn replace(
    spec: &Spec,
    test: &Test,
    known: &Values,
    epsilon: f64,
    rtol: f64,
    expected: &mut Expected,
) -> Checked<()> {
    for tensor in &test.tensors {
        if let (Some(of), Some(derived)) = (grad_of(&tensor.name), expected.get_mut(&tensor.name)) {
            let numerical = differences(spec, test, known, of, tensor.len(), epsilon)?;
            join(spec, test, tensor, rtol, derived, &numerical)?;
        }
    }
    Ok(())
}

/// dL/dx for each element x of the input `of`.
fn differences(
    spec: &Spec,
    test: &Test,
    known: &Values,
    of: &str,
    len: usize,
    epsilon: f64,
) -> Checked<Vec<f64>> {
    let check = |title: String| Fault::at(test.check_place.clone(), title);
    if len > MAX_ELEMENTS {
        return Err(check(format!("`{of}` has {len} elements in this test"))
            .also(test.dims_place.clone(), "these sizes")
            .help(format!("a numerical gradient is for {MAX_ELEMENTS} elements at most")));
    }
    let mut known = known.clone();
    let outputs: Vec<&str> = spec.tensors.outputs.iter().map(String::as_str).collect();
    let mut gradient = Vec::with_capacity(len);
    for i in 0..len {
        let Some(x) = known.get(of).and_then(|values| values.get(i)).copied() else {
            return Err(check(format!("`{of}` is no input, it cannot be moved"))
                .help("check the gradients of inputs numerically"));
        };
        let mut sides = Vec::with_capacity(2);
        for moved in [x + epsilon, x - epsilon] {
            known.entry(of.to_owned()).and_modify(|values| values[i] = moved);
            sides.push(test.formula.evaluate(&known, &outputs).map_err(|e| math(spec, test, e))?);
        }
        known.entry(of.to_owned()).and_modify(|values| values[i] = x);
        // Differences first: the sums of both sides are nearly equal.
        let mut change = 0.0;
        for output in &outputs {
            let seeds = &known[&format!("grad({output})")];
            for ((above, below), seed) in
                sides[0][*output].iter().zip(&sides[1][*output]).zip(seeds)
            {
                change += (above.value - below.value) * seed;
            }
        }
        gradient.push(change / (2.0 * epsilon));
    }
    Ok(gradient)
}

/// Compares both gradients, and puts the numerical one in the place of the derived one.
fn join(
    spec: &Spec,
    test: &Test,
    tensor: &Tensor,
    rtol: f64,
    derived: &mut [Approx],
    numerical: &[f64],
) -> Checked<()> {
    // Where terms cancel, the value says nothing of the size of the terms; their mean size does.
    let typical = derived.iter().map(|a| a.value.abs()).sum::<f64>() / derived.len().max(1) as f64;
    for (i, (approx, &value)) in derived.iter_mut().zip(numerical).enumerate() {
        let apart = (value - approx.value).abs();
        let scale = approx.value.abs().max(approx.magnitude).max(1e-3 * typical);
        if !(apart <= rtol * scale) {
            let title = format!(
                "{}: the derived gradient {} is not the numerical one, {value}",
                tensor.element_name(i),
                approx.value
            );
            return Err(at_formula(spec, test, title)
                .help("take a smaller epsilon if the formula has kinks or is steep")
                .help("else the grader differentiates it wrongly: please report the spec"));
        }
        approx.bound += apart;
        approx.value = value;
    }
    Ok(())
}
