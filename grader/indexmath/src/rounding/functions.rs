//! Functions: their values, and how far a correct kernel's values may be from them.
//!
//! The CUDA C++ Programming Guide (appendix "Mathematical Functions", table "Maximum ULP error" of single precision) gives the
//! error of each function in units in the last place (ulp), against the correctly rounded result; [`ulps`] repeats
//! it. Twice that is allowed, so that the rounding of the result and harmless reformulations (`1 / sqrtf(x)` for `rsqrtf(x)`)
//! have room. The error of the argument comes on top, as the function enlarges it. The fast logarithm and power
//! (`__logf`, `__powf`) are less exact than that in most of their range: they pass only where their result happens to be as
//! good. In f64 the same numbers of ulp are more than its table gives.
//!
//! An exponential may change its base: `exp2f(x * 1.44269504f)` is how it is usually written where speed counts, and what
//! `__expf` does. That rounds the product, which moves the result by `|x|` times the rounding: to first order, the condition of
//! exp times a backward error of the argument (Higham 2002, section 1.6). See [`BASE_CHANGE`].

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::rounding::enclosure::Enclosure;
use crate::rounding::format::Format;
use crate::syntax::operators::{Function, Reduction};

/// The factor by which results may exceed the documented errors.
const SLACK: f64 = 2.0;

/// How far `x * log2(e)`, and so the argument of an exponential, may be off in relative terms, in unit roundoffs: the
/// product is rounded once, and the constant is off by 0.23 in f32 and 0.13 in f64.
const BASE_CHANGE: f64 = 1.25;

/// The value of a function; one of a single argument takes `a`.
pub(crate) fn value(function: Function, a: f64, b: f64) -> f64 {
    match function {
        Function::Exp => a.exp(),
        Function::Log => a.ln(),
        Function::Sqrt => a.sqrt(),
        Function::Rsqrt => 1.0 / a.sqrt(),
        Function::Tanh => a.tanh(),
        Function::Sin => a.sin(),
        Function::Cos => a.cos(),
        Function::Erf => libm::erf(a),
        Function::Sigmoid => sigmoid(a),
        Function::Floor => a.floor(),
        Function::Abs => a.abs(),
        Function::Max => a.max(b),
        Function::Min => a.min(b),
        Function::Pow => a.powf(b),
        Function::Cast(dtype) => Format::of(dtype).round(a),
    }
}

/// The documented errors of `expf`, `logf`, `rsqrtf`, `tanhf`, `sinf`, `cosf`, `erff` and `powf`, in ulp. A sigmoid is
/// made of an `expf`, a sum and a quotient, each of which is correctly rounded. So is `sqrtf`; but `x * rsqrtf(x)` is a
/// root, too, off by the 2 ulp of `rsqrtf` and half of one for the product.
fn ulps(function: Function) -> f64 {
    match function {
        Function::Log => 1.0,
        Function::Exp
        | Function::Rsqrt
        | Function::Tanh
        | Function::Sin
        | Function::Cos
        | Function::Erf => 2.0,
        Function::Sigmoid => 3.0,
        Function::Pow => 9.0,
        Function::Sqrt => 2.5 / SLACK,
        Function::Abs | Function::Floor | Function::Max | Function::Min | Function::Cast(_) => 0.0,
    }
}

/// Whether every implementation gives the correctly rounded result, whatever its documented error: the exponential and the cosine of 0,
/// and the powers that are 1 (ISO C, annex F.10). What is left is the room for reformulations, such as a softmax by logarithms.
fn is_exact(function: Function, a: Enclosure, b: Enclosure) -> bool {
    let is = |x: Enclosure, value: f64| x.error == 0.0 && x.value == value;
    match function {
        Function::Exp | Function::Cos => is(a, 0.0),
        Function::Pow => is(a, 1.0) || is(b, 0.0),
        _ => false,
    }
}

/// The result of a function in a kernel that computes in `format`.
pub(crate) fn call(function: Function, a: Enclosure, b: Enclosure, format: &Format) -> Enclosure {
    let value = value(function, a.value, b.value);
    let propagated = match function {
        Function::Max => return extremum(Reduction::Max, a, b),
        Function::Min => return extremum(Reduction::Min, a, b),
        Function::Abs => return Enclosure { value, error: a.error },
        Function::Floor => return floor(a),
        Function::Cast(dtype) => {
            return Enclosure { value, error: cast_error(value, a, &Format::of(dtype)) };
        }
        Function::Exp if a.value.is_finite() => exponential_error(value, exponent(a, format)),
        Function::Sigmoid if a.value.is_finite() => {
            let exponent = exponent(a, format);
            // Its steepest slope there: s (1 - s), without the difference that is 0 far from zero.
            let falling = (-nearest_to_zero(exponent)).exp();
            (exponent.error * falling / (1.0 + falling).powi(2)).min(1.0)
        }
        // Exact arguments are the rule; and an infinite one has no error to enlarge.
        _ if a.error == 0.0 && b.error == 0.0 => 0.0,
        Function::Exp | Function::Sigmoid => f64::INFINITY,
        Function::Log => logarithm_error(a),
        Function::Sqrt if a.error < a.value => {
            a.error / (a.value.sqrt() + (a.value - a.error).sqrt())
        }
        Function::Rsqrt if a.error < a.value => value * (0.5 * logarithm_error(a)).exp_m1(),
        Function::Sqrt | Function::Rsqrt => error_outside_domain(a),
        Function::Tanh => {
            let least = (a.value.abs() - a.error).max(0.0).tanh();
            a.error * (1.0 - least * least)
        }
        // No slope is greater than 1, and no two values are farther apart than 2.
        Function::Sin | Function::Cos => a.error.min(2.0),
        Function::Erf => {
            let least = nearest_to_zero(a);
            (a.error * FRAC_2_SQRT_PI * (-least * least).exp()).min(2.0)
        }
        Function::Pow => power_error(value, a, b),
    };
    let exact_root = function == Function::Sqrt
        && propagated == 0.0
        && format.holds(value)
        && value.mul_add(value, -a.value) == 0.0;
    let error = if value.is_nan() {
        if propagated.is_finite() { 0.0 } else { f64::INFINITY }
    } else if value.is_infinite() {
        // A pole, or an infinite argument; else an overflow.
        let pole = matches!(function, Function::Log | Function::Rsqrt) || a.value.is_infinite();
        if pole && propagated == 0.0 { 0.0 } else { f64::INFINITY }
    } else if exact_root {
        0.0
    } else {
        let ulp = 2.0 * format.accumulator_roundoff;
        let ulps = if is_exact(function, a, b) { 1.0 } else { ulps(function) };
        propagated + SLACK * ulps * ulp * value.abs() + format.underflow
    };
    let overflow = value.is_finite() && value.abs() + error > format.max;
    Enclosure { value, error: if overflow { f64::INFINITY } else { error } }
}

/// The logistic function.
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The argument of an exponential in a kernel that may change the base.
fn exponent(a: Enclosure, format: &Format) -> Enclosure {
    let rounding = BASE_CHANGE * format.accumulator_roundoff * (a.value.abs() + a.error);
    Enclosure { error: a.error + rounding, ..a }
}

/// The error of `value`, the exponential of `a`, that the argument's error causes.
fn exponential_error(value: f64, a: Enclosure) -> f64 {
    // Of a large error the relative one may be infinite where the value is 0.
    let moved =
        if a.error < 1.0 { value * a.error.exp_m1() } else { (a.value + a.error).exp() - value };
    if moved.is_nan() { f64::INFINITY } else { moved }
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
