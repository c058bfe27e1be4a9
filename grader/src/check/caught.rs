//! The test that catches a wrong kernel, and all that the report on it tells.

use super::bench::Loaded;
use crate::wrong::WrongKernel;
use device::backend::Run;
use diagnostic::Failure;
use judge::batch_compile::Namespace;
use judge::diagnosis::diagnose;
use judge::drawn;
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Detail, Machine, Program};
use judge::other_cases::OtherCases;
use judge::returns::{self, Compiler};
use judge::verdict::TestVerdict;
use puzzle::case::Case;
use puzzle::spec::DRAWN;

/// What became of a wrong kernel.
pub(super) enum Search<'a> {
    /// A test of the spec catches it.
    Caught(Box<Caught<'a>>),
    /// A drawn case catches it: the verdict on the first that fails or, if somebody reads the report, that on the smallest, explained.
    Drawn(Box<TestVerdict>),
    /// Neither the test nor the finding that it names does: the verdicts of all tests that ran.
    Missed(Vec<TestVerdict>),
}

/// A wrong kernel in the test that catches it.
pub(super) struct Caught<'a> {
    /// The case of that test.
    pub(super) case: &'a Case,
    run: Run,
    /// Its verdict, without details.
    pub(super) verdict: TestVerdict,
}

/// Runs the tests, the one that must catch the kernel first, until it is caught. What a finding catches is caught by the first test
/// of the spec that shows it, if somebody reads the report, and otherwise by the fastest.
pub(super) fn search<'a>(
    loaded: &'a Loaded<'_>,
    (drawn, cases_like): (&DrawnCases<'_>, &OtherCases<'_>),
    (kernel, program): (&WrongKernel, &Program),
    machine: &Machine,
    is_read: bool,
) -> Result<Search<'a>, Failure> {
    if kernel.caught_by == DRAWN {
        let verdict = if is_read {
            drawn::judge_as_drawn(machine, program, drawn, cases_like)?
        } else {
            Some(drawn::first(machine, drawn)?)
        };
        return Ok(match verdict {
            Some(verdict) if !verdict.passed() => Search::Drawn(Box::new(verdict)),
            passes => Search::Missed(passes.into_iter().collect()),
        });
    }
    let (named, mut others): (Vec<_>, Vec<_>) =
        loaded.cases.iter().partition(|case| case.test == kernel.caught_by);
    if is_read && named.is_empty() {
        others.sort_by_key(|case| loaded.spec.tests.iter().position(|test| test.name == case.test));
    }
    let mut verdicts = Vec::new();
    for case in named.into_iter().chain(others) {
        let (run, verdict) = grade::run_and_judge(machine.backend(), case)?;
        verdicts.push(verdict);
        if kernel.is_caught(&verdicts)
            && let Some(verdict) = verdicts.pop()
        {
            return Ok(Search::Caught(Box::new(Caught { case, run, verdict })));
        }
    }
    Ok(Search::Missed(verdicts))
}

impl Caught<'_> {
    /// With what a report tells of the wrong element, but for its causes in the formula.
    pub(super) fn detailed(self, machine: &Machine, program: &Program) -> Self {
        let Self { case, run, verdict } = self;
        let verdict = grade::detailed(machine, program, case, &run, verdict, Detail::Full);
        Self { case, run, verdict }
    }

    /// With the causes in the formula and the `return` of a wrong flag, as a student sees it where this is the first test that fails.
    /// The program has the kernel in a namespace of its own.
    pub(super) fn explained(
        self,
        compiler: Compiler<'_>,
        others: &OtherCases<'_>,
        machine: &Machine,
        (kernel, program, own): (&WrongKernel, &Program, Namespace),
    ) -> TestVerdict {
        let Self { case, run, verdict } = self;
        let verdict = diagnose((machine, program), others, (case, &run), verdict);
        let mut verdict = returns::explain(compiler, &kernel.source, (case, &run), verdict);
        // The report counts lines in the file with all kernels.
        let above = own.line(&program.compiled.source.text).unwrap_or(0);
        for returned in verdict.diffs.iter_mut().filter_map(|diff| diff.returned.as_mut()) {
            returned.line += above;
        }
        verdict
    }
}
