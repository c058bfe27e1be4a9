//! Which wrong formula gives exactly what the kernel computed? Found with the data of the failing test, and believed once the
//! kernel has run with other data, and where the spec has such tests at other sizes, and gave the same wrong formula's values again.

use crate::verdict::{FormulaVariant, TestVerdict};
use device::backend::{Backend, Run};
use indexmath::{Approx, Fit, Observation, SizedFormula, Values, Variant, search_variants};
use puzzle::case::{Case, CaseLaunch, CaseTensor, last_launch_with};
use puzzle::draw::{self, Flavour, Plan};
use puzzle::oracle;
use puzzle::spec::{Check, Data, DataKind, Spec, Test};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Tests that a variant must agree with, besides the one that failed.
const MORE_TESTS: usize = 6;
/// Drawn cases that it may have to agree with.
const DRAWN_CASES: usize = 18;
/// After so many cases a single variant is believed. Several that fit all of them go through the others: sizes that were equal by
/// chance differ there.
const ENOUGH: usize = 16;
/// The data of these: those that a formula never leaves open.
const PLAIN: [Flavour; 2] = [Flavour::Integers, Flavour::Normal];
/// Elements of all tensors of a test that runs again for this.
const MAX_ELEMENTS: usize = 1 << 20;

/// Adds to a failing verdict the variant of the formula that the kernel computes, if there is one and further runs confirm it.
pub fn explain(
    backend: &dyn Backend,
    spec: &Spec,
    case: &Case,
    run: &Run,
    mut verdict: TestVerdict,
) -> TestVerdict {
    // What comes of a run with mistakes is no formula.
    if !verdict.findings.is_empty() {
        return verdict;
    }
    let Some(at) = first_cause(case, &verdict) else { return verdict };
    let name = verdict.diffs[at].tensor.name.clone();
    let Some(seen) = Seen::of(case, run, &name) else { return verdict };
    // The form that a person would write explains best.
    for closed in [true, false] {
        let Some(formula) = formula(case, &name, closed) else { continue };
        let fitting = search_variants(&seen.observation(formula));
        let variant = confirmed(backend, spec, case, &name, closed, fitting);
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
    spec: &Spec,
    case: &Case,
    name: &str,
    closed: bool,
    mut fitting: Vec<Variant>,
) -> Option<FormulaVariant> {
    let (mut confirmed, mut other_sizes) = (0, false);
    if fitting.is_empty() {
        return None;
    }
    for (at, other) in others(spec, case, name).enumerate() {
        if at >= ENOUGH && fitting.len() < 2 {
            break;
        }
        let Ok(run) = backend.run(&other) else { continue };
        if !run.findings.is_empty() {
            continue;
        }
        let Some(seen) = Seen::of(&other, &run, name) else { continue };
        let Some(formula) = formula(&other, name, closed) else { continue };
        let seen = seen.observation(formula);
        let fits: Vec<Fit> = fitting.iter().map(|variant| variant.fit(&seen)).collect();
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

/// The other cases that a variant is tried on: the same test with other data, with wilder data, a few that are drawn, so that sizes
/// differ that are equal here, and a few of the other tests. None has the data of the case itself.
pub(crate) fn others(spec: &Spec, case: &Case, tensor: &str) -> impl Iterator<Item = Case> {
    let computes = |test: &&Test| test.outputs().iter().any(|name| name == tensor);
    let size = |test: &Test| test.buffers.iter().map(|b| b.tensor.len()).sum::<usize>();
    let (same, mut rest): (Vec<&Test>, Vec<&Test>) = spec
        .tests
        .iter()
        .filter(computes)
        .filter(|test| size(test) <= MAX_ELEMENTS)
        .partition(|test| test.name == case.test);
    rest.sort_by_key(|test| size(test));
    let seed = case.seed.wrapping_add(1);
    let real = reals(spec);
    let wild = same.iter().flat_map(|test| WILD.map(|kind| wilder(test, &real, kind)));
    let others = spread(&rest).into_iter().cloned();
    let all: Vec<Test> = same.iter().map(|&test| test.clone()).chain(wild).chain(others).collect();
    let built = all.into_iter().filter_map(move |test| oracle::build_case(spec, &test, seed).ok());
    let name = tensor.to_owned();
    // What only values that are not finite show, others do not confirm.
    let finite = case.known.values().flatten().all(|value| value.is_finite());
    let plain = move |plan: &Plan| !finite || PLAIN.contains(&plan.flavour);
    let drawn = draw::plans(spec, seed).into_iter().filter(plain);
    // Another kernel may compute the same, correctly.
    let launched: BTreeSet<&String> = case.launches.iter().map(|launch| &launch.kernel).collect();
    let drawn = drawn.filter(move |plan| plan.kernels.iter().collect::<BTreeSet<_>>() == launched);
    let drawn = drawn.filter_map(move |plan| Some(draw::build(spec, &plan, seed)?.0));
    let drawn = drawn.filter(move |other| other.expected(&name).is_some()).take(DRAWN_CASES);
    built.chain(drawn).filter(|other| other.known != case.known || other.dims != case.dims)
}

/// Data that tell apart what ordinary data do not: far from each other, and all on one side of 0.
const WILD: [DataKind; 3] = [
    DataKind::Normal { scale: 1.0, shift: 0.0 },
    DataKind::Normal { scale: 60.0, shift: 0.0 },
    DataKind::Normal { scale: 100.0, shift: -300.0 },
];

/// The inputs of a formula that take any real value: a test of the spec draws them so.
fn reals(spec: &Spec) -> BTreeSet<String> {
    // Integers are the default, also of what a kernel does not take: a gradient that it assumes to be 1.
    let is_real = |data: &Data| matches!(data, Data::Kind(DataKind::Normal { .. }));
    let all = spec.tests.iter().flat_map(|test| &test.data);
    all.filter(|(_, data)| is_real(data)).map(|(name, _)| name.clone()).collect()
}

/// The test with other data for these inputs, and without what depends on the data.
fn wilder(test: &Test, real: &BTreeSet<String>, kind: DataKind) -> Test {
    let float = |name: &String| test.inputs.iter().any(|t| t.name == *name && t.dtype.is_float());
    let data = test.data.iter().map(|(name, data)| {
        let data = if real.contains(name) && float(name) { Data::Kind(kind) } else { data.clone() };
        (name.clone(), data)
    });
    let data = data.collect();
    let mut wilder = test.clone();
    (wilder.data, wilder.check) = (data, Check::Formula);
    wilder
}

/// A few tests of different sizes: the middle ones tell most, the smallest cost least.
fn spread<'a>(tests: &[&'a Test]) -> Vec<&'a Test> {
    let step = (tests.len() / 2 / MORE_TESTS).max(1);
    tests.iter().step_by(step).take(MORE_TESTS).copied().collect()
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

/// The numbers of a launch that a kernel can confuse with sizes.
fn constants(launch: &CaseLaunch) -> Vec<(String, i64)> {
    let axes = |name: &str, sizes: [u32; 3]| {
        let named = ["x", "y", "z"].into_iter().zip(sizes);
        let named = named.filter(|(axis, size)| *axis == "x" || *size > 1);
        named.map(|(axis, size)| (format!("{name}.{axis}"), i64::from(size))).collect::<Vec<_>>()
    };
    [axes("blockDim", launch.block), axes("gridDim", launch.grid)].concat()
}
