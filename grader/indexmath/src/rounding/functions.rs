//! Functions: their values, and how far a correct kernel's values may be from them.
//!
//! The CUDA C++ Programming Guide (appendix "Mathematical Functions", table "Maximum ULP error" of single precision) gives the
//! error of each function in units in the last place (ulp), against the correctly rounded result; [`Function::ulps`] repeats
//! it. Twice that is allowed, so that the rounding of the result and harmless reformulations (`1 / sqrtf(x)` for `rsqrtf(x)`)
//! have room. The error of the argument comes on top, as the function enlarges it. The fast functions
//! (`__expf`, `__logf`, `__powf`) are less exact than that in most of their range: they pass only where
//! their result happens to be as good. In f64 the same numbers of ulp are more than its table gives.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::rounding::enclosure::Enclosure;
use crate::rounding::format::Format;
use crate::syntax::operators::{Function, Reduction};

/// The factor by which results may exceed the documented errors.
const SLACK: f64 = 2.0;

impl Function {
    /// The value of the function; one of a single argument takes `a`.
    pub(crate) fn value(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Exp => a.exp(),
            Self::Log => a.ln(),
            Self::Sqrt => a.sqrt(),
            Self::Rsqrt => 1.0 / a.sqrt(),
            Self::Tanh => a.tanh(),
            Self::Sin => a.sin(),
            Self::Cos => a.cos(),
            Self::Erf => libm::erf(a),
            Self::Sigmoid => sigmoid(a),
            Self::Floor => a.floor(),
            Self::Abs => a.abs(),
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Pow => a.powf(b),
            Self::Cast(dtype) => Format::of(dtype).round(a),
        }
    }

    /// The documented errors of `expf`, `logf`, `sqrtf`, `rsqrtf`, `tanhf`, `sinf`, `cosf`, `erff` and `powf`, in ulp. A sigmoid is
    /// made of an `expf`, a sum and a quotient, each of which is correctly rounded.
    fn ulps(self) -> f64 {
        match self {
            Self::Log => 1.0,
            Self::Exp | Self::Rsqrt | Self::Tanh | Self::Sin | Self::Cos | Self::Erf => 2.0,
            Self::Sigmoid => 3.0,
            Self::Pow => 9.0,
            // Correctly rounded: half an ulp at most.
            Self::Sqrt => 0.5,
            Self::Abs | Self::Floor | Self::Max | Self::Min | Self::Cast(_) => 0.0,
        }
    }

    /// The result of the function in a kernel that computes in `format`.
    pub(crate) fn call(self, a: Enclosure, b: Enclosure, format: &Format) -> Enclosure {
        let value = self.value(a.value, b.value);
        let propagated = match self {
            Self::Max => return extremum(Reduction::Max, a, b),
            Self::Min => return extremum(Reduction::Min, a, b),
            Self::Abs => return Enclosure { value, error: a.error },
            Self::Floor => return floor(a),
            Self::Cast(dtype) => {
                return Enclosure { value, error: cast_error(value, a, &Format::of(dtype)) };
            }
            // Exact arguments are the rule; and an infinite one has no error to enlarge.
            _ if a.error == 0.0 && b.error == 0.0 => 0.0,
            Self::Exp => {
                let moved = value * a.error.exp_m1();
                if moved.is_nan() { f64::INFINITY } else { moved }
            }
            Self::Log => logarithm_error(a),
            Self::Sqrt if a.error < a.value => {
                a.error / (a.value.sqrt() + (a.value - a.error).sqrt())
            }
            Self::Rsqrt if a.error < a.value => value * (0.5 * logarithm_error(a)).exp_m1(),
            Self::Sqrt | Self::Rsqrt => error_outside_domain(a),
            Self::Tanh => {
                let least = (a.value.abs() - a.error).max(0.0).tanh();
                a.error * (1.0 - least * least)
            }
            // No slope is greater than 1, and no two values are farther apart than 2.
            Self::Sin | Self::Cos => a.error.min(2.0),
            Self::Erf => {
                let least = nearest_to_zero(a);
                (a.error * FRAC_2_SQRT_PI * (-least * least).exp()).min(2.0)
            }
            Self::Sigmoid => {
                let least = sigmoid(nearest_to_zero(a));
                (a.error * least * (1.0 - least)).min(1.0)
            }
            Self::Pow => power_error(value, a, b),
        };
        let exact_root = self == Self::Sqrt
            && propagated == 0.0
            && format.holds(value)
            && value.mul_add(value, -a.value) == 0.0;
        let error = if value.is_nan() {
            if propagated.is_finite() { 0.0 } else { f64::INFINITY }
        } else if value.is_infinite() {
            // A pole, or an infinite argument; else an overflow.
            let pole = matches!(self, Self::Log | Self::Rsqrt) || a.value.is_infinite();
            if pole && propagated == 0.0 { 0.0 } else { f64::INFINITY }
        } else if exact_root {
            0.0
        } else {
            let ulp = 2.0 * format.accumulator_roundoff;
            propagated + SLACK * self.ulps() * ulp * value.abs() + format.underflow
        };
        let overflow = value.is_finite() && value.abs() + error > format.max;
        Enclosure { value, error: if overflow { f64::INFINITY } else { error } }
    }
}

