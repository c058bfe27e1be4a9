//! Which wrong formula gives exactly what the kernel computed? Found with the data of the failing test, and believed once the
//! kernel has run with other data, and where the spec has such tests at other sizes, and gave the same wrong formula's values again.

use crate::verdict::{FormulaVariant, TestVerdict};
use device::backend::{Backend, Run};
use indexmath::{Fit, Observation, Variant, search_variants};
use puzzle::case::{Case, CaseLaunch, CaseTensor, last_launch_with};
use puzzle::oracle;
use puzzle::spec::{Spec, Test};

/// Tests that a variant must agree with, besides the one that failed.
const MORE_TESTS: usize = 3;
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
    let Some(mut fitting) = Seen::of(case, run, &name).map(|seen| seen.search()) else {
        return verdict;
    };
    let mut confirmed = 0;
    for other in others(spec, case, &name) {
        if fitting.is_empty() {
            return verdict;
        }
        let Ok(run) = backend.run(&other) else { continue };
        if !run.findings.is_empty() {
            continue;
        }
        let Some(seen) = Seen::of(&other, &run, &name) else { continue };
        let fits: Vec<Fit> = fitting.iter().map(|variant| seen.fit(variant)).collect();
        confirmed += usize::from(fits.contains(&Fit::Explains));
        let mut fits = fits.into_iter();
        fitting.retain(|_| fits.next() != Some(Fit::Contradicts));
    }
    if let Some(simplest) = fitting.into_iter().next().filter(|_| confirmed > 0) {
        verdict.diffs[at].variant = Some(FormulaVariant { says: simplest.says, confirmed });
    }
    verdict
}

/// The first output that is wrong and was not computed from a wrong one.
fn first_cause(case: &Case, verdict: &TestVerdict) -> Option<usize> {
    let from_wrong = |name: &str| {
        let sources = case.chained.get(name);
        sources.is_some_and(|all| verdict.diffs.iter().any(|diff| all.contains(&diff.tensor.name)))
    };
    verdict.diffs.iter().position(|diff| !from_wrong(&diff.tensor.name))
}

/// The other cases that a variant is tried on: the same test with other data, and the smallest of the other tests.
fn others(spec: &Spec, case: &Case, tensor: &str) -> impl Iterator<Item = Case> {
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
    let all: Vec<&Test> = same.into_iter().chain(spread(&rest)).collect();
    all.into_iter().filter_map(move |test| oracle::build_case(spec, test, seed).ok())
}

/// A few tests of different sizes: the middle ones tell most, the smallest cost least.
fn spread<'a>(tests: &[&'a Test]) -> Vec<&'a Test> {
    let step = (tests.len() / 2 / MORE_TESTS).max(1);
    tests.iter().step_by(step).take(MORE_TESTS).copied().collect()
}

/// A run's result for one tensor.
struct Seen<'a> {
    case: &'a Case,
    name: &'a str,
    known: std::borrow::Cow<'a, indexmath::Values>,
    got: &'a [f64],
    right: &'a [indexmath::Approx],
    constants: Vec<(String, i64)>,
}

impl<'a> Seen<'a> {
    /// `None` if the run left elements out.
    fn of(case: &'a Case, run: &'a Run, name: &'a str) -> Option<Self> {
        let is_it = |t: &CaseTensor| t.wanted().is_some_and(|(tensor, _)| tensor.name == name);
        let index = case.tensors.iter().position(is_it)?;
        let got = run.tensors.get(index)?;
        let (_, right) = case.tensors[index].wanted()?;
        if got.values.len() != right.len() || got.written.contains(&false) {
            return None;
        }
        let constants = last_launch_with(&case.launches, index).map(constants).unwrap_or_default();
        Some(Self { case, name, known: case.known_for(name), got: &got.values, right, constants })
    }

    fn observation(&self) -> Observation<'_> {
        Observation {
            formula: &self.case.formula,
            known: &self.known,
            tensor: self.name,
            got: self.got,
            right: self.right,
            constants: &self.constants,
        }
    }

    fn search(&self) -> Vec<Variant> {
        search_variants(&self.observation())
    }

    fn fit(&self, variant: &Variant) -> Fit {
        variant.fit(&self.observation())
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
