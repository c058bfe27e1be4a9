//! What a format is told of a run.

use diagnostic::Diagnostic;
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure};
use judge::verdict::TestVerdict;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What is judged, and how.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Number of the puzzle.
    pub puzzle: u32,
    /// The puzzle's title.
    pub title: String,
    /// The judged file, as it shall be shown: relative to the workbook or as it was typed.
    pub file: PathBuf,
    /// The contents of the file.
    pub source: String,
    /// What the compiler warned of.
    pub warnings: Vec<Diagnostic>,
    /// The backend's name, `vm` or `gpu`.
    pub backend: String,
    /// The backend in words, such as "PTX virtual machine, 2 threads".
    pub backend_description: String,
    /// Seed of the random data.
    pub seed: u64,
    /// How the kernel came to be.
    pub compile: Compile,
    /// Names of the tests that will run, in order.
    pub tests: Vec<String>,
    /// What repeats this run but for the seed: `grader puzzle 10`.
    pub command: String,
    /// What replays the kernel on a page but for test and seed, if it can be replayed.
    pub replay: Option<String>,
    /// The chapter, relative to the workbook.
    pub chapter: PathBuf,
}

/// How the kernel came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compile {
    /// Was it compiled before?
    pub cached: bool,
    /// Time to compile it, or to find it in the cache.
    pub time: Duration,
}

/// What came of all tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Tests that ran or should have.
    pub total: usize,
    /// How many tests passed.
    pub passed: usize,
}

impl Summary {
    /// The exit code of the process. No test at all is no pass.
    pub fn exit_code(self) -> u8 {
        if self.passed == self.total && self.total > 0 { EXIT_PASS } else { EXIT_FAIL }
    }
}

/// Consumes the events of a run: `start`, each test, then `finish` or, at any point, `failed`.
pub trait Reporter {
    /// The kernel is compiled and the tests begin.
    ///
    /// # Errors
    /// The stream cannot be written to (this holds for all four).
    fn start(&mut self, run: &RunInfo) -> io::Result<()>;
    /// Whether all that can be found out of a failure of this test will be shown, if it fails now.
    fn explains(&self, test: &str) -> bool {
        let _ = test;
        true
    }
    /// A test has ended.
    ///
    /// # Errors
    /// See [`Reporter::start`].
    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()>;
    /// A test will not run; `why` ends the sentence "not run: ...".
    ///
    /// # Errors
    /// See [`Reporter::start`].
    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()>;
    /// All tests have ended.
    ///
    /// # Errors
    /// See [`Reporter::start`].
    fn finish(&mut self, summary: &Summary) -> io::Result<()>;
    /// The run cannot go on. Nothing follows.
    ///
    /// # Errors
    /// See [`Reporter::start`].
    fn failed(&mut self, failure: &Failure) -> io::Result<()>;
}
