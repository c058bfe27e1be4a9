//! Tasks and their results, as they are kept in files.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// A puzzle with the files of a submission to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// A hash of the files, the spec and the backend: equal submissions have one.
    pub key: String,
    /// The number of the puzzle.
    pub puzzle: u32,
    /// The copy of the kernel file, under the name of the puzzle's stub.
    pub source: PathBuf,
    /// The spec with the hidden tests.
    pub spec: PathBuf,
    /// The names of the hidden tests.
    pub hidden: Vec<String>,
    /// The seed: that of the first student with these files.
    pub seed: u64,
    /// Whether a kernel that passes is counted.
    pub leaderboard: bool,
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graded {
    /// The task's key.
    pub key: String,
    /// The number of the puzzle.
    pub puzzle: u32,
    /// The seed of the data.
    pub seed: u64,
    /// How the grading ended.
    pub ending: Ending,
    /// The tests in the order in which they ran.
    pub tests: Vec<TestRow>,
    /// The report, without the hidden tests.
    pub feedback: String,
    /// The whole report, for the instructor.
    pub report: String,
    /// Seconds of wall-clock time, with the compiler's.
    pub seconds: f64,
    /// What a kernel that passes costs, if that was asked for.
    pub counters: Option<Counters>,
    /// The name of the machine that graded it.
    pub host: String,
}

/// What came of a task, and the report for machines, with the hidden tests: JSON, which nobody here reads again.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// All but the report for machines.
    pub graded: Graded,
    /// The report for machines, as it was written.
    pub document: Box<RawValue>,
}

impl Graded {
    /// Whether every test passed.
    pub fn passed(&self) -> bool {
        self.ending == Ending::Judged
            && !self.tests.is_empty()
            && self.tests.iter().all(|test| test.passed)
    }

    /// Seconds that the tests ran.
    pub fn test_seconds(&self) -> f64 {
        self.tests.iter().map(|test| test.millis).sum::<f64>() / 1e3
    }
}

/// How the grading of a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The tests ran.
    Judged,
    /// The kernel does not compile, or is not the one that the puzzle asks for.
    NotCompiled,
    /// It took longer than the limit of the class.
    TimeLimit,
    /// The process that graded it broke down: a person must look.
    Crashed,
}

/// A test of a submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestRow {
    /// The name of the test in the spec.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Whether the students do not have it.
    pub hidden: bool,
    /// Milliseconds that it ran.
    pub millis: f64,
    /// What is wrong in a few words, the same for all who make the mistake.
    pub cause: Option<String>,
}

/// What a kernel costs in the puzzle's largest test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Instructions of warps.
    pub instructions: u64,
    /// Sectors of 32 bytes between the multiprocessors and memory.
    pub sectors: u64,
}

/// The name of this machine; empty where the system does not say.
pub fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
