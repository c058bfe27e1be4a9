//! Which wrong formula gives exactly what the kernel computed? Found with the data of the failing test, and believed once the
//! kernel has run with other data, and where the spec has such tests at other sizes, and gave the same wrong formula's values again.

use crate::other_cases::OtherCases;
use crate::verdict::{Cause, FormulaVariant, TestVerdict};
use device::backend::{Backend, Run};
use indexmath::{
    Approx, Fit, Observation, SizedFormula, Values, Variant, compare_variants, search_variants,
};
use puzzle::case::{Case, CaseLaunch, CaseTensor, last_launch_with};
use std::borrow::Cow;

/// After so many cases a single variant is believed. Several that fit all of them go through the others: sizes that were equal by
/// chance differ there.
const ENOUGH: usize = 16;
/// Adds to a failing verdict the variant of the formula that the kernel computes, if there is one and further runs confirm it.
pub(crate) fn explain(
    backend: &dyn Backend,
    others: &OtherCases<'_>,
    case: &Case,
    run: &Run,
    mut verdict: TestVerdict,
) -> TestVerdict {
    // What comes of a run with mistakes is no formula.
    if !verdict.findings.is_empty() {
        return verdict;
    }
    let Some(at) = first_cause(case, &verdict) else { return verdict };
    // A formula that gives what was there before says less.
    if verdict.diffs[at].cause == Some(Cause::Unchanged) {
        return verdict;
    }
    let name = verdict.diffs[at].tensor.name.clone();
    let Some(seen) = Seen::of(case, run, &name) else { return verdict };
    // The form that a person would write explains best.
    for closed in [true, false] {
        let Some(formula) = formula(case, &name, closed) else { continue };
        let fitting = search_variants(&seen.observation(formula));
        let variant = confirmed(backend, others, case, &name, closed, fitting);
        if variant.is_some() {
            verdict.diffs[at].variant = variant;
            break;
        }
    }
    verdict
}

/// The formula of a tensor, as the spec states it in closed form or as it is derived.
pub(crate) fn formula<'a>(case: &'a Case, name: &str, closed: bool) -> Option<&'a SizedFormula> {
    if !closed {
        return Some(&case.formula);
    }
    let (formula, states) = case.closed.as_ref()?;
    states.iter().any(|stated| stated == name).then_some(formula)
}

/// The simplest of the variants that fit in further runs too.
fn confirmed(
    backend: &dyn Backend,
    others: &OtherCases<'_>,
    case: &Case,
    name: &str,
    closed: bool,
    mut fitting: Vec<Variant>,
) -> Option<FormulaVariant> {
    let (mut confirmed, mut other_sizes) = (0, false);
    if fitting.is_empty() {
        return None;
    }
    for (at, other) in others.like(case, name).enumerate() {
        if at >= ENOUGH && fitting.len() < 2 && confirmed > 0 {
            break;
        }
        let Ok(run) = backend.run(&other) else { continue };
        if !run.findings.is_empty() {
            continue;
        }
        let Some(seen) = Seen::of(&other, &run, name) else { continue };
        let Some(formula) = formula(&other, name, closed) else { continue };
        let seen = seen.observation(formula);
        let fits = compare_variants(&fitting, &seen);
        let explains = fits.contains(&Fit::Explains);
        confirmed += usize::from(explains);
        other_sizes |= explains && other.dims != case.dims;
        let mut fits = fits.into_iter();
        fitting.retain(|_| fits.next() != Some(Fit::Contradicts));
        if fitting.is_empty() {
            return None;
        }
    }
    let simplest = fitting.into_iter().next().filter(|_| confirmed > 0)?;
    Some(FormulaVariant { says: simplest.says, confirmed, other_sizes })
}

/// The first output that is wrong and was not computed from a wrong one.
pub(crate) fn first_cause(case: &Case, verdict: &TestVerdict) -> Option<usize> {
    let from_wrong = |name: &str| {
        let sources = case.chained.get(name);
        sources.is_some_and(|all| verdict.diffs.iter().any(|diff| all.contains(&diff.tensor.name)))
    };
    verdict.diffs.iter().position(|diff| !from_wrong(&diff.tensor.name))
}

/// A run's result for one tensor.
struct Seen<'a> {
    name: &'a str,
    known: Cow<'a, Values>,
    got: &'a [f64],
    expected: &'a [Approx],
    constants: Vec<(String, i64)>,
}

impl<'a> Seen<'a> {
    /// `None` if the run left elements out.
    fn of(case: &'a Case, run: &'a Run, name: &'a str) -> Option<Self> {
        let is_it = |t: &CaseTensor| t.wanted().is_some_and(|(tensor, _)| tensor.name == name);
        let index = case.tensors.iter().position(is_it)?;
        let got = run.tensors.get(index)?;
        let (_, expected) = case.tensors[index].wanted()?;
        if got.values.len() != expected.len() || got.written.contains(&false) {
            return None;
        }
        let constants = last_launch_with(&case.launches, index).map(constants).unwrap_or_default();
        Some(Self { name, known: case.known_for(name), got: &got.values, expected, constants })
    }

    fn observation<'s>(&'s self, formula: &'s SizedFormula) -> Observation<'s> {
        Observation {
            formula,
            known: &self.known,
            tensor: self.name,
            got: self.got,
            expected: self.expected,
            constants: &self.constants,
        }
    }
}

/// The numbers of a launch that a kernel can confuse with sizes. A launch of one thread has none, and host code is called as one.
fn constants(launch: &CaseLaunch) -> Vec<(String, i64)> {
    if [launch.block, launch.grid] == [[1; 3]; 2] {
        return Vec::new();
    }
    let axes = |name: &str, sizes: [u32; 3]| {
        let named = ["x", "y", "z"].into_iter().zip(sizes);
        let named = named.filter(|(axis, size)| *axis == "x" || *size > 1);
        named.map(|(axis, size)| (format!("{name}.{axis}"), i64::from(size))).collect::<Vec<_>>()
    };
    [axes("blockDim", launch.block), axes("gridDim", launch.grid)].concat()
}
