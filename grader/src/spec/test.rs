//! `[[test]]`: sizes, data and how the outputs are checked.

use super::data::{Data, Expect, read_data, read_expect};
use super::fault::{Checked, Fault};
use super::launch::Launch;
use super::raw::{RawCheck, RawTest, RawTolerance};
use super::sizes::Sizes;
use super::tensors::{Tensors, grad_of};
use crate::case::CaseLaunch;
use crate::tensor::Tensor;
use indexmath::{Concrete, Dims};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// Elements of all tensors of a test together. Bounds the memory that a spec can ask for.
const MAX_ELEMENTS: u64 = 1 << 23;

/// Multiplications and additions of a test: about a second.
const MAX_STEPS: u64 = 1 << 30;

/// Multiplications and additions of a numerical gradient.
const MAX_NUMERICAL_STEPS: u64 = 1 << 28;

/// A test of a spec: everything but the random data.
#[derive(Clone, Debug)]
pub struct Test {
    /// Unique in its spec.
    pub name: String,
    /// One sentence for the student.
    pub about: Option<String>,
    /// All sizes, free and derived.
    pub dims: Dims,
    /// The formula at these sizes.
    pub formula: Concrete,
    /// What the launches take, each tensor once, in order of appearance.
    pub tensors: Vec<Tensor>,
    /// With everything evaluated; tensors are positions in `tensors`.
    pub launches: Vec<CaseLaunch>,
    /// For each input of the formula.
    pub data: BTreeMap<String, Data>,
    /// Every input of the formula with its type and shape.
    pub inputs: Vec<Tensor>,
    /// Values computed by hand.
    pub expect: Vec<Expect>,
    /// How right values are found.
    pub check: Check,
    /// Replaces the derived bound.
    pub tolerance: Option<Tolerance>,
    pub(crate) place: Range<usize>,
}

/// How right values are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// By the formula.
    Formula,
    /// `grad(X)` by central differences of the forward formula.
    NumericalGradient {
        /// Step to both sides.
        epsilon: f64,
        /// How far the derived gradient may be from the numerical one, relative.
        rtol: f64,
    },
}

/// An explicit tolerance: `|got - right| <= atol + rtol * |right|`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
    /// Why the derived bound does not do.
    pub reason: String,
}

impl Test {
    pub(crate) fn read(
        text: &str,
        raw: &RawTest,
        sizes: &Sizes,
        tensors: &Tensors,
        launches: &[Launch],
    ) -> Checked<Self> {
        let name = raw.name.get_ref();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Fault::at(raw.name.span(), "this is not the name of a test")
                .help("a name has no spaces, so that it can be typed after --test"));
        }
        let dims_place = raw.dims.span();
        let dims = sizes
            .derive(text, free_dims(&raw.dims, sizes)?)
            .map_err(|fault| fault.also(dims_place.clone(), "at these sizes"))?;
        tensors.check_shapes(text, &dims, &dims_place, MAX_ELEMENTS)?;
        let formula = tensors.formula.at(&dims).map_err(|e| {
            Fault::math(text, &tensors.place, e).also(dims_place.clone(), "at these sizes")
        })?;
        let mut shapes = BTreeMap::new();
        for name in tensors.names() {
            shapes.insert(name.to_owned(), tensors.at(text, name, &dims)?);
        }
        let mut taken: Vec<Tensor> = Vec::new();
        for name in launches.iter().flat_map(Launch::tensors) {
            if !taken.iter().any(|t| t.name == name)
                && let Some(tensor) = shapes.get(name)
            {
                taken.push(tensor.clone());
            }
        }
        let position = |name: &str| taken.iter().position(|t| t.name == name);
        let mut called = Vec::new();
        for launch in launches {
            called.push(launch.at(text, &dims, position, &dims_place)?);
        }
        let outputs: Vec<&str> =
            taken.iter().map(|t| t.name.as_str()).filter(|n| tensors.is_computed(n)).collect();
        let check = match &raw.check {
            None => Check::Formula,
            Some(check) => read_check(check, &outputs, tensors)?,
        };
        check_work(&formula, &outputs, &dims_place)?;
        if let Check::NumericalGradient { .. } = check {
            check_numerical_work(&formula, tensors, &taken, &dims_place)?;
        }
        Ok(Self {
            name: name.clone(),
            about: raw.about.clone(),
            data: read_data(raw.data.as_ref(), tensors, &shapes)?,
            expect: read_expect(&raw.expect, &outputs, &shapes)?,
            inputs: tensors.inputs.iter().filter_map(|i| shapes.get(i).cloned()).collect(),
            check,
            tolerance: raw.tolerance.as_ref().map(read_tolerance).transpose()?,
            dims,
            formula,
            tensors: taken,
            launches: called,
            place: raw.name.span(),
        })
    }
}

