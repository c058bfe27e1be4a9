//! Grades in a process of its own, which is ended as soon as its result is not wanted any more: a kernel may run without
//! end, and a thread cannot be stopped.
//!
//! The parent writes two lines of JSON: what to prepare, then what to grade. A child that is started early finds compiler
//! and GPU while the student still types. The child answers with a line of JSON for each event, and ends itself when
//! its stdin ends: by its parent's wish, or because the parent is gone.

mod child;
mod parent;
mod replay;

pub use child::main;
pub use parent::{Cancel, Event, Grader};
pub use replay::replay;

use crate::cli::args::BackendChoice;
use report::Summary;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The first word of the child's command line. It is not for users, so help and completions omit it.
pub const CHILD_COMMAND: &str = "watch-child";

/// What the child prepares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The workbook's folder.
    pub workbook: PathBuf,
    /// The compiler that the user named.
    pub nvcc: Option<PathBuf>,
    /// What runs the kernels.
    pub backend: BackendChoice,
}

/// What the child reads first.
#[derive(Debug, Serialize, Deserialize)]
struct Start {
    setup: Setup,
    /// The child's folder for temporary files, which it removes when it ends.
    scratch: PathBuf,
}

/// What the child grades: the student's file of a puzzle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The puzzle's number.
    pub puzzle: u32,
    /// The width of the report in characters.
    pub columns: usize,
    /// Whether the report may have colours.
    pub colour: bool,
    /// Whether it may have characters beyond ASCII.
    pub unicode: bool,
}

/// What the child says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Said {
    /// What it does now, such as "compiling puzzles/10_....cu".
    Doing(String),
    /// The grading has ended like this.
    Graded(Graded),
}

/// The outcome of a grading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graded {
    /// The text of the report.
    pub text: String,
    /// The numbers of tests, and of those that passed; `None` if none could run.
    pub tests: Option<(usize, usize)>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Graded {
    fn new(text: String, summary: Option<Summary>, seconds: f64) -> Self {
        let tests = summary.map(|summary| (summary.total, summary.passed));
        Self { text, tests, seconds }
    }

    /// The outcome in a line, such as "3 of 9 tests passed, graded in 0.20 s".
    pub fn in_short(&self) -> String {
        let took = format!("graded in {:.2} s", self.seconds);
        match self.tests {
            Some((total, passed)) => format!("{passed} of {total} tests passed, {took}"),
            None => took,
        }
    }
}
