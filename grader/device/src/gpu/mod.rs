//! Runs kernels on an NVIDIA GPU, in a process of its own.
//!
//! ```text
//! grader                                          child (`grader __gpu-child`)
//! image: guards, poison, inputs ──► child ──socket──► serve ──► device (cudarc, the driver)
//! image: findings, values       ◄── explain ◄─────────────────┘
//! ```
//!
//! A crash, a hang or a spoilt context ends the child and not the grader, and no expected value is ever where a kernel
//! could reach it. All judgement is made on this side: the child copies bytes and launches. An answer that is not
//! understood is an error of the machine, never a pass.

mod child;
mod device;
mod explain;
pub(crate) mod image;
mod library;
mod protocol;
pub mod remote;
mod runtime;
mod serve;

pub use protocol::GpuInfo;

use crate::backend::{Backend, Run, RunTensor, no_such_kernel};
use crate::finding::{Finding, FindingKind, Place};
use child::{Broken, BrokenKind, Child, Limits};
use diagnostic::{Failure, FailureKind};
use explain::Meaning;
use protocol::{Answer, Arg, Launch, Program, Request, Stage};
use puzzle::case::{Case, CaseArg, CaseLaunch, CaseTensor, Role};
use puzzle::tensor::encode;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Name of the sub-command that must call [`child_main`].
pub const CHILD_COMMAND: &str = "__gpu-child";

/// How long the driver may take to tell which GPU it has.
const PROBE: Duration = Duration::from_secs(10);

/// How long a context, the module and the copies to the device may take.
const SET_UP: Duration = Duration::from_secs(30);

/// Default time for the launches of a case.
const RUN: Duration = Duration::from_secs(10);

/// How often a case runs again where its results must be bit-equal.
const REPEATS: usize = 9;

/// A GPU that has answered, and the process that holds it.
#[derive(Debug)]
pub struct Gpu {
    /// Which one.
    pub info: GpuInfo,
    child: Child,
}

impl Gpu {
    /// Which one it is.
    pub fn info(&self) -> &GpuInfo {
        &self.info
    }
}

/// Looks for a GPU. Quick where no driver is installed; else it asks the driver in a process of its own.
///
/// # Errors
/// There is none, or its driver does not answer: why, and what to do.
pub fn detect() -> Result<Gpu, Failure> {
    if !library::may_exist() {
        let title = "no NVIDIA driver was found: there is no libcuda.so.1 on this machine";
        return Err(Failure::new(
            FailureKind::Environment,
            title,
            "run with --backend vm, which needs no GPU",
        ));
    }
    detect_by(&mut own_command()?)
}

/// Which GPU there is, if one answers. [`detect`] tells more, and keeps the process for the tests that follow.
pub fn probe() -> Option<GpuInfo> {
    detect().ok().map(|gpu| gpu.info)
}

fn detect_by(command: &mut Command) -> Result<Gpu, Failure> {
    let doing = "asking which GPU there is";
    let fail = |broken: &Broken| machine(explain::broken(broken, doing));
    let mut child = Child::spawn(command).map_err(|b| fail(&b))?;
    let limits = Limits { set_up: PROBE, run: PROBE };
    match child.ask(&Request::Probe, &[], 0, limits).map_err(|b| fail(&b))? {
        (Answer::Device(info), _) => Ok(Gpu { info, child }),
        (Answer::Failed(failure), _) => Err(machine(explain::driver(&failure, &[], None, ""))),
        (other, _) => Err(fail(&invalid_data(format!("{other:?} to a probe")))),
    }
}

/// Without a kernel nothing can be a kernel's fault.
fn machine(meaning: Meaning) -> Failure {
    match meaning {
        Meaning::Machine(failure) => failure,
        Meaning::Kernel(kind) => Failure::new(
            FailureKind::Environment,
            format!("the GPU answered a question with {kind:?}"),
            "try again, or run with --backend vm",
        ),
    }
}

fn invalid_data(what: String) -> Broken {
    Broken { kind: BrokenKind::InvalidData(what), launch: None }
}

