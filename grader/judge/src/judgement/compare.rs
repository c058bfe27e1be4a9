//! Element by element: is it correct, and how far off is it?

use super::cause;
use crate::verdict::{Deviation, Mismatch, TensorDiff};
use device::backend::RunTensor;
use indexmath::Approx;
use puzzle::comparison::is_within_bound;
use puzzle::tensor::Tensor;

/// What an output is compared with, and what helps to explain a difference.
pub(super) struct Expected<'a> {
    /// The expected elements in row-major order.
    pub values: &'a [Approx],
    /// What a tensor that is changed in place held before.
    pub start: Option<&'a [f64]>,
    /// Threads of a block of the launch that computes it; 0 if unknown, if there is only one, or if they have several coordinates.
    pub block: usize,
    /// The inputs with one axis: a bias, for instance.
    pub vectors: &'a [(&'a str, &'a [f64])],
    /// The inputs of the same shape.
    pub alike: &'a [cause::Alike<'a>],
    /// The other outputs of the same shape, with what is expected of them.
    pub outputs: &'a [cause::Alike<'a>],
    /// Elements of inputs of whole numbers, one for each first coordinate, by name.
    pub columns: &'a [(String, Vec<f64>)],
}

/// Compares an output of which all lengths agree; `None` if every element is correct.
pub(super) fn diff(tensor: &Tensor, reference: &Expected, got: &RunTensor) -> Option<TensorDiff> {
    let &Expected { values: expected, start, block, vectors, alike, outputs, columns } = reference;
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
    let diff = TensorDiff::new(tensor.clone(), errors, first, mismatch);
    let view = cause::View {
        shape: &tensor.shape,
        dtype: tensor.dtype,
        expected,
        got: &got.values,
        written: &got.written,
        wrong: &diff.wrong,
        start,
        block,
        vectors,
        alike,
        outputs,
        columns,
    };
    let cause = cause::likely(&view);
    Some(TensorDiff { cause, ..diff })
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
