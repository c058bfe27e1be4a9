//! Runs kernels on an NVIDIA GPU, in a process of its own.
//!
//! ```text
//! grader                                     child (`grader __gpu-child`)
//! run ──► remote (guards, poison) ──► child ──socket──► driver (cudarc)
//!           explain ◄───────────────────┘
//! ```
//!
//! A crash, a hang or a spoilt context ends the child and not the grader, and no expected value is ever where a kernel
//! could reach it. All judgement is made on this side: the child copies bytes and launches. An answer that is not
//! understood is an error of the machine, never a pass.

mod child;
mod driver;
mod errors;
mod explain;
mod images;
mod library;
mod remote;
mod serve;

pub use child::{Child, NoAnswer};
pub use driver::words_of;
pub use remote::RemoteGpu;
pub use serve::{child_main, connected};

use crate::backend::{Backend, Run, RunTensor};
use crate::checked::{CheckedDevice, Step, without_kernel};
use crate::finding::{Element, Finding, Problem};
use crate::image::{self, Poison};
use crate::launch_limits::LaunchLimits;
use crate::own_program;
use crate::run::{self, Kernels};
use cudart::device::{Code, Device, Properties};
use cudart::frame::Bytes;
use diagnostic::{Failure, FailureKind};
use puzzle::case::{Case, CaseLaunch, CaseTensor};
use remote::LaunchTime;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Name of the sub-command that must call [`child_main`].
pub const CHILD_COMMAND: &str = "__gpu-child";

/// Default time for the launches of a case.
const RUN: Duration = Duration::from_secs(10);

/// How often a case runs again where its results must be bit-equal.
const REPEATS: usize = 9;

/// Looks for a GPU. Quick where no driver is installed; else it asks the driver in a process of its own.
///
/// # Errors
/// There is none, or its driver does not answer: why, and what to do.
pub fn detect() -> Result<RemoteGpu, Failure> {
    if !library::may_exist() {
        let title = "no NVIDIA driver was found: there is no libcuda.so.1 on this machine";
        return Err(Failure::new(
            FailureKind::Environment,
            title,
            "run with --backend vm, which needs no GPU",
        ));
    }
    RemoteGpu::start(&mut own_command()?)
}

/// This program as a child. What kernels print goes to the grader's standard error, away from the report.
fn own_command() -> Result<Command, Failure> {
    let mut command = Command::new(own_program::path()?);
    command.arg(CHILD_COMMAND).stdout(Stdio::from(std::io::stderr()));
    Ok(command)
}

/// Runs the kernels of one module on a GPU.
pub struct GpuBackend {
    info: Properties,
    ptx: String,
    machine_code: Option<Vec<u8>>,
    kernels: BTreeMap<String, String>,
    limits: LaunchLimits,
    time_out: Duration,
    command: Box<dyn Fn() -> Result<Command, Failure> + Send + Sync>,
    /// Kept from case to case, for the context takes longer than a test; replaced after any error.
    gpu: Mutex<Option<RemoteGpu>>,
}

impl GpuBackend {
    /// A backend for a module: its PTX, and machine code for this GPU where there is some; `kernels` has the name in the
    /// module (mangled) of each kernel by its source name.
    pub fn new(
        gpu: RemoteGpu,
        ptx: String,
        machine_code: Option<Vec<u8>>,
        kernels: BTreeMap<String, String>,
    ) -> Self {
        Self {
            info: gpu.info().clone(),
            ptx,
            machine_code,
            kernels,
            limits: LaunchLimits::default(),
            time_out: RUN,
            command: Box::new(own_command),
            gpu: Mutex::new(Some(gpu)),
        }
    }

    /// Starts no kernel that needs more than any GPU has.
    #[must_use]
    pub fn with_limits(mut self, limits: LaunchLimits) -> Self {
        self.limits = limits;
        self
    }

    fn run_tensors(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let mut run = self.run_once(tensors, launches)?;
        if launches.len() > 1 {
            self.blame(&mut run, tensors, launches)?;
        }
        Ok(run)
    }

