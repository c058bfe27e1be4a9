//! Running error analysis: how far a right kernel may be from the exact value.
//!
//! A value is a sum of `n` terms with magnitude `m = Σ|term|`. Computed in any order with unit
//! roundoff `u`, each term passes `k` roundings at most: `n - 1` additions and those of its own
//! products. Then the error is at most `γ(k)·m` with `γ(k) = k·u / (1 - k·u)`, always; and because
//! roundings of unrelated values do not conspire, in practice at most `λ·√k·u·m` (Higham and Mary,
//! "A new approach to probabilistic rounding error analysis", 2019). The smaller one is taken, unless
//! the data are regular: 0.1 added a thousand times is off in one direction, and a ramp or values that
//! differ by less than the last bit of the partial sum are no better. Then only `γ` is safe.
//!
//! Where everything is a multiple of some `2^-g` and the magnitude fits the accumulator's precision,
//! every partial sum in every order is exact, and so the bound is 0.

use crate::facts::Facts;
use crate::format::Format;
use crate::shape::DType;

/// λ of the probabilistic bound. Right results of irregular data were seen to need 2 (lognormal products,
/// nine terms) and less for longer sums; `tests/rounding.rs` repeats that.
pub(crate) const LAMBDA: f64 = 4.0;

/// An element's value and what rounding may do to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approx {
    /// Value in f64.
    pub value: f64,
    /// A right kernel differs from `value` by no more than this; 0.0: it must be equal. Infinite where
    /// the element type may overflow or the value is not finite, unless it only was copied.
    pub bound: f64,
    /// Sum of the absolute values of the terms.
    pub magnitude: f64,
    /// The number of terms.
    pub terms: u64,
}

/// The data decide nothing: rounding can turn a comparison, or change a winner, and the results differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ambiguity {
    /// What rounding may do to what is compared.
    pub doubt: f64,
}

/// A sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    pub value: f64,
    pub magnitude: f64,
    pub terms: f64,
    /// What the errors of intermediate tensors contribute, at most.
    pub inherited: f64,
}

/// The element, stored as `dtype`, of a kernel that accumulates in f32 (f64 for an f64 tensor, and in
/// 32-bit integers for an integer tensor).
pub(crate) fn store(sum: Sum, facts: &Facts, regular: bool, dtype: DType) -> Approx {
    let Sum { value, magnitude, terms, inherited } = sum;
    let done = |bound: f64| Approx { value, bound, magnitude, terms: terms as u64 };
    let format = Format::of(dtype);
    let roundings = (terms - 1.0).max(0.0) + facts.roundings;
    let precise = facts.grain.is_some_and(|g| magnitude * 2_f64.powi(g) <= format.exact);
    let exact = inherited == 0.0 && (precise || roundings == 0.0 || magnitude == 0.0);
    // What is not a number, or infinite, and only copied, must be that.
    if inherited == 0.0 && roundings == 0.0 && !value.is_finite() && dtype.is_float() {
        return done(0.0);
    }
    // Of half-precision tensors only the result has to fit.
    let reach = if dtype.is_float() { format.max.max(f64::from(f32::MAX)) } else { format.max };
    if exact && format.holds(value) && magnitude <= reach {
        return done(0.0);
    }
    let mut bound = inherited;
    if !exact {
        let unit = relative(roundings, format.accumulator, regular);
        // The second part is the f64 evaluation's own error.
        let own = relative(roundings, f64::EPSILON / 2.0, true);
        bound += (unit + own) * (magnitude + inherited) + (roundings + 1.0) * format.tiny;
    }
    let stored = value.abs() + bound;
    bound += stored * format.unit + format.step;
    if stored <= format.max && magnitude <= format.max.max(f64::from(f32::MAX)) && bound.is_finite()
    {
        done(bound)
    } else {
        done(f64::INFINITY)
    }
}

/// Error of a sum relative to its magnitude, after `roundings`.
fn relative(roundings: f64, unit: f64, regular: bool) -> f64 {
    let worst = roundings * unit / (1.0 - (roundings * unit).min(0.5));
    if regular { worst } else { worst.min(LAMBDA * roundings.sqrt() * unit) }
}

/// What rounding may have done to values inside an expression, where they become the argument of a function,
/// are compared or compete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settling {
    roundings: f64,
    /// Values up to this are exact; negative: none.
    exact: f64,
    /// Relative error before the last rounding, and of the f64 evaluation.
    before: f64,
    own: f64,
    format: Format,
}

impl Settling {
    /// For values of which `facts` are known.
    pub(crate) fn new(facts: &Facts, format: Format) -> Self {
        let roundings = facts.path();
        let regular = roundings > FEW_TERMS && facts.is_regular(roundings);
        Self {
            roundings,
            exact: facts.grain.map_or(-1.0, |grain| format.exact / 2_f64.powi(grain)),
            before: relative((roundings - 1.0).max(0.0), format.accumulator, regular),
            own: relative(roundings, f64::EPSILON / 2.0, true),
            format,
        }
    }

    /// The error of a value. The last rounding is relative to the value itself, not to the sum of its terms: so
    /// a difference of given numbers is as good as it can be.
    pub(crate) fn error(&self, value: f64, magnitude: f64, inherited: f64) -> f64 {
        let Format { accumulator, tiny, max, .. } = self.format;
        if value.is_nan() {
            return if inherited == f64::INFINITY { inherited } else { 0.0 };
        }
        let exact = self.roundings == 0.0 || magnitude <= self.exact || magnitude == 0.0;
        if value.is_infinite() {
            // Given, or outside a padded tensor; else an overflow.
            let given = inherited == 0.0 && (exact || magnitude.is_finite());
            return if given { 0.0 } else { f64::INFINITY };
        }
        let error = if exact && inherited == 0.0 {
            0.0
        } else {
            let before = inherited + (self.before + self.own) * (magnitude + inherited);
            let last = if self.roundings > 0.0 { accumulator } else { 0.0 };
            before + last * (value.abs() + before) + self.roundings * tiny
        };
        // Written so that NaN is an overflow.
        if magnitude + error <= max { error } else { f64::INFINITY }
    }
}

/// Up to this many terms the deterministic bound is the smaller one anyway.
pub(crate) const FEW_TERMS: f64 = 16.0;
