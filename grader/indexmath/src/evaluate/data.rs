//! The values of tensors, and sums under construction.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::dtype::DType;
use crate::integer::affine::Affine;
use crate::program::node::IndexId;
use crate::rounding::bound::{Approx, RunningSum};
use crate::rounding::enclosure::Ambiguity;
use crate::rounding::profile::RoundingProfile;

/// The values of tensors by their names: dense, row-major, in f64, and already rounded to the tensor's element type.
pub type Values = BTreeMap<String, Vec<f64>>;

/// Looks up elements that were evaluated before, by the name of their tensor.
pub type Results<'a> = &'a dyn Fn(&str) -> Option<&'a [Approx]>;

/// A tensor's values, and how far those of a correct kernel may be from them.
#[derive(Clone, Debug)]
pub(crate) struct TensorData<'a> {
    pub values: Cow<'a, [f64]>,
    /// The error bound of each value; empty where all are exact.
    pub errors: Vec<f64>,
    pub profile: RoundingProfile,
    /// What [`Self::significant_bits`] has counted, once it is asked.
    significant_bits: OnceLock<i32>,
}

impl<'a> TensorData<'a> {
    /// Values with their error bounds, which may be left out where all are 0.
    pub(crate) fn new(values: Cow<'a, [f64]>, errors: Vec<f64>, profile: RoundingProfile) -> Self {
        Self { values, errors, profile, significant_bits: OnceLock::new() }
    }

    /// The data of values that are given.
    pub(crate) fn exact(values: &'a [f64]) -> Self {
        Self::new(Cow::Borrowed(values), Vec::new(), RoundingProfile::of_data(values))
    }

    /// The data of values that a statement computed.
    pub(crate) fn computed(elements: &[Approx]) -> Self {
        let values: Vec<f64> = elements.iter().map(|element| element.value).collect();
        let exact = elements.iter().all(|element| element.bound == 0.0);
        let errors = elements.iter().map(|element| element.bound);
        let errors = if exact { Vec::new() } else { errors.collect() };
        let profile = RoundingProfile::of_data(&values);
        Self::new(Cow::Owned(values), errors, profile)
    }

    /// The data of values that were computed, and count as exact.
    pub(crate) fn moved(values: Vec<f64>) -> Self {
        let profile = RoundingProfile::of_data(&values);
        Self::new(Cow::Owned(values), Vec::new(), profile)
    }

    /// The data of ones, in whatever takes no profile.
    pub(crate) fn units(ones: &'a [f64]) -> Self {
        Self::new(Cow::Borrowed(ones), Vec::new(), RoundingProfile::EXACT)
    }

    /// The bits of the widest significand among the values. It is found once: the elements of another tensor ask for it one by
    /// one, and there may be millions of values.
    pub(crate) fn significant_bits(&self) -> i32 {
        let widest = || self.values.iter().map(|value| significant_bits(*value)).max();
        *self.significant_bits.get_or_init(|| widest().unwrap_or(0))
    }

    /// Whether a correct kernel has exactly these values.
    pub(crate) fn is_exact(&self) -> bool {
        self.errors.is_empty()
    }

    /// The error bound of the value at a position.
    pub(crate) fn error(&self, at: usize) -> f64 {
        self.errors.get(at).copied().unwrap_or(0.0)
    }
}

/// The bits from the highest to the lowest one of a number that is not 0; more than any format has for one that is not finite.
fn significant_bits(value: f64) -> i32 {
    if value == 0.0 {
        return 0;
    }
    if !value.is_finite() {
        return i32::MAX;
    }
    let fraction = value.to_bits() & ((1 << 52) - 1);
    // Of a subnormal number this is more than it has, and no integer is one.
    53 - ((1_u64 << 52) | fraction).trailing_zeros() as i32
}

/// Sums under construction, one for each element of the array that nests add to: a statement's target, or a temporary. The
/// first four fields are those of a [`RunningSum`], element by element.
#[derive(Debug)]
pub(crate) struct Accumulators {
    pub value: Vec<f64>,
    pub magnitude: Vec<f64>,
    pub terms: Vec<f64>,
    pub propagated: Vec<f64>,
    /// The profile of the terms.
    pub profile: RoundingProfile,
    /// Whether the roundings of a sum may be correlated.
    pub correlated: bool,
    /// The number of terms of one element, at most, with the additions on the way to them.
    pub most_terms: f64,
    /// The axes of a temporary; a statement's target has its layout instead.
    pub axes: Vec<TemporaryAxis>,
    /// The type in which a kernel computes.
    pub compute_type: DType,
    /// The reason why a value may have an infinite error.
    pub ambiguity: Option<Ambiguity>,
}

/// An axis of a temporary: the values of an index, from `low` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemporaryAxis {
    pub index: IndexId,
    pub low: i64,
    pub stride: i64,
}

impl Accumulators {
    /// Creates `len` empty sums.
    pub(crate) fn new(len: usize, axes: Vec<TemporaryAxis>, compute_type: DType) -> Self {
        let zero = vec![0.0; len];
        Self {
            // What is added to -0.0 keeps its sign.
            value: vec![-0.0; len],
            magnitude: zero.clone(),
            terms: zero.clone(),
            propagated: zero,
            profile: RoundingProfile::EXACT,
            correlated: false,
            most_terms: 0.0,
            axes,
            compute_type,
            ambiguity: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.value.len()
    }

    /// The sum for an element.
    pub(crate) fn sum(&self, at: usize) -> RunningSum {
        RunningSum {
            value: self.value[at],
            magnitude: self.magnitude[at],
            terms: self.terms[at],
            propagated: self.propagated[at],
        }
    }

    /// Adds to the sum for an element.
    pub(crate) fn add(&mut self, at: usize, sum: RunningSum) {
        self.value[at] += sum.value;
        self.magnitude[at] += sum.magnitude;
        self.terms[at] += sum.terms;
        self.propagated[at] += sum.propagated;
    }

    /// The flat address of a temporary's element, by the indices that are its axes.
    pub(crate) fn address(&self) -> Affine {
        Affine {
            constant: -self.axes.iter().map(|axis| axis.low * axis.stride).sum::<i64>(),
            terms: self.axes.iter().map(|axis| (axis.index, axis.stride)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::significant_bits;
    use crate::dtype::DType;
    use crate::rounding::format::Format;

    #[test]
    fn an_integer_fits_a_format_that_has_its_bits() {
        for (value, bits) in [(0.0, 0), (1.0, 1), (-8.0, 1), (5.0, 3), (16_777_217.0, 25)] {
            assert_eq!(significant_bits(value), bits, "{value}");
        }
        for dtype in [DType::F32, DType::F64] {
            let format = Format::of(dtype);
            for shift in 0..53 {
                for value in [(1_i64 << shift) - 1, (1 << shift) + 1, 3 << shift] {
                    let value = value as f64;
                    let fits = significant_bits(value) <= format.precision;
                    assert_eq!(fits, format.holds(value), "{value} in {dtype}");
                }
            }
            assert!(significant_bits(f64::NAN) > format.precision);
        }
    }
}