/// The logistic function.
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The least absolute value that the argument of a kernel may have.
fn nearest_to_zero(a: Enclosure) -> f64 {
    (a.value.abs() - a.error).max(0.0)
}

/// A value without its fraction: exact, but an error of the argument may lead over a step.
fn floor(a: Enclosure) -> Enclosure {
    let value = a.value.floor();
    let error = if a.error == 0.0 {
        0.0
    } else if a.error.is_finite() && value.is_finite() {
        let (above, below) = ((a.value + a.error).floor(), (a.value - a.error).floor());
        (above - value).max(value - below)
    } else {
        f64::INFINITY
    };
    Enclosure { value, error }
}

/// The greater or the lesser of two values, as `fmaxf` and `fminf` see it.
fn extremum(reduction: Reduction, a: Enclosure, b: Enclosure) -> Enclosure {
    if a.value.is_nan() || b.value.is_nan() {
        // The one that is NaN here may be a number in a kernel, and win there.
        let (nan, other) = if a.value.is_nan() { (a, b) } else { (b, a) };
        let error = if nan.error.is_finite() { other.error } else { f64::INFINITY };
        return Enclosure { value: other.value, error };
    }
    let (winner, other) = if reduction.beats(b.value, a.value) { (b, a) } else { (a, b) };
    Enclosure { value: winner.value, error: winner.error.max(other.overreach(winner.value)) }
}

/// The error of a cast to the format `to`: both the kernel's value and this one are rounded.
fn cast_error(value: f64, a: Enclosure, to: &Format) -> f64 {
    if a.error == 0.0 {
        return 0.0;
    }
    let most = a.value.abs() + a.error;
    let unit = 2_f64.powi(-to.precision);
    let error = a.error + 2.0 * (most * unit + 2_f64.powi(to.min_exponent - 1));
    if value.is_finite() && most + error <= to.max { error } else { f64::INFINITY }
}

/// The error of a value's logarithm: how far the error of the value can move it.
fn logarithm_error(a: Enclosure) -> f64 {
    let size = a.value.abs();
    if a.error == 0.0 {
        0.0
    } else if a.error < size {
        -(-a.error / size).ln_1p()
    } else {
        f64::INFINITY
    }
}

/// The error of a root whose argument is not known to be positive: if it is known to be negative, the result is NaN.
fn error_outside_domain(a: Enclosure) -> f64 {
    if a.value + a.error < 0.0 { 0.0 } else { f64::INFINITY }
}

/// The error of `value`, the power of `a` with the exponent `b`, that their errors cause.
fn power_error(value: f64, a: Enclosure, b: Enclosure) -> f64 {
    let whole = b.error == 0.0 && b.value.fract() == 0.0;
    let positive = a.value - a.error > 0.0;
    if a.error < a.value.abs() && (positive || whole) {
        let logarithm = logarithm_error(a);
        let exponent = b.value.abs() * logarithm + (a.value.abs().ln().abs() + logarithm) * b.error;
        value.abs() * exponent.exp_m1()
    } else if b.error == 0.0 && b.value >= 1.0 && (whole || a.value >= a.error) {
        b.value * (a.value.abs() + a.error).powf(b.value - 1.0) * a.error
    } else {
        f64::INFINITY
    }
}