/// Bounds the time and the memory that a spec can ask for.
fn check_work(formula: &Concrete, outputs: &[&str], dims_place: &Range<usize>) -> Checked<()> {
    let work = formula.work(outputs);
    for (amount, limit, what) in [
        (work.steps, MAX_STEPS, "multiplications and additions"),
        (work.elements, 2 * MAX_ELEMENTS, "intermediate values"),
    ] {
        if amount > limit {
            let title = format!("the formula takes {amount} {what} in this test");
            return Err(Fault::at(dims_place.clone(), title)
                .label("these sizes")
                .help(format!("{limit} at most; smaller sizes find the same mistakes")));
        }
    }
    Ok(())
}

/// Each element of X costs two evaluations of the forward formula.
fn check_numerical_work(
    formula: &Concrete,
    tensors: &Tensors,
    taken: &[Tensor],
    dims_place: &Range<usize>,
) -> Checked<()> {
    let forward: Vec<&str> = tensors.outputs.iter().map(String::as_str).collect();
    let once = formula.work(&forward).steps;
    let moved = taken.iter().filter(|t| tensors.is_computed(&t.name) && grad_of(&t.name).is_some());
    let steps = moved.fold(0_u64, |steps, tensor| {
        steps.saturating_add(once.saturating_mul(2 * tensor.len() as u64))
    });
    if steps > MAX_NUMERICAL_STEPS {
        let title = format!("the numerical gradient takes {steps} multiplications and additions");
        return Err(Fault::at(dims_place.clone(), title)
            .label("these sizes")
            .help(format!("{MAX_NUMERICAL_STEPS} at most: give this test smaller sizes")));
    }
    Ok(())
}

/// The values of the free sizes: all of them, no others.
fn free_dims(
    raw: &Spanned<BTreeMap<Spanned<String>, Spanned<i64>>>,
    sizes: &Sizes,
) -> Checked<Dims> {
    let free = || sizes.free.iter().map(String::as_str);
    let mut dims = Dims::new();
    for (key, value) in raw.get_ref() {
        let name = key.get_ref();
        if sizes.derived.iter().any(|(derived, _)| derived == name) {
            return Err(Fault::at(key.span(), format!("`{name}` is derived from other sizes"))
                .help("leave it out"));
        }
        if !sizes.free.contains(name) {
            return Err(Fault::at(key.span(), format!("unknown size `{}`", name.escape_debug()))
                .suggest(name, free(), "free size"));
        }
        let size = *value.get_ref();
        if !(1..=i64::from(i32::MAX)).contains(&size) {
            return Err(Fault::at(value.span(), format!("`{name}` cannot be {size}"))
                .help("a size is at least 1 and fits into an int"));
        }
        dims.insert(name.clone(), size);
    }
    let missing: Vec<String> =
        free().filter(|f| !dims.contains_key(*f)).map(|f| format!("`{f}`")).collect();
    if !missing.is_empty() {
        let title = format!("this test gives no value to {}", missing.join(", "));
        return Err(Fault::at(raw.span(), title).help("every free size of [dims] needs one"));
    }
    Ok(dims)
}

fn read_check(raw: &Spanned<RawCheck>, outputs: &[&str], tensors: &Tensors) -> Checked<Check> {
    let RawCheck { kind, epsilon, rtol } = raw.get_ref();
    let numbers = "write check = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }";
    match kind.get_ref().as_str() {
        "formula" => match epsilon.as_ref().or(rtol.as_ref()) {
            None => Ok(Check::Formula),
            Some(extra) => Err(Fault::at(extra.span(), "the formula needs no numbers")
                .help("only kind = \"numerical-gradient\" has them")),
        },
        "numerical-gradient" => {
            let number = |value: &Option<Spanned<f64>>, name: &str, max: f64| match value {
                None => Err(Fault::at(raw.span(), format!("`{name}` is missing")).help(numbers)),
                Some(v) if *v.get_ref() > 0.0 && *v.get_ref() <= max => Ok(*v.get_ref()),
                Some(v) => {
                    let title = format!("`{name}` cannot be {}", v.get_ref());
                    Err(Fault::at(v.span(), title)
                        .help(format!("it lies above 0 and is at most {max}")))
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
                let title = format!("`{between}` is computed, so it cannot be moved a little");
                return Err(Fault::at(kind.span(), title)
                    .help("check the gradients of inputs numerically, others by the formula"));
            }
            Ok(check)
        }
        other => Err(Fault::at(kind.span(), format!("unknown check `{}`", other.escape_debug()))
            .suggest(other, ["formula", "numerical-gradient"], "check")),
    }
}

fn read_tolerance(raw: &Spanned<RawTolerance>) -> Checked<Tolerance> {
    let RawTolerance { rtol, atol, reason } = raw.get_ref();
    for (value, name) in [(rtol, "rtol"), (atol, "atol")] {
        if !(value.get_ref().is_finite() && *value.get_ref() >= 0.0) {
            return Err(Fault::at(value.span(), format!("`{name}` cannot be {}", value.get_ref()))
                .help("a tolerance is a number, 0 or more"));
        }
    }
    if reason.get_ref().trim().is_empty() {
        return Err(Fault::at(reason.span(), "the reason is empty")
            .help("say why the bound that the grader derives does not do"));
    }
    Ok(Tolerance { rtol: *rtol.get_ref(), atol: *atol.get_ref(), reason: reason.get_ref().clone() })
}
