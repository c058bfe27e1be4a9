//! Functions: their values, and how far a right kernel's values may be off.
//!
//! The CUDA C++ Programming Guide (Mathematical Functions, single precision, "maximum ulp error") gives the
//! error of each function against the correctly rounded result; [`Func::ulps`] repeats it. Twice that is
//! allowed, so that the rounding of the result and harmless reformulations (`1 / sqrtf(x)` for `rsqrtf(x)`)
//! have room. The error of the argument comes on top, as the function enlarges it. The fast functions
//! (`__expf`, `__logf`, `__powf`) are less exact than that in most of their range: they pass only where
//! their result happens to be as good. In f64 the same numbers of ulp are more than its table gives.

use crate::format::Format;
use crate::ops::{Func, Reduction};

/// Over the documented errors.
const SLACK: f64 = 2.0;

/// A value, and how far a right kernel's may be from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub value: f64,
    pub error: f64,
}

impl Func {
    /// Of one value: `a`.
    pub(crate) fn value(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Exp => a.exp(),
            Self::Log => a.ln(),
            Self::Sqrt => a.sqrt(),
            Self::Rsqrt => 1.0 / a.sqrt(),
            Self::Tanh => a.tanh(),
            Self::Abs => a.abs(),
            Self::Max => a.max(b),
            Self::Min => a.min(b),
            Self::Pow => a.powf(b),
            Self::Cast(dtype) => Format::of(dtype).round(a),
        }
    }

    /// Documented errors of `expf`, `logf`, `sqrtf`, `rsqrtf`, `tanhf` and `powf`.
    fn ulps(self) -> f64 {
        match self {
            Self::Log => 1.0,
            Self::Exp | Self::Rsqrt | Self::Tanh => 2.0,
            Self::Pow => 9.0,
            // Correctly rounded: half an ulp at most.
            Self::Sqrt => 0.5,
            Self::Abs | Self::Max | Self::Min | Self::Cast(_) => 0.0,
        }
    }

    /// The function in a kernel that computes in `format`.
    pub(crate) fn call(self, a: Settled, b: Settled, format: &Format) -> Settled {
        let value = self.value(a.value, b.value);
        let passed_on = match self {
            Self::Max => return better(Reduction::Max, a, b),
            Self::Min => return better(Reduction::Min, a, b),
            Self::Abs => return Settled { value, error: a.error },
            Self::Cast(dtype) => {
                return Settled { value, error: cast_error(value, a, &Format::of(dtype)) };
            }
            // Exact arguments are the rule; and an infinite one has no error to enlarge.
            _ if a.error == 0.0 && b.error == 0.0 => 0.0,
            Self::Exp => {
                let moved = value * a.error.exp_m1();
                if moved.is_nan() { f64::INFINITY } else { moved }
            }
            Self::Log => logarithm_moves(a),
            Self::Sqrt if a.error < a.value => {
                a.error / (a.value.sqrt() + (a.value - a.error).sqrt())
            }
            Self::Rsqrt if a.error < a.value => value * (0.5 * logarithm_moves(a)).exp_m1(),
            Self::Sqrt | Self::Rsqrt => out_of_domain(a),
            Self::Tanh => {
                let least = (a.value.abs() - a.error).max(0.0).tanh();
                a.error * (1.0 - least * least)
            }
            Self::Pow => power_moves(value, a, b),
        };
        let exact_root = self == Self::Sqrt
            && passed_on == 0.0
            && format.holds(value)
            && value.mul_add(value, -a.value) == 0.0;
        let error = if value.is_nan() {
            if passed_on.is_finite() { 0.0 } else { f64::INFINITY }
        } else if value.is_infinite() {
            // A pole, or an infinite argument; else an overflow.
            let pole = matches!(self, Self::Log | Self::Rsqrt) || a.value.is_infinite();
            if pole && passed_on == 0.0 { 0.0 } else { f64::INFINITY }
        } else if exact_root {
            0.0
        } else {
            let ulp = 2.0 * format.accumulator;
            passed_on + SLACK * self.ulps() * ulp * value.abs() + format.tiny
        };
        let overflow = value.is_finite() && value.abs() + error > format.max;
        Settled { value, error: if overflow { f64::INFINITY } else { error } }
    }
}

/// What the greater, or the lesser, of two values is, as `fmaxf` and `fminf` see it.
fn better(reduction: Reduction, a: Settled, b: Settled) -> Settled {
    if a.value.is_nan() || b.value.is_nan() {
        // The one that is NaN here may be a number in a kernel, and win there.
        let (nan, other) = if a.value.is_nan() { (a, b) } else { (b, a) };
        let error = if nan.error.is_finite() { other.error } else { f64::INFINITY };
        return Settled { value: other.value, error };
    }
    let (winner, other) = if reduction.beats(b.value, a.value) { (b, a) } else { (a, b) };
    Settled { value: winner.value, error: winner.error.max(reach(winner.value, other)) }
}

/// How far beyond the winner another candidate's error reaches.
pub(crate) fn reach(winner: f64, other: Settled) -> f64 {
    if winner == other.value || winner.is_nan() {
        return other.error;
    }
    other.error - (winner - other.value).abs()
}

/// Both the kernel's value and this one are rounded.
fn cast_error(value: f64, a: Settled, to: &Format) -> f64 {
    if a.error == 0.0 {
        return 0.0;
    }
    let most = a.value.abs() + a.error;
    let unit = 2_f64.powi(-to.significand);
    let error = a.error + 2.0 * (most * unit + 2_f64.powi(to.lowest - 1));
    if value.is_finite() && most + error <= to.max { error } else { f64::INFINITY }
}

/// How far the logarithm of a value can be moved by its error.
fn logarithm_moves(a: Settled) -> f64 {
    let size = a.value.abs();
    if a.error == 0.0 {
        0.0
    } else if a.error < size {
        -(-a.error / size).ln_1p()
    } else {
        f64::INFINITY
    }
}

/// The argument of a root is not known to be positive: if it is known to be negative, the result is NaN.
fn out_of_domain(a: Settled) -> f64 {
    if a.value + a.error < 0.0 { 0.0 } else { f64::INFINITY }
}

fn power_moves(value: f64, a: Settled, b: Settled) -> f64 {
    let whole = b.error == 0.0 && b.value.fract() == 0.0;
    let positive = a.value - a.error > 0.0;
    if a.error < a.value.abs() && (positive || whole) {
        let moves = logarithm_moves(a);
        let exponent = b.value.abs() * moves + (a.value.abs().ln().abs() + moves) * b.error;
        value.abs() * exponent.exp_m1()
    } else if b.error == 0.0 && b.value >= 1.0 && (whole || a.value >= a.error) {
        b.value * (a.value.abs() + a.error).powf(b.value - 1.0) * a.error
    } else {
        f64::INFINITY
    }
}
