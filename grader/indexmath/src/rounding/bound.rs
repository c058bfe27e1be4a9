//! Running error analysis: how far a correct kernel may be from the exact value, found while the value is computed (Higham
//! 2002, section 3.3).
//!
//! A value is a sum of `n` terms with magnitude `m = Σ|term|`. Computed in any order with unit
//! roundoff `u`, each term passes `k` roundings at most: `n - 1` additions and those of its own
//! products. Then the error is at most `γ(k)·m` with `γ(k) = k·u / (1 - k·u)`, always (Higham 2002, sections 3.1 and 4.2);
//! and because roundings of unrelated values are not correlated, in practice at most `λ·√k·u·m` (Higham and Mary 2019). The
//! smaller one is taken, unless the data are regular: 0.1 added a thousand times is off in one direction, and a ramp or values
//! that differ by less than the last bit of the partial sum are no better. Then only `γ` is safe.
//!
//! Where everything is a multiple of some `2^-f` and the magnitude fits the accumulator's precision,
//! every partial sum in every order is exact, and so the bound is 0.

use crate::dtype::DType;
use crate::rounding::format::{Format, power_of_two};
use crate::rounding::profile::RoundingProfile;

/// The factor λ of the probabilistic bound. Right results of irregular data were seen to need 2 (lognormal products,
/// nine terms) and less for longer sums; `tests/rounding.rs` repeats that.
const LAMBDA: f64 = 4.0;

/// The number of terms up to which the deterministic bound is the smaller one anyway.
pub(crate) const FEW_TERMS: f64 = 16.0;

/// The value of a tensor's element, and how much rounding may change it in a correct kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approx {
    /// The value, computed in f64.
    pub value: f64,
    /// The greatest absolute difference between `value` and a correct kernel's result. 0 means that they must be equal. It is
    /// infinite where the element type may overflow, and where the value is not finite, unless it was only copied.
    pub bound: f64,
    /// The sum of the absolute values of the terms.
    pub magnitude: f64,
    /// The number of terms.
    pub terms: u64,
}

/// A sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningSum {
    pub value: f64,
    /// The sum of the absolute values of the terms.
    pub magnitude: f64,
    /// The number of terms, as a floating-point number.
    pub terms: f64,
    /// The error propagated from the values that went into the sum, at most: those of intermediate tensors and of functions.
    pub propagated: f64,
}

/// The element of type `dtype` that a kernel stores. It accumulates in f32 (f64 for an f64 tensor, and in
/// integers for an integer tensor). `profile` is that of the terms; `correlated` says whether their roundings may be. `reduces` says
/// whether the number of terms depends on sizes or data: then atomic additions may sum them up, which take subnormal numbers for zero
/// (PTX ISA, `atom`), and tensor cores, which may. What a formula writes out, such as `a + b * c`, is computed by instructions that keep
/// them.
pub(crate) fn store(
    sum: RunningSum,
    profile: &RoundingProfile,
    (correlated, reduces): (bool, bool),
    dtype: DType,
) -> Approx {
    let RunningSum { value, magnitude, terms, propagated } = sum;
    let done = |bound: f64| Approx { value, bound, magnitude, terms: terms as u64 };
    let format = Format::of(dtype);
    let roundings = (terms - 1.0).max(0.0) + profile.roundings;
    let exact_sums = profile
        .fraction_bits
        .is_some_and(|bits| magnitude * power_of_two(bits) <= format.exact_up_to);
    let exact = propagated == 0.0 && (exact_sums || roundings == 0.0 || magnitude == 0.0);
    // What is not a number, or infinite, and only copied, must be that.
    if propagated == 0.0 && roundings == 0.0 && !value.is_finite() && dtype.is_float() {
        return done(0.0);
    }
    // The greatest partial sum. Of half-precision tensors only the result has to fit.
    let accumulator_max = format.max.max(f64::from(f32::MAX));
    let sum_max = if dtype.is_float() { accumulator_max } else { format.accumulator_max };
    if exact && format.holds(value) && magnitude <= sum_max {
        return done(0.0);
    }
    // Functions may flush subnormal numbers as well.
    let flushes = reduces || propagated > 0.0;
    let underflow = if flushes { format.underflow } else { format.gradual_underflow };
    let mut bound = propagated;
    if !exact {
        let kernel = relative_error(roundings, format.accumulator_roundoff, correlated);
        let evaluation = relative_error(roundings, f64::EPSILON / 2.0, true);
        bound += (kernel + evaluation) * (magnitude + propagated) + (roundings + 1.0) * underflow;
    } else if dtype.is_float() && !format.holds(value) {
        // A value of a wider type, converted once.
        bound += value.abs() * format.accumulator_roundoff + underflow;
    }
    let stored = value.abs() + bound;
    bound += stored * format.store_roundoff + format.store_underflow;
    if stored <= format.max && magnitude <= accumulator_max && bound.is_finite() {
        done(bound)
    } else {
        done(f64::INFINITY)
    }
}