/// This program as a child. What kernels print goes to the grader's standard error, away from the report.
fn own_command() -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|e| {
        let title =
            format!("the grader cannot find its own program, which it needs to drive the GPU: {e}");
        Failure::new(
            FailureKind::Environment,
            title,
            "run with --backend vm, which needs no second process",
        )
    })?;
    let mut command = Command::new(program);
    command.arg(CHILD_COMMAND).stdout(Stdio::from(std::io::stderr()));
    Ok(command)
}

/// The whole life of the child process: serves requests that come over the socket in the place of standard input.
pub fn child_main() -> ExitCode {
    let orphaned = || {
        // The main thread ends by itself unless it waits for a kernel that never ends.
        std::thread::sleep(Duration::from_millis(500));
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .ok();
    };
    let served = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|socket| serve::serve(UnixStream::from(socket), device::Gpu::open, orphaned));
    // Whoever reads an exit code here is a person who typed the hidden command; the grader sees the socket close.
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(diagnostic::EXIT_USAGE) }
}

/// Runs the kernels of one module on a GPU.
pub struct GpuBackend {
    info: GpuInfo,
    image: Vec<u8>,
    kernels: BTreeMap<String, String>,
    time_out: Duration,
    command: Box<dyn Fn() -> Result<Command, Failure> + Send + Sync>,
    /// Kept from case to case, for the context takes longer than a test; replaced after any error.
    child: Mutex<Option<Child>>,
}

impl GpuBackend {
    /// A backend for a module: `image` is a cubin for this GPU, or PTX; `kernels` has the name in the module (mangled) of
    /// each kernel by its source name.
    pub fn new(gpu: Gpu, image: Vec<u8>, kernels: BTreeMap<String, String>) -> Self {
        Self {
            info: gpu.info,
            image,
            kernels,
            time_out: RUN,
            command: Box::new(own_command),
            child: Mutex::new(Some(gpu.child)),
        }
    }

    /// How long the launches of a case may take together; 10 s unless set.
    #[must_use]
    pub fn with_time_out(mut self, time_out: Duration) -> Self {
        self.time_out = time_out;
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
            run.findings.iter_mut().filter(|f| damage(&f.kind).is_some()).collect();
        for n in 1..launches.len() {
            if open.is_empty() {
                break;
            }
            let part = self.run_once(tensors, &launches[..n])?;
            open.retain_mut(|finding| {
                let seen = part
                    .findings
                    .iter()
                    .any(|f| damage(&f.kind).is_some() && damage(&f.kind) == damage(&finding.kind));
                if seen {
                    finding.kernel.clone_from(&launches[n - 1].kernel);
                }
                !seen
            });
        }
        Ok(())
    }

