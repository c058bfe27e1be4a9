//! The process that grades.

use super::{Graded, Job, Said, Setup, Start};
use crate::cli::grading;
use crate::student_progress::StudentProgress;
use device::gpu::RemoteGpu;
use diagnostic::{EXIT_ENVIRONMENT, Failure};
use judge::verdict::TestVerdict;
use puzzle::oracle;
use puzzle::spec::Test;
use puzzle::workbook::Workbook;
use report::style::Style;
use report::{Reporter, RunInfo, Summary, TextReporter};
use rustix::process::{Signal, getpid, kill_process};
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;
use toolchain::Toolchain;
use toolchain::env::Env;
use toolchain::process;
use toolchain::spinner;

/// The folder for temporary files.
static SCRATCH: OnceLock<PathBuf> = OnceLock::new();

/// Removes the folder for temporary files. If that fails, the parent tries too.
fn remove_scratch() {
    if let Some(scratch) = SCRATCH.get() {
        std::fs::remove_dir_all(scratch).ok();
    }
}

/// Reads what to do from stdin, does it, and tells about it on stdout.
pub fn main() -> ExitCode {
    let Some(Start { setup, scratch }) = line() else { return ExitCode::from(EXIT_ENVIRONMENT) };
    SCRATCH.set(scratch).ok();
    process::before_interrupt(remove_scratch);
    let code = work(&setup);
    remove_scratch();
    code
}

fn work(setup: &Setup) -> ExitCode {
    let prepared = prepare(setup);
    // Without a job, the student has left.
    let Some(job) = line::<Job>() else { return ExitCode::SUCCESS };
    if end_with_stdin().is_err() {
        return ExitCode::from(EXIT_ENVIRONMENT);
    }
    spinner::tell(|progress| say(&Said::Doing(progress.to_owned())));
    let start = Instant::now();
    let mut text = Vec::new();
    let style = Style { colour: job.colour, unicode: job.unicode };
    let reporter = TextReporter::new(&mut text, style).for_screen(job.columns);
    let mut reporter = Announcing { reporter, tests: Vec::new(), ended: 0, all_passed: true };
    let result = prepared.and_then(|prepared| grade(prepared, &job, &mut reporter));
    // Writing to memory cannot fail.
    match &result {
        Ok(summary) => reporter.finish(summary).ok(),
        Err(failure) => reporter.failed(failure).ok(),
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    say(&Said::Graded(Graded::new(text, result.ok(), start.elapsed().as_secs_f64())));
    ExitCode::SUCCESS
}

/// What can be found before the student saves.
struct Prepared {
    workbook: Workbook,
    toolchain: Toolchain,
    gpu: Option<RemoteGpu>,
}

fn prepare(setup: &Setup) -> Result<Prepared, Failure> {
    let workbook = Workbook::open(&setup.workbook)?;
    let toolchain = Toolchain::locate(&Env::current(), setup.nvcc.as_deref())?;
    let gpu = grading::choose(setup.backend)?;
    Ok(Prepared { workbook, toolchain, gpu })
}

fn grade(
    Prepared { workbook, toolchain, gpu }: Prepared,
    job: &Job,
    reporter: &mut dyn Reporter,
) -> Result<Summary, Failure> {
    let puzzle = workbook.puzzle(job.puzzle)?;
    say(&Said::Doing(format!("compiling {}", workbook.relative(&puzzle.stub).display())));
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let job = grading::Job {
        workbook: &workbook,
        puzzle,
        spec: &spec,
        tests: &tests,
        drawn: true,
        source: &puzzle.stub,
        seed: grading::fresh_seed(),
        pictures: true,
        dump: None,
        command: &format!("grader puzzle {}", puzzle.number),
    };
    let progress = StudentProgress::of(&workbook);
    grading::grade_and_record(&job, &toolchain, gpu, reporter, &progress)
}

/// A reporter that also says which test runs.
struct Announcing<R> {
    reporter: R,
    tests: Vec<String>,
    /// The number of tests that have ended.
    ended: usize,
    all_passed: bool,
}

impl<R> Announcing<R> {
    fn announce(&self) {
        if let Some(test) = self.tests.get(self.ended) {
            let (nth, all) = (self.ended + 1, self.tests.len());
            say(&Said::Doing(format!("running test {nth} of {all}, {test}")));
        } else if self.all_passed {
            say(&Said::Doing("running drawn sizes".into()));
        }
    }
}

impl<R: Reporter> Reporter for Announcing<R> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        self.tests.clone_from(&run.tests);
        self.announce();
        self.reporter.start(run)
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        self.ended += 1;
        self.all_passed &= verdict.passed();
        self.announce();
        self.reporter.test_finished(verdict)
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        self.ended += 1;
        self.reporter.not_run(test, why)
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        self.reporter.finish(summary)
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        self.reporter.failed(failure)
    }
}

/// Ends this process, with all its children, as soon as the parent closes its stdin.
fn end_with_stdin() -> io::Result<()> {
    let wait = || {
        io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
        kill_process(getpid(), Signal::TERM).ok();
    };
    thread::Builder::new().name("parent".into()).spawn(wait).map(drop)
}

/// The next line of stdin. `None` if there is none.
fn line<T: DeserializeOwned>() -> Option<T> {
    let mut line = String::new();
    io::stdin().read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// A parent that is gone does not listen, which is no reason to stop.
fn say(said: &Said) {
    if let Ok(line) = serde_json::to_string(said) {
        writeln!(io::stdout(), "{line}").ok();
    }
}