/// The error of a sum relative to its magnitude, after `roundings` with the unit roundoff `unit`: γ, or the probabilistic
/// bound where that is smaller and the roundings are not correlated.
fn relative_error(roundings: f64, unit: f64, correlated: bool) -> f64 {
    let worst = roundings * unit / (1.0 - (roundings * unit).min(0.5));
    if correlated { worst } else { worst.min(LAMBDA * roundings.sqrt() * unit) }
}

/// The error of sums inside an expression, where they become the argument of a function, are compared, or compete for an
/// extremum: what their roundings do, with all that does not depend on the single value computed beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorModel {
    roundings: f64,
    /// Values up to this magnitude are exact; negative if none are.
    exact_up_to: f64,
    /// The error that is relative to the magnitude: that of all roundings, or of all but the last.
    of_terms: f64,
    /// The error of the last rounding, where it is relative to the value.
    of_value: f64,
    /// The relative error of the evaluation in f64.
    evaluation: f64,
    format: Format,
}

impl ErrorModel {
    /// The model for values with the profile `profile` in a kernel that computes in `format`.
    pub(crate) fn new(profile: &RoundingProfile, format: Format) -> Self {
        let roundings = profile.path();
        let correlated = roundings > FEW_TERMS && profile.may_correlate(roundings);
        let exact_up_to = |bits| format.exact_up_to / 2_f64.powi(bits);
        let unit = format.accumulator_roundoff;
        Self {
            roundings,
            exact_up_to: profile.fraction_bits.map_or(-1.0, exact_up_to),
            of_terms: relative_error((roundings - 1.0).max(0.0), unit, correlated),
            of_value: if roundings > 0.0 { unit } else { 0.0 },
            evaluation: relative_error(roundings, f64::EPSILON / 2.0, true),
            format,
        }
    }

    /// The model for sums with the profile `profile` that are multiplied, or divide: a kernel may multiply first and add then, so
    /// that all roundings are relative to the terms. To first order the error of a product of two sums is that of
    /// one, times the other's value: no kernel that is any good multiplies both out where their terms cancel.
    pub(crate) fn of_factor(profile: &RoundingProfile, format: Format) -> Self {
        let plain = Self::new(profile, format);
        let roundings = plain.roundings;
        let correlated = roundings > FEW_TERMS && profile.may_correlate(roundings);
        let of_terms = relative_error(roundings, format.accumulator_roundoff, correlated);
        Self { of_terms, of_value: 0.0, ..plain }
    }

    /// Takes no value for exact.
    pub(crate) fn round_always(&mut self) {
        self.exact_up_to = -1.0;
    }

    /// The bound of a value's error. Unless the value is a factor, the last rounding is relative to the value itself, not to
    /// the sum of its terms, so that a difference of given numbers is as exact as it can be.
    pub(crate) fn error(&self, value: f64, magnitude: f64, propagated: f64) -> f64 {
        let Format { underflow, max, .. } = self.format;
        if value.is_nan() {
            return if propagated == f64::INFINITY { propagated } else { 0.0 };
        }
        let exact = self.roundings == 0.0 || magnitude <= self.exact_up_to || magnitude == 0.0;
        if value.is_infinite() {
            // Given, or outside a padded tensor; else an overflow.
            let given = propagated == 0.0 && (exact || magnitude.is_finite());
            return if given { 0.0 } else { f64::INFINITY };
        }
        let error = if exact && propagated == 0.0 {
            0.0
        } else {
            let before = propagated + (self.of_terms + self.evaluation) * (magnitude + propagated);
            before + self.of_value * (value.abs() + before) + self.roundings * underflow
        };
        // Written so that NaN is an overflow.
        if magnitude + error <= max { error } else { f64::INFINITY }
    }
}