    fn run_once(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let images: Vec<Vec<u8>> = tensors.iter().map(image::before).collect();
        let program = self.program(tensors, launches, &images)?;
        let total: usize = program.buffers.iter().sum();
        let body: Vec<&[u8]> =
            std::iter::once(&self.image).chain(&images).map(Vec::as_slice).collect();
        let limits = Limits { set_up: SET_UP, run: self.time_out };

        let begin = Instant::now();
        let mut kept = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            Child::spawn(&mut (self.command)()?)
                .map_err(|b| machine(explain::broken(&b, "starting")))
        };
        let mut child = kept.take().map_or_else(start, Ok)?;
        let (meaning, launch) = match child.ask(&Request::Run(program), &body, total as u64, limits)
        {
            Ok((Answer::Done { nanoseconds }, bytes)) => match outcome(tensors, launches, &bytes) {
                Some((tensors, findings)) => {
                    *kept = Some(child);
                    return Ok(Run {
                        tensors,
                        findings,
                        printed: String::new(),
                        notes: Vec::new(),
                        time: Duration::from_nanos(nanoseconds),
                        threads: 0,
                    });
                }
                None => (
                    explain::broken(
                        &invalid_data(format!("{} bytes instead of {total}", bytes.len())),
                        "run",
                    ),
                    None,
                ),
            },
            Ok((Answer::Failed(failure), _)) => {
                child.leave();
                let launch = match failure.stage {
                    Stage::Launch(n) | Stage::Wait(n) => Some(n),
                    Stage::Open | Stage::Load | Stage::Allocate | Stage::Read => None,
                };
                (explain::driver(&failure, launches, Some(&self.info), &child.log()), launch)
            }
            Ok((other, _)) => {
                (explain::broken(&invalid_data(format!("{other:?} to a run")), "run"), None)
            }
            Err(broken) => {
                (explain::broken(&broken, "loading the kernel and its data"), broken.launch)
            }
        };
        match meaning {
            Meaning::Machine(failure) => Err(failure),
            Meaning::Kernel(kind) => {
                let kernel = launch
                    .and_then(|n| launches.get(n))
                    .map_or(String::new(), |l| l.kernel.clone());
                let finding = Finding { kind, kernel, line: None, thread: None, count: 1 };
                let tensors = tensors.iter().map(unknown).collect();
                Ok(Run {
                    tensors,
                    findings: vec![finding],
                    printed: String::new(),
                    notes: Vec::new(),
                    time: begin.elapsed(),
                    threads: 0,
                })
            }
        }
    }

    fn program(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        images: &[Vec<u8>],
    ) -> Result<Program, Failure> {
        let launch = |launch: &CaseLaunch| -> Result<Launch, Failure> {
            let CaseLaunch { kernel, grid, block, shared, cooperative, args } = launch;
            let mangled = self.kernels.get(kernel).ok_or_else(|| no_such_kernel(kernel))?;
            let arg = |arg: &CaseArg| match *arg {
                CaseArg::Int(value) => Arg::Int(value),
                CaseArg::Value(dtype, value) => Arg::Bits(bits(&encode(dtype, &[value]))),
                CaseArg::Tensor(i) => {
                    Arg::Address { buffer: i, offset: image::Layout::of(&tensors[i].tensor).guard }
                }
            };
            Ok(Launch {
                kernel: mangled.clone(),
                grid: *grid,
                block: *block,
                shared: *shared,
                cooperative: *cooperative,
                args: args.iter().map(arg).collect(),
            })
        };
        Ok(Program {
            image: self.image.len(),
            buffers: images.iter().map(Vec::len).collect(),
            launches: launches.iter().map(launch).collect::<Result<_, _>>()?,
        })
    }
}

/// The tensor that a launch damaged, and on which side of its end.
fn damage(kind: &FindingKind) -> Option<(&str, bool)> {
    match kind {
        FindingKind::GuardOverwritten { place: Place { tensor, flat, .. } } => {
            Some((tensor, *flat < 0))
        }
        FindingKind::InputChanged { place } => Some((&place.tensor, false)),
        _ => None,
    }
}

/// Splits the buffers' last contents; `None` if their sizes are wrong.
fn outcome(
    tensors: &[CaseTensor],
    launches: &[CaseLaunch],
    bytes: &[u8],
) -> Option<(Vec<RunTensor>, Vec<Finding>)> {
    let kernel = launches.last().map_or(String::new(), |l| l.kernel.clone());
    let mut contents = Vec::new();
    let mut findings = Vec::new();
    let mut rest = bytes;
    for tensor in tensors {
        let (image, others) = rest.split_at_checked(image::Layout::of(&tensor.tensor).total())?;
        let (values, found) = image::after(tensor, image)?;
        contents.push(values);
        for (kind, count) in found {
            findings.push(Finding {
                kind,
                kernel: kernel.clone(),
                line: None,
                thread: None,
                count,
            });
        }
        rest = others;
    }
    rest.is_empty().then_some((contents, findings))
}

/// The bytes of a number, at most eight, as the driver copies them.
fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// What is known of a tensor after a run without results: nothing of an output.
fn unknown(tensor: &CaseTensor) -> RunTensor {
    match &tensor.role {
        Role::Input(values) => {
            RunTensor { values: values.clone(), written: vec![true; values.len()] }
        }
        Role::Output(_) | Role::InPlace { .. } | Role::Result => {
            let len = tensor.tensor.len();
            RunTensor { values: vec![f64::NAN; len], written: vec![false; len] }
        }
    }
}

impl Backend for GpuBackend {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let GpuInfo { name, driver_version, .. } = &self.info;
        format!("{name}, driver for CUDA {}", explain::cuda_version(*driver_version))
    }

    fn run(&self, case: &Case) -> Result<Run, Failure> {
        self.run_tensors(&case.tensors, &case.launches)
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
mod tests;
