//! The report for CI systems: XML as of `JUnit`, written when the run has ended. A test is a `<testcase>`; what keeps the tests
//! from running at all is one of the name "compile" (a failure) or "grader" (an error).

use super::reporter::{Reporter, RunInfo, Summary};
use super::style::Style;
use super::text;
use diagnostic::{Failure, FailureKind};
use judge::verdict::TestVerdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::{self, Write};

/// Gathers the events and writes the document at the end.
#[derive(Debug)]
pub struct JunitReporter<W> {
    out: W,
    run: Option<RunInfo>,
    tests: Vec<TestCase>,
}

impl<W: Write> JunitReporter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, run: None, tests: Vec::new() }
    }

    fn write(&mut self) -> io::Result<()> {
        let name = self.run.as_ref().map_or_else(
            || "grader".to_owned(),
            |run| format!("puzzle {}: {}", run.puzzle, run.title),
        );
        let mut suite = TestSuite::new(name);
        if let Some(run) = &self.run {
            suite.add_property(("file", run.file.display().to_string().as_str()));
            suite.add_property(("backend", run.backend_description.as_str()));
            suite.add_property(("seed", run.seed.to_string().as_str()));
        }
        suite.add_test_cases(self.tests.drain(..));
        let mut report = Report::new("grader");
        report.add_test_suite(suite);
        report.serialize(&mut self.out).map_err(io::Error::other)?;
        self.out.flush()
    }

    fn case(&self, name: &str, status: TestCaseStatus) -> TestCase {
        let mut case = TestCase::new(name, status);
        if let Some(run) = &self.run {
            case.set_classname(format!("puzzle_{:02}", run.puzzle));
        }
        case
    }
}

impl<W: Write> Reporter for JunitReporter<W> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        let status = match &self.run {
            Some(run) if !verdict.passed() => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(text::reason(verdict).unwrap_or_default());
                status.set_description(text::full(run, verdict, Style::PLAIN).join("\n"));
                status
            }
            _ => TestCaseStatus::success(),
        };
        let mut case = self.case(&verdict.test, status);
        case.set_time(verdict.time);
        let notes = verdict.notes.iter().map(|note| format!("note: {note}\n"));
        let said = verdict.printed.clone() + &notes.collect::<String>();
        if !said.is_empty() {
            case.set_system_out(said);
        }
        self.tests.push(case);
        Ok(())
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        // Not `skipped`: a skipped test is no failure to a CI system.
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(format!("not run: {why}"));
        let case = self.case(test, status);
        self.tests.push(case);
        Ok(())
    }

    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        self.write()
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        let (name, kind) = match failure.kind {
            FailureKind::Kernel => ("compile", NonSuccessKind::Failure),
            FailureKind::Usage | FailureKind::Environment => ("grader", NonSuccessKind::Error),
        };
        let mut status = TestCaseStatus::non_success(kind);
        if let Some(first) = failure.diagnostics.first() {
            status.set_message(first.title.as_str());
        }
        status.set_description(failure.render(false));
        let case = self.case(name, status);
        self.tests.push(case);
        self.write()
    }
}
