//! Element by element: is it correct, and how far off is it?

use crate::verdict::{Deviation, Mismatch, TensorDiff};
use device::backend::RunTensor;
use indexmath::Approx;
use puzzle::comparison::is_within_bound;
use puzzle::tensor::Tensor;

/// Compares an output of which all lengths agree; `None` if every element is correct.
pub(super) fn diff(tensor: &Tensor, expected: &[Approx], got: &RunTensor) -> Option<TensorDiff> {
    let errors: Vec<Deviation> = expected
        .iter()
        .zip(got.values.iter().zip(&got.written))
        .map(|(expected, (&got, &written))| deviation(expected, got, written))
        .collect();
    let mismatch = |flat: usize| Mismatch {
        flat,
        expected: expected[flat].value,
        got: got.written[flat].then_some(got.values[flat]),
        allowed: expected[flat].bound,
    };
    let wrong_places = || (0..errors.len()).filter(|&flat| errors[flat] != Deviation::Correct);
    let first = wrong_places().find(|&flat| got.written[flat]).or_else(|| wrong_places().next())?;
    Some(TensorDiff::new(tensor.clone(), errors, first, mismatch))
}

fn deviation(expected: &Approx, got: f64, written: bool) -> Deviation {
    if !written {
        return Deviation::Unwritten;
    }
    if is_within_bound(got, expected) {
        return Deviation::Correct;
    }
    let error = (got - expected.value).abs();
    if got.is_nan() || expected.value.is_nan() { Deviation::Nan } else { Deviation::Off(error) }
}
