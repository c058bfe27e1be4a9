//! The comparison of what a kernel stored with what is expected, element by element.

use indexmath::Approx;

/// Whether `got` is within the error bound of a correct kernel.
///
/// Every comparison with NaN is false, so NaN fails unless it is expected. A bound that is not finite allows nothing.
pub fn is_within_bound(got: f64, expected: &Approx) -> bool {
    if expected.value.is_nan() {
        return got.is_nan();
    }
    if got == expected.value {
        return true; // also infinities, and 0.0 == -0.0
    }
    got.is_finite() && expected.bound.is_finite() && (got - expected.value).abs() <= expected.bound
}

/// Whether every element was written, and is within its bound. All lengths agree.
pub fn are_correct(expected: &[Approx], values: &[f64], written: &[bool]) -> bool {
    let mut all = expected.iter().zip(values.iter().zip(written));
    all.all(|(expected, (&got, &written))| written && is_within_bound(got, expected))
}

/// The first element of an input that is not what it was, bit by bit (but one NaN is as good as another).
pub fn first_change(before: &[f64], after: &[f64]) -> Option<usize> {
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
            assert!(!is_within_bound(nan, &approx(1.0, bound)));
            assert!(!is_within_bound(1.0, &approx(nan, bound)));
            assert!(!is_within_bound(inf, &approx(1.0, bound)));
            assert!(!is_within_bound(1.0, &approx(inf, bound)));
            assert!(!is_within_bound(-inf, &approx(inf, bound)));
            assert!(is_within_bound(inf, &approx(inf, bound)));
            assert!(is_within_bound(nan, &approx(nan, bound)));
        }
    }

    #[test]
    fn the_bound_is_inclusive_and_zero_means_equal() {
        assert!(is_within_bound(1.5, &approx(1.0, 0.5)));
        assert!(!is_within_bound(1.500_001, &approx(1.0, 0.5)));
        assert!(!is_within_bound(f64::EPSILON, &approx(0.0, 0.0)));
        assert!(is_within_bound(-0.0, &approx(0.0, 0.0)));
    }

    #[test]
    fn a_bound_that_is_no_number_allows_only_equality() {
        for bound in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(!is_within_bound(1.25, &approx(1.0, bound)));
            assert!(is_within_bound(1.0, &approx(1.0, bound)));
        }
    }

    #[test]
    fn all_elements_must_be_written_and_right() {
        let expected = [approx(1.0, 0.0), approx(2.0, 0.5)];
        assert!(are_correct(&expected, &[1.0, 2.25], &[true, true]));
        assert!(!are_correct(&expected, &[1.0, 2.25], &[true, false]));
        assert!(!are_correct(&expected, &[1.5, 2.0], &[true, true]));
    }

    #[test]
    fn a_change_of_sign_of_zero_is_a_change() {
        assert_eq!(first_change(&[1.0, 0.0], &[1.0, -0.0]), Some(1));
        assert_eq!(first_change(&[f64::NAN, 2.0], &[f64::NAN, 2.0]), None);
    }
}
