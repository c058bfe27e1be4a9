//! The report for CI systems: XML as of `JUnit`, written when the run has ended. A test is a `<testcase>`; what keeps the tests
//! from running at all is one of the name "compile" (a failure) or "grader" (an error).

pub mod document;

use crate::format::text;
use crate::style::Style;
use crate::{Reporter, RunInfo, Summary, drawn};
use diagnostic::{Failure, FailureKind};
use document::{Case, Outcome, Reason, Suite};
use judge::verdict::TestVerdict;
use std::io::{self, Write};
use std::time::Duration;

/// Gathers the events and writes the document at the end.
#[derive(Debug)]
pub struct JunitReporter<W> {
    out: W,
    run: Option<RunInfo>,
    cases: Vec<Case>,
}

impl<W: Write> JunitReporter<W> {
    /// A reporter that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, run: None, cases: Vec::new() }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut suite = Suite { name: "grader".into(), ..Suite::default() };
        if let Some(run) = &self.run {
            suite.name = format!("puzzle {}: {}", run.puzzle, run.title);
            suite.properties = vec![
                ("file", run.file.display().to_string()),
                ("backend", run.backend_description.clone()),
                ("seed", run.seed.to_string()),
            ];
        }
        suite.cases.append(&mut self.cases);
        document::write(&mut self.out, "grader", &[suite])?;
        self.out.flush()
    }

    fn add(&mut self, name: &str, outcome: Outcome, time: Option<Duration>, output: String) {
        let classname = self.run.as_ref().map(|run| format!("puzzle_{:02}", run.puzzle));
        self.cases.push(Case { name: name.to_owned(), classname, time, outcome, output });
    }
}

impl<W: Write> Reporter for JunitReporter<W> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        let outcome = match &self.run {
            Some(run) if !verdict.passed() => Outcome::Failed(Reason {
                message: text::in_one_line(run, verdict),
                description: Some(text::full(run, verdict, Style::PLAIN, text::WIDTH).join("\n")),
            }),
            _ => Outcome::Passed,
        };
        let notes = verdict.notes.iter().map(|note| format!("note: {note}\n"));
        let notes = drawn::passed(verdict).map(|text| text + "\n").into_iter().chain(notes);
        let output = verdict.printed.clone() + &notes.collect::<String>();
        self.add(&verdict.test, outcome, Some(verdict.time), output);
        Ok(())
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        // Not `skipped`: a skipped test is no failure to a CI system.
        let reason = Reason { message: format!("not run: {why}"), description: None };
        self.add(test, Outcome::Failed(reason), None, String::new());
        Ok(())
    }

    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        self.write()
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        let message = failure.diagnostics.first().map(|first| first.title.clone());
        let reason = Reason {
            message: message.unwrap_or_default(),
            description: Some(failure.render(false)),
        };
        let (name, outcome) = match failure.kind {
            FailureKind::Kernel => ("compile", Outcome::Failed(reason)),
            FailureKind::Usage | FailureKind::Environment => ("grader", Outcome::Error(reason)),
        };
        self.add(name, outcome, None, String::new());
        self.write()
    }
}
