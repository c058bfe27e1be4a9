//! Gradients by central differences, in f64.
//!
//! For L = Σ T ⊙ grad(T) over the outputs T of the forward formula, each element x of X is perturbed by ±ε: dL/dx ≈
//! (L(x + ε) − L(x − ε)) / 2ε. The derived gradient must agree within `rtol`; otherwise the differentiation is wrong
//! (or ε crosses a kink). The numerical value then becomes the expected one.
//!
//! A correct kernel differs from the *derived* value by at most its rounding bound, so from the numerical one by at
//! most |numerical − derived| + bound. Nothing is added to that: a loose `rtol` lets no wrong kernel pass, and where
//! the differences are exact (integers, a function linear in X) the kernel must be equal.

use super::expected::{Expected, at_formula, math};
use indexmath::{Approx, Values};
use spec::{Buffer, Checked, Purpose, Spec, Test, grad_of};
use tensor::Tensor;

/// Replaces the values of each `grad(X)` in `expected` by the numerical ones.
pub(super) fn replace(
    spec: &Spec,
    test: &Test,
    known: &Values,
    epsilon: f64,
    rtol: f64,
    expected: &mut Expected,
) -> Checked<()> {
    for Buffer { tensor, .. } in test.buffers.iter().filter(|b| b.purpose == Purpose::Output) {
        if let (Some(of), Some(derived)) = (grad_of(&tensor.name), expected.get_mut(&tensor.name)) {
            let numerical = differences(spec, test, known, of, tensor.len(), epsilon)?;
            join(spec, test, tensor, rtol, derived, &numerical)?;
        }
    }
    Ok(())
}

/// The numerical derivative dL/dx for each element x of the input `of`.
fn differences(
    spec: &Spec,
    test: &Test,
    known: &Values,
    of: &str,
    len: usize,
    epsilon: f64,
) -> Checked<Vec<f64>> {
    // Integer outputs, such as positions of maxima, have no cotangent.
    let outputs: Vec<(&str, &Vec<f64>)> = spec
        .tensors
        .outputs
        .iter()
        .filter_map(|output| Some((output.as_str(), known.get(&format!("grad({output})"))?)))
        .collect();
    let names: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
    let mut moving = known.clone();
    let mut gradient = Vec::with_capacity(len);
    for i in 0..len {
        let Some(x) = known.get(of).and_then(|values| values.get(i)).copied() else {
            return Err(at_formula(spec, test, format!("`{of}` is not an input")));
        };
        let mut sides = Vec::with_capacity(2);
        for moved in [x + epsilon, x - epsilon] {
            moving.entry(of.to_owned()).and_modify(|values| values[i] = moved);
            sides.push(test.formula.evaluate(&moving, &names).map_err(|e| math(spec, test, e))?);
        }
        moving.entry(of.to_owned()).and_modify(|values| values[i] = x);
        // Differences first: the sums of both sides are nearly equal.
        let mut change = 0.0;
        for (output, seeds) in &outputs {
            let (above, below) = (&sides[0][*output], &sides[1][*output]);
            for ((above, below), seed) in above.iter().zip(below).zip(seeds.iter()) {
                change += (above.value - below.value) * seed;
            }
        }
        gradient.push(change / (2.0 * epsilon));
    }
    Ok(gradient)
}

/// Compares both gradients, and replaces the derived one with the numerical one.
fn join(
    spec: &Spec,
    test: &Test,
    tensor: &Tensor,
    rtol: f64,
    derived: &mut [Approx],
    numerical: &[f64],
) -> Checked<()> {
    // If terms cancel, the value does not show the size of the terms, but their mean size does.
    let typical = derived.iter().map(|a| a.value.abs()).sum::<f64>() / derived.len().max(1) as f64;
    for (i, (approx, &value)) in derived.iter_mut().zip(numerical).enumerate() {
        let apart = (value - approx.value).abs();
        let scale = approx.value.abs().max(approx.magnitude).max(1e-3 * typical);
        if apart.is_nan() || apart > rtol * scale {
            let title = format!(
                "{}: the derived gradient {} differs from the numerical one, {value}",
                tensor.element_name(i),
                approx.value
            );
            return Err(at_formula(spec, test, title)
                .help("take a smaller epsilon if the formula has kinks or is steep")
                .help("otherwise the grader differentiates it wrongly: please report the spec"));
        }
        approx.bound += apart;
        approx.value = value;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tensor::DType;

    /// Derived 10 ± 0.5 made of terms of 12 in all, against a numerical value.
    fn joined(numerical: f64) -> Checked<Approx> {
        let spec = Spec::parse(crate::fixture::SPEC, Path::new("x.toml")).unwrap();
        let tensor = Tensor { name: "grad(x)".into(), dtype: DType::F32, shape: vec![1] };
        let mut derived = [Approx { value: 10.0, bound: 0.5, magnitude: 12.0, terms: 3 }];
        join(&spec, &spec.tests[0], &tensor, 0.1, &mut derived, &[numerical])?;
        Ok(derived[0])
    }

    #[test]
    fn the_numerical_value_is_right_and_the_bound_spans_both() {
        let right = joined(10.25).unwrap();
        assert_eq!((right.value, right.bound), (10.25, 0.75));
        let exact = joined(10.0).unwrap();
        assert_eq!((exact.value, exact.bound), (10.0, 0.5));
    }

    #[test]
    fn gradients_that_disagree_are_an_error_of_the_spec() {
        assert!(joined(11.1).is_ok());
        let failure = joined(11.3).unwrap_err().in_file(Path::new("x.toml"), "");
        let title = &failure.diagnostics[0].title;
        assert_eq!(
            title,
            "grad(x)[0]: the derived gradient 10 differs from the numerical one, 11.3"
        );
        assert!(joined(f64::NAN).is_err());
    }
}
