//! What the grader asks of the child, and what the child says. The grader believes none of the latter: it only words
//! what went wrong with it.

use crate::checked::TensorCopy;
use crate::sandbox::Bounds;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What to load and to call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The compiled host code.
    pub library: PathBuf,
    /// Libraries that it needs.
    pub references: Vec<PathBuf>,
    /// The calls to make, in order.
    pub calls: Vec<Call>,
    /// The tensors in device memory: address and bytes.
    pub tensors: Vec<(u64, u64)>,
    /// The file of the tensors that lie in the host's memory, and its length.
    pub memory: Option<(PathBuf, usize)>,
    /// What the child may use.
    pub bounds: Bounds,
}

impl Job {
    /// Writes it into the folder of the child.
    ///
    /// # Errors
    /// There is no room.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(JOB), serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A call of an entry point of the glue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The function's symbol in the library.
    pub symbol: String,
    /// In the order of the glue.
    pub args: Vec<Arg>,
    /// What the caller copies on the device before.
    pub copies: Vec<TensorCopy>,
}

/// An argument of the glue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arg {
    /// A pointer to device memory.
    Device(u64),
    /// A pointer to this byte of the memory file.
    Host(usize),
    /// A number, as it lies in memory.
    Value(Vec<u8>),
}

/// A line of the child's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Line {
    /// The sandbox has a hole: what a program can do on this machine.
    Open(String),
    /// The library cannot be loaded.
    NotLoaded(String),
    /// The call with this number starts.
    Calling(usize),
    /// It threw an exception, with these words.
    Threw(String),
    /// The call with this index returned.
    Returned(usize),
    /// The device refused something that the call did not mend: name and words of the error.
    CudaError(String, String),
    /// All calls have returned.
    Done,
}

/// The name of the job in the child's folder.
pub const JOB: &str = "job.json";
/// The name of the report.
pub const REPORT: &str = "report";
/// The name of the memory file.
pub const MEMORY: &str = "memory";
/// The folder in it that the student's code may use.
pub const SCRATCH: &str = "scratch";

/// The lines of a report; what is no line is left out: anyone may have written it.
pub fn lines(report: &str) -> Vec<Line> {
    report.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
