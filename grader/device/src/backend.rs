//! Where kernels run. One trait, two backends, the same verdicts.

use crate::finding::Finding;
use diagnostic::{Failure, FailureKind};
use puzzle::case::Case;
use std::time::Duration;

/// What came out of running a case.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// For each tensor of the case (inputs too): its values, and which elements the kernel wrote at least once
    /// (on the GPU: whose poison pattern is gone). Row-major.
    pub tensors: Vec<RunTensor>,
    /// What went wrong on the way.
    pub findings: Vec<Finding>,
    /// Reads of memory that nothing has written, on which no result depends; where a result is wrong for another reason, they are
    /// worth a look.
    pub unused_reads: Vec<Finding>,
    /// What the kernels printed. Empty on the GPU: there the driver prints it, on the grader's standard error.
    pub printed: String,
    /// What is worth knowing, and no mistake; each a sentence.
    pub notes: Vec<String>,
    /// How long launches and copies took.
    pub time: Duration,
    /// Threads of all launches that host code made; 0 where the spec says what is launched.
    pub threads: u64,
    /// The first different launches that host code made, in their order.
    pub launched: Vec<LaunchShape>,
}

/// What host code launched a kernel with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Name of the kernel in the source, with template arguments.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

/// Contents of a tensor after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTensor {
    /// The values of the elements, as f64.
    pub values: Vec<f64>,
    /// True where an element is defined.
    pub written: Vec<bool>,
}

/// Runs the launches of a case.
pub trait Backend: Sync {
    /// The name in reports: `vm` or `gpu`.
    fn name(&self) -> &'static str;
    /// Human description: "PTX virtual machine, 2 threads" or "NVIDIA H200, driver 13.0".
    fn describe(&self) -> String;
    /// Runs one case from fresh memory.
    ///
    /// # Errors
    /// The machine cannot run it (no driver, unsupported instruction): never a mistake of the student.
    fn run(&self, case: &Case) -> Result<Run, Failure>;
    /// As [`Backend::run`], for a case on which no verdict depends: `None` where the virtual machine would have much more to do than a
    /// usual kernel gives it.
    ///
    /// # Errors
    /// As [`Backend::run`].
    fn try_out(&self, case: &Case) -> Result<Option<Run>, Failure>;
    /// Runs the case again from fresh memory, for the `nth` time from 0: what it leaves to chance may come out otherwise,
    /// and does where the backend can choose. What the tensors hold then; `None` after the last time, or if a run said
    /// nothing.
    ///
    /// # Errors
    /// As [`Backend::run`].
    fn again(&self, case: &Case, nth: usize) -> Result<Option<Vec<RunTensor>>, Failure>;
    /// A finding for each gate that a launch does not keep. Only the virtual machine counts; a case that passes elsewhere
    /// runs there, too.
    ///
    /// # Errors
    /// As [`Backend::run`].
    fn over_gates(&self, case: &Case) -> Result<Vec<Finding>, Failure>;
}

/// A launch of something that is not in the module. The check of names comes before, so this is only a safety net.
pub(crate) fn no_such_kernel(name: &str) -> Failure {
    Failure::new(
        FailureKind::Kernel,
        format!("the compiled file has no kernel `{name}`"),
        format!("define `__global__ void {name}(...)`: the spec launches it by that name"),
    )
}
