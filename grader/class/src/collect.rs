//! Gathers the events of a run: the rows of its tests, the student's report without the hidden tests, the whole report, and the
//! document for machines.

use crate::task::{self, Ending, Graded, Outcome, Task, TestRow};
use diagnostic::{Failure, FailureKind, visible};
use judge::verdict::TestVerdict;
use puzzle::spec::DRAWN;
use report::style::Style;
use report::{JsonReporter, Reporter, RunInfo, Summary, TextReporter};
use serde_json::Value;
use serde_json::value::RawValue;
use std::io;

/// The texts that the reporters write.
#[derive(Debug, Default)]
pub struct Buffers {
    feedback: Vec<u8>,
    report: Vec<u8>,
    document: Vec<u8>,
}

/// A reporter that keeps everything.
#[derive(Debug)]
pub struct Collector<'a> {
    hidden: &'a [String],
    feedback: TextReporter<&'a mut Vec<u8>>,
    report: TextReporter<&'a mut Vec<u8>>,
    document: JsonReporter<&'a mut Vec<u8>>,
    /// Name, whether it passed, and milliseconds.
    tests: Vec<(String, bool, f64)>,
    planned: Vec<String>,
}

impl<'a> Collector<'a> {
    /// A collector for a task with these hidden tests.
    pub fn new(hidden: &'a [String], buffers: &'a mut Buffers) -> Self {
        let style = Style { unicode: true, ..Style::PLAIN };
        Self {
            hidden,
            feedback: TextReporter::new(&mut buffers.feedback, style),
            report: TextReporter::new(&mut buffers.report, style),
            document: JsonReporter::new(&mut buffers.document),
            tests: Vec::new(),
            planned: Vec::new(),
        }
    }

    /// The names, outcomes and times of the tests, and the names of those that did not run.
    pub fn into_tests(self) -> (Vec<(String, bool, f64)>, Vec<String>) {
        let ran = |name: &String| self.tests.iter().any(|(test, ..)| test == name);
        let left = self.planned.iter().filter(|name| !ran(name)).cloned().collect();
        (self.tests, left)
    }

    fn is_hidden(&self, test: &str) -> bool {
        self.hidden.iter().any(|name| name == test)
    }
}

impl Reporter for Collector<'_> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        self.planned.clone_from(&run.tests);
        let mut seen = run.clone();
        seen.tests.retain(|test| !self.is_hidden(test));
        self.feedback.start(&seen)?;
        self.report.start(run)?;
        self.document.start(run)
    }

    /// In the document, which nobody looks at, it can do without.
    fn explains(&self, test: &str) -> bool {
        self.report.explains(test) || (!self.is_hidden(test) && self.feedback.explains(test))
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        let millis = verdict.time.as_secs_f64() * 1e3;
        self.tests.push((verdict.test.clone(), verdict.passed(), millis));
        if !self.is_hidden(&verdict.test) {
            self.feedback.test_finished(verdict)?;
        }
        self.report.test_finished(verdict)?;
        self.document.test_finished(verdict)
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        if !self.is_hidden(test) {
            self.feedback.not_run(test, why)?;
        }
        self.report.not_run(test, why)?;
        self.document.not_run(test, why)
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let hidden = |passed: bool| {
            let of =
                self.tests.iter().filter(|(name, ok, _)| self.is_hidden(name) && (*ok || !passed));
            of.count()
        };
        let unseen = self.planned.iter().filter(|name| self.is_hidden(name)).count();
        let seen = Summary { total: summary.total - unseen, passed: summary.passed - hidden(true) };
        self.feedback.finish(&seen)?;
        self.report.finish(summary)?;
        self.document.finish(summary)
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        self.feedback.failed(failure)?;
        self.report.failed(failure)?;
        self.document.failed(failure)
    }
}

/// The result of a task, from what was gathered. `tests` are those of [`Collector::into_tests`].
///
/// # Errors
/// The grader could not work: the failure of `result`.
pub fn graded(
    task: &Task,
    (ran, left): (Vec<(String, bool, f64)>, Vec<String>),
    buffers: Buffers,
    result: Result<Summary, Failure>,
) -> Result<Outcome, Failure> {
    let ending = match result {
        Ok(_) => Ending::Judged,
        Err(failure) if failure.kind == FailureKind::Kernel => Ending::NotCompiled,
        Err(failure) => return Err(failure),
    };
    let folder = task.source.parent().map(|dir| format!("{}/", dir.display())).unwrap_or_default();
    // Students need not know where their instructor keeps the files.
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace(&folder, "");
    let written = text(buffers.document);
    let document: Value = serde_json::from_str(&written).unwrap_or(Value::Null);
    let row = |name: String, passed: bool, millis: f64| TestRow {
        hidden: task.hidden.contains(&name),
        cause: if passed { None } else { Some(cause(&document, &name)) },
        name,
        passed,
        millis,
    };
    let mut tests: Vec<TestRow> =
        ran.into_iter().map(|(name, passed, millis)| row(name, passed, millis)).collect();
    tests.extend(left.into_iter().map(|name| row(name, false, 0.0)));
    let graded = Graded {
        key: task.key.clone(),
        puzzle: task.puzzle,
        seed: task.seed,
        ending,
        tests,
        feedback: visible(&text(buffers.feedback)),
        report: visible(&text(buffers.report)),
        seconds: 0.0,
        counters: None,
        host: task::host(),
    };
    let document = RawValue::from_string(written).unwrap_or_else(|_| RawValue::NULL.to_owned());
    Ok(Outcome { graded, document })
}

/// What is wrong in a test in a few words, without numbers that differ between those who make the same mistake.
fn cause(document: &Value, test: &str) -> String {
    let tests = document["tests"].as_array().into_iter().flatten();
    let Some(test) = tests.into_iter().find(|row| row["name"] == test) else {
        return "not run".to_owned();
    };
    if test["not_run"].is_string() {
        return "not run".to_owned();
    }
    if let Some(kind) = test["findings"][0]["kind"].as_str() {
        return kind.replace(['-', '_'], " ");
    }
    let tensor = &test["tensors"][0];
    let name = tensor["name"].as_str().unwrap_or_default();
    let worded = tensor["variant"].as_str().or(tensor["likely_cause"].as_str());
    match worded {
        // How many runs confirmed it differs between those who make the mistake.
        Some(cause) => match cause.split_once(" (").filter(|(_, end)| end.contains("other data")) {
            Some((cause, _)) => cause.to_owned(),
            None => cause.lines().next().unwrap_or_default().to_owned(),
        },
        None if test["name"] == DRAWN => format!("wrong values in {name}, in some drawn sizes"),
        None => format!("wrong values in {name}"),
    }
}
