//! `[[require]]`: a bound on a function's results where the formula does not fix them.

use super::fault::{Checked, Fault};
use super::quoted::inner_span;
use super::tensors::Tensors;
use super::test::Test;
use crate::relation::Relation;
use specfile::RawRequire;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// A bound on each element of a tensor that depends on results.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The name of the tensor: a result itself, or computed by the formula.
    pub tensor: String,
    /// The comparison that must hold between each element and the bound.
    pub relation: Relation,
    /// The number that each element is compared with.
    pub bound: f64,
    /// One sentence for the student.
    pub about: Option<String>,
    scope: Scope,
    place: Range<usize>,
}

/// The tests to which a requirement or a picture applies.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The names of the tests; if empty, all that have its results.
    tests: Vec<String>,
    /// The inputs of the formula that it depends on.
    sources: BTreeSet<String>,
}

impl Scope {
    pub(crate) fn new(tests: Option<&Vec<Spanned<String>>>, sources: BTreeSet<String>) -> Self {
        let tests = tests.into_iter().flatten().map(|test| test.get_ref().clone()).collect();
        Self { tests, sources }
    }

    /// Whether it applies to `test`.
    pub(crate) fn holds(&self, test: &Test) -> bool {
        let made_of = test.results().any(|result| self.sources.contains(&result.name));
        made_of && (self.tests.is_empty() || self.tests.contains(&test.name))
    }

    /// Checks that it applies to some test and to those that it names, and that `tensor` does not take too long to
    /// compute there. `what` is at `place`.
    pub(crate) fn check(
        &self,
        raw: Option<&Vec<Spanned<String>>>,
        place: &Range<usize>,
        (what, tensor): (&str, &str),
        tests: &[Test],
    ) -> Checked<()> {
        let names = || tests.iter().map(|test| test.name.as_str());
        let unknown = |name: &&Spanned<String>| !names().any(|known| known == name.get_ref());
        if let Some(name) = raw.into_iter().flatten().find(unknown) {
            let title = format!("no test is named `{}`", name.get_ref().escape_debug());
            return Err(Fault::at(name.span(), title).suggest(name.get_ref(), names(), "test"));
        }
        let idle = |test: &&Test| !self.holds(test);
        let meant = |test: &&Test| self.tests.contains(&test.name);
        if let Some(test) = tests.iter().filter(meant).find(idle) {
            let title = format!("`{}` has no result that this depends on", test.name);
            return Err(Fault::at(place.clone(), title)
                .also(test.place.clone(), "this test")
                .help("write `result(..)` for what functions compute beyond the formula"));
        }
        if tests.iter().all(|test| idle(&test)) {
            return Err(Fault::at(place.clone(), format!("this {what} applies to no test")).help(
                "it applies to results of functions: write `result(..)` in their arguments",
            ));
        }
        for test in tests.iter().filter(|test| self.holds(test)) {
            test.check_work_of(&[tensor])
                .map_err(|fault| fault.also(place.clone(), format!("for this {what}")))?;
        }
        Ok(())
    }
}

/// The help text that shows how to write a requirement.
const EXAMPLE: &str = "write holds = \"accuracy >= 0.95\"";

impl Requirement {
    pub(crate) fn read(text: &str, raw: &RawRequire, tensors: &Tensors) -> Checked<Self> {
        let place = raw.holds.span();
        let written = raw.holds.get_ref();
        let Some((at, relation)) = Relation::find(written) else {
            let title = "a requirement is a tensor, `>=`, `<=` or `==`, and a number";
            return Err(Fault::at(place, title).help(EXAMPLE));
        };
        let tensor = written[..at].trim();
        if !tensors.names().any(|name| name == tensor) {
            let title = format!("unknown tensor `{}`", tensor.escape_debug());
            let span = inner_span(text, &place, &(0..at));
            return Err(Fault::at(span, title).suggest(tensor, tensors.names(), "tensor"));
        }
        let number = at + Relation::SIGN;
        let bound = written[number..].trim().parse().ok().filter(|bound: &f64| bound.is_finite());
        let Some(bound) = bound else {
            let span = inner_span(text, &place, &(number..written.len()));
            return Err(Fault::at(span, "this is not a number")
                .help(EXAMPLE)
                .help("if the bound is not constant, let the formula compute the difference"));
        };
        let scope = Scope::new(raw.tests.as_ref(), tensors.formula.sources(tensor));
        let (tensor, about) = (tensor.to_owned(), raw.about.clone());
        Ok(Self { tensor, relation, bound, about, scope, place })
    }

    /// Whether it applies to `test`.
    pub fn counts_in(&self, test: &Test) -> bool {
        self.scope.holds(test)
    }
}

/// Checks that each requirement applies to some test, and that each result of a test is judged by one.
pub(crate) fn check(
    raw: &[RawRequire],
    requirements: &[Requirement],
    tests: &[Test],
) -> Checked<()> {
    for (raw, requirement) in raw.iter().zip(requirements) {
        requirement.scope.check(
            raw.tests.as_ref(),
            &requirement.place,
            ("requirement", &requirement.tensor),
            tests,
        )?;
    }
    for test in tests {
        let judged = |name: &str| {
            let mut counting = requirements.iter().filter(|r| r.counts_in(test));
            counting.any(|requirement| requirement.scope.sources.contains(name))
        };
        if let Some(result) = test.results().find(|result| !judged(&result.name)) {
            let title = format!("nothing is required of the result `{}`", result.name);
            return Err(Fault::at(test.place.clone(), title)
                .help("any values would pass: add a [[require]] on something that depends on it"));
        }
    }
    Ok(())
}
