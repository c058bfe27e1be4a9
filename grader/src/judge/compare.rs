//! Element by element: is it right, and how far off is it?

use super::cause;
use crate::backend::RunTensor;
use crate::tensor::Tensor;
use crate::verdict::{Deviation, Mismatch, TensorDiff, TermDiff};
use indexmath::{Approx, Dims};

/// How many mismatches a diff lists.
pub(super) const MAX_MISMATCHES: usize = 64;

/// Is `got` as near to what is right as a right kernel comes?
///
/// Written so that NaN fails: every comparison with NaN is false. A bound that is not finite allows nothing.
pub(super) fn right(got: f64, right: &Approx) -> bool {
    if right.value.is_nan() {
        return got.is_nan();
    }
    if got == right.value {
        return true; // also infinities, and 0.0 == -0.0
    }
    got.is_finite() && right.bound.is_finite() && (got - right.value).abs() <= right.bound
}

/// Compares an output of which all lengths agree; `None` if every element is right.
pub(super) fn diff(
    tensor: &Tensor,
    expected: &[Approx],
    got: &RunTensor,
    block: usize,
    dims: &Dims,
    vectors: &[(&str, &[f64])],
) -> Option<TensorDiff> {
    let errors: Vec<Deviation> = expected
        .iter()
        .zip(got.values.iter().zip(&got.written))
        .map(|(expected, (&got, &written))| deviation(expected, got, written))
        .collect();
    let wrong: Vec<bool> = errors.iter().map(|&e| e != Deviation::Right).collect();
    let mismatch = |flat: usize| Mismatch {
        flat,
        expected: expected[flat].value,
        got: got.written[flat].then_some(got.values[flat]),
        allowed: expected[flat].bound,
    };
    let wrong_places = || (0..wrong.len()).filter(|&flat| wrong[flat]);
    let first = wrong_places().find(|&flat| got.written[flat]).or_else(|| wrong_places().next())?;
    let count = |kind: Deviation| errors.iter().filter(|&&e| e == kind).count();
    let view = cause::View {
        shape: &tensor.shape,
        dtype: tensor.dtype,
        expected,
        got: &got.values,
        written: &got.written,
        wrong: &wrong,
        block,
        dims,
        vectors,
    };
    Some(TensorDiff {
        wrong_count: wrong_places().count(),
        unwritten_count: count(Deviation::Unwritten),
        nan_count: count(Deviation::Nan),
        mismatches: wrong_places().take(MAX_MISMATCHES).map(mismatch).collect(),
        terms: TermDiff { mismatch: mismatch(first), formula: None, thread: None, compared: None },
        cause: cause::likely(&view),
        tensor: tensor.clone(),
        errors,
        wrong,
    })
}

fn deviation(expected: &Approx, got: f64, written: bool) -> Deviation {
    if !written {
        return Deviation::Unwritten;
    }
    if right(got, expected) {
        return Deviation::Right;
    }
    let error = (got - expected.value).abs();
    if got.is_nan() || expected.value.is_nan() { Deviation::Nan } else { Deviation::Off(error) }
}

/// The first element of an input that is not what it was, bit by bit (but one NaN is as good as another).
pub(super) fn first_change(before: &[f64], after: &[f64]) -> Option<usize> {
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    before.iter().zip(after).position(|(&a, &b)| !same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approx(value: f64, bound: f64) -> Approx {
        Approx { value, bound, magnitude: value.abs(), terms: 1 }
    }

    #[test]
    fn nan_and_infinity_are_equal_only_to_themselves() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for bound in [0.0, 1.0, inf, nan] {
            assert!(!right(nan, &approx(1.0, bound)));
            assert!(!right(1.0, &approx(nan, bound)));
            assert!(!right(inf, &approx(1.0, bound)));
            assert!(!right(1.0, &approx(inf, bound)));
            assert!(!right(-inf, &approx(inf, bound)));
            assert!(right(inf, &approx(inf, bound)));
            assert!(right(nan, &approx(nan, bound)));
        }
    }

    #[test]
    fn the_bound_is_inclusive_and_zero_means_equal() {
        assert!(right(1.5, &approx(1.0, 0.5)));
        assert!(!right(1.500_001, &approx(1.0, 0.5)));
        assert!(!right(f64::EPSILON, &approx(0.0, 0.0)));
        assert!(right(-0.0, &approx(0.0, 0.0)));
    }

    #[test]
    fn a_bound_that_is_no_number_allows_only_equality() {
        for bound in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(!right(1.25, &approx(1.0, bound)));
            assert!(right(1.0, &approx(1.0, bound)));
        }
    }

    #[test]
    fn a_change_of_sign_of_zero_is_a_change() {
        assert_eq!(first_change(&[1.0, 0.0], &[1.0, -0.0]), Some(1));
        assert_eq!(first_change(&[f64::NAN, 2.0], &[f64::NAN, 2.0]), None);
    }
}
