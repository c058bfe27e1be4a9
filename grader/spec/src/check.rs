//! `check` and `tolerance` of a test: where the expected values come from, and how far from them a kernel may be.

use super::fault::{Checked, Fault};
use super::tensors::{Tensors, grad_of};
use specfile::{RawCheck, RawTolerance};
use toml::Spanned;

/// Where the expected values come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// The formula computes them.
    Formula,
    /// Central differences of the forward formula compute `grad(X)`.
    NumericalGradient {
        /// The step to both sides.
        epsilon: f64,
        /// How far the derived gradient may be from the numerical one, relative to its size.
        rtol: f64,
    },
}

/// An explicit tolerance: `|got - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The relative tolerance.
    pub rtol: f64,
    /// The absolute tolerance.
    pub atol: f64,
    /// Why the derived bound is not enough.
    pub reason: String,
}

pub(crate) fn read_check(
    raw: &Spanned<RawCheck>,
    outputs: &[String],
    tensors: &Tensors,
) -> Checked<Check> {
    let RawCheck { kind, epsilon, rtol } = raw.get_ref();
    let numbers = "write check = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }";
    match kind.get_ref().as_str() {
        "formula" => match epsilon.as_ref().or(rtol.as_ref()) {
            None => Ok(Check::Formula),
            Some(extra) => Err(Fault::at(extra.span(), "this kind of check takes no numbers")
                .help("only kind = \"numerical-gradient\" takes them")),
        },
        "numerical-gradient" => {
            let number = |value: &Option<Spanned<f64>>, name: &str, max: f64| match value {
                None => Err(Fault::at(raw.span(), format!("`{name}` is missing")).help(numbers)),
                Some(v) if *v.get_ref() > 0.0 && *v.get_ref() <= max => Ok(*v.get_ref()),
                Some(v) => {
                    let title = format!("`{name}` cannot be {}", v.get_ref());
                    Err(Fault::at(v.span(), title)
                        .help(format!("it must be above 0 and at most {max}")))
                }
            };
            let check = Check::NumericalGradient {
                epsilon: number(epsilon, "epsilon", 1e6)?,
                rtol: number(rtol, "rtol", 0.1)?,
            };
            let mut of = outputs.iter().filter_map(|output| grad_of(output)).peekable();
            if of.peek().is_none() {
                return Err(Fault::at(kind.span(), "no kernel of this spec computes a gradient")
                    .help("check a `grad(..)`, or leave the check out"));
            }
            if let Some(between) = of.find(|of| !tensors.inputs.iter().any(|i| i == of)) {
                let title = format!("`{between}` is computed, so it cannot be perturbed");
                return Err(Fault::at(kind.span(), title)
                    .help("check the gradients of inputs numerically, others by the formula"));
            }
            Ok(check)
        }
        other => Err(Fault::at(kind.span(), format!("unknown check `{}`", other.escape_debug()))
            .suggest(other, ["formula", "numerical-gradient"], "check")),
    }
}

pub(crate) fn read_tolerance(raw: &Spanned<RawTolerance>) -> Checked<Tolerance> {
    let RawTolerance { rtol, atol, reason } = raw.get_ref();
    for (value, name) in [(rtol, "rtol"), (atol, "atol")] {
        if !(value.get_ref().is_finite() && *value.get_ref() >= 0.0) {
            return Err(Fault::at(value.span(), format!("`{name}` cannot be {}", value.get_ref()))
                .help("a tolerance must be a number, 0 or more"));
        }
    }
    if *rtol.get_ref() >= 1.0 {
        return Err(Fault::at(rtol.span(), format!("`rtol` cannot be {}", rtol.get_ref()))
            .help("from 1 on, an output of zeros would pass"));
    }
    if reason.get_ref().trim().is_empty() {
        return Err(Fault::at(reason.span(), "the reason is empty")
            .help("say why the bound that the grader derives is not enough"));
    }
    Ok(Tolerance { rtol: *rtol.get_ref(), atol: *atol.get_ref(), reason: reason.get_ref().clone() })
}