    /// The same launches: the GPU takes blocks and warps in the order that comes.
    fn repeat(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        nth: usize,
    ) -> Result<Option<Vec<RunTensor>>, Failure> {
        if nth >= REPEATS {
            return Ok(None);
        }
        let run = self.run_once(tensors, launches)?;
        Ok(run.findings.is_empty().then_some(run.tensors))
    }

    /// Guards and inputs are looked at when all launches have run. Which of them did it shows a run of the first ones only.
    fn blame(
        &self,
        run: &mut Run,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
    ) -> Result<(), Failure> {
        let mut open: Vec<&mut Finding> =
            run.findings.iter_mut().filter(|f| damage(&f.problem).is_some()).collect();
        for n in 1..launches.len() {
            if open.is_empty() {
                break;
            }
            let part = self.run_once(tensors, &launches[..n])?;
            open.retain_mut(|finding| {
                let seen = part.findings.iter().any(|f| {
                    damage(&f.problem).is_some() && damage(&f.problem) == damage(&finding.problem)
                });
                if seen {
                    finding.kernel.clone_from(&launches[n - 1].kernel);
                }
                !seen
            });
        }
        Ok(())
    }

    /// Runs the launches; once more with another poison, where only that tells what was written.
    fn run_once(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let mut run = self.run_from(Poison::FIRST, tensors, launches)?;
        let undecided =
            |(tensor, contents): (&CaseTensor, &RunTensor)| image::is_undecided(tensor, contents);
        if run.findings.is_empty() && tensors.iter().zip(&run.tensors).any(undecided) {
            let second = self.run_from(Poison::SECOND, tensors, launches)?;
            for (first, second) in run.tensors.iter_mut().zip(second.tensors) {
                for (written, also) in first.written.iter_mut().zip(second.written) {
                    *written |= also;
                }
            }
        }
        Ok(run)
    }

    fn run_from(
        &self,
        poison: Poison,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
    ) -> Result<Run, Failure> {
        let mut kept = self.gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || RemoteGpu::start(&mut (self.command)()?);
        let mut gpu = kept.take().map_or_else(start, Ok)?;
        gpu.bound_launches(LaunchTime::Together(self.time_out));
        gpu.set_poison(poison);
        let machine = self.machine_code.as_deref().map(Bytes);
        let module = gpu
            .load(Code { ptx: &self.ptx, machine })
            .map_err(|error| without_kernel(gpu.explain(Step::Load, error)))?;
        let kernels = Kernels { module, symbols: &self.kernels };
        let run = run::run(&mut gpu, kernels, tensors, launches)?;
        // The next case starts from fresh memory.
        if gpu.unload(module).is_ok() && gpu.clear() {
            *kept = Some(gpu);
        }
        Ok(run)
    }
}

/// The tensor that a launch damaged, and on which side of its end.
fn damage(problem: &Problem) -> Option<(&str, bool)> {
    match problem {
        Problem::GuardOverwritten { place: Element { tensor, flat, .. } } => {
            Some((tensor, *flat < 0))
        }
        Problem::InputChanged { place } => Some((&place.tensor, false)),
        _ => None,
    }
}

impl Backend for GpuBackend {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let Properties { name, driver_version, .. } = &self.info;
        format!("{name}, driver for CUDA {}", explain::cuda_version(*driver_version))
    }

    fn run(&self, case: &Case) -> Result<Run, Failure> {
        if let Some(refused) = self.limits.refused(case) {
            return Ok(run::stopped(&case.tensors, refused, Instant::now()));
        }
        self.run_tensors(&case.tensors, &case.launches)
    }

    fn try_out(&self, case: &Case) -> Result<Option<Run>, Failure> {
        self.run(case).map(Some)
    }

    fn again(&self, case: &Case, nth: usize) -> Result<Option<Vec<RunTensor>>, Failure> {
        self.repeat(&case.tensors, &case.launches, nth)
    }

    /// A GPU does not count.
    fn over_gates(&self, _case: &Case) -> Result<Vec<Finding>, Failure> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
pub(crate) mod tests;
