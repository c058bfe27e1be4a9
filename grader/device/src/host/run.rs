//! Runs a case of a host puzzle: a device that holds its tensors, a child that calls the student's functions.

use super::child::CHILD_COMMAND;
use super::ending::{self, End};
use super::job::{Arg, Call, Job, MEMORY, REPORT, SCRATCH};
use super::library::{Entry, HostProgram, no_room};
use super::recording::{Recorder, Recording, SharedRecord};
use super::test_device::{IdleDevice, TestDevice};
use super::trail::TracedLaunch;
use super::usage::Usage;
use super::watch::Watch;
use super::writers::Writer;
use crate::backend::{Backend, Run, RunTensor};
use crate::checked::Contents;
use crate::finding::{Finding, HostFault, Problem};
use crate::gpu;
use crate::image::{self, Poison};
use crate::own_program;
use crate::sandbox::Bounds;
use crate::vm;
use cudart::device::Properties;
use cudart::vm::VmDevice;
use diagnostic::{Failure, FailureKind};
use ptxvm::{Options, Unwritten};
use puzzle::case::{Case, CaseArg, CaseLaunch, CaseTensor, Role};
use puzzle::tensor::{Tensor, encode};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use toolchain::process::{Finished, Limits, Running, run_guarded};
use toolchain::scratch::{Scratch, exceeds};

/// Errors that CUDA reports after a kernel did something wrong.
const KERNEL_FAULTS: [&str; 6] = [
    "cudaErrorIllegalAddress",
    "cudaErrorMisalignedAddress",
    "cudaErrorAssert",
    "cudaErrorLaunchFailure",
    "cudaErrorLaunchTimeout",
    "cudaErrorHardwareStackError",
];

/// However busy the device is: so many times as long as the host code may take.
const DEVICE: u64 = 12;

/// All tests of a submission together may take so many times as long as one.
const TESTS: u32 = 4;

/// On a busy machine, code that computes gets at least one of so many parts of a core.
const SHARES: u32 = 20;

/// Instructions of a warp, as for kernels that are launched by a spec.
const BUDGET: u64 = 64 << 20;

/// Findings of each launch.
const MAX_FINDINGS: usize = 32;

/// On the virtual machine, a launch may have so many threads for each element of the test's tensors ...
const THREADS: u64 = 16;

/// ... and so many in any case. The machine would work on more for minutes.
const MIN_THREADS: u64 = 1 << 20;

/// Bytes of each of stdout and stderr.
const OUTPUT: usize = 256 << 10;

const BOUNDS: Bounds =
    Bounds { cpu_seconds: 10, memory: 1 << 30, file_size: 256 << 20, open_files: 64 };

/// Bytes that the files of a run may take on disk, all together.
pub const DISK: u64 = 512 << 20;

/// Runs the functions of one library.
#[derive(Debug)]
pub struct HostBackend {
    program: HostProgram,
    /// Which GPU runs the kernels; `None`: the virtual machine.
    gpu: Option<Properties>,
    /// GPUs that earlier cases have left: to get a context from the driver takes longer than most cases.
    idle: Mutex<Vec<IdleDevice>>,
    /// Show what is known of results while they are written.
    shows_progress: bool,
    /// Time of all tests so far.
    spent: Mutex<Spent>,
}

/// The time that host code has used, and the device for it.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// In which the code ran or slept; not that in which it waited for a processor.
    host: Duration,
    device: Duration,
}

impl HostBackend {
    /// A backend for a program.
    pub fn new(program: HostProgram, gpu: Option<Properties>) -> Self {
        Self {
            program,
            gpu,
            idle: Mutex::default(),
            shows_progress: false,
            spent: Mutex::default(),
        }
    }

    /// Shows on the terminal what can be seen of results while they are written.
    #[must_use]
    pub fn with_progress(self) -> Self {
        Self { shows_progress: true, ..self }
    }

    /// The same program on the virtual machine, if it runs on a GPU now.
    pub fn interpreted(&self) -> Option<Self> {
        self.gpu.is_some().then(|| Self::new(self.program.clone(), None))
    }

    /// A device that holds nothing else, with the tensors that are not on the host.
    fn device<'a>(
        &self,
        case: &'a Case,
        on_host: &[bool],
        cancelled: &Arc<AtomicBool>,
        unwritten: Unwritten,
    ) -> Result<TestDevice<'a>, Failure> {
        let placed = (&case.tensors[..], &case.launches[..]);
        if self.gpu.is_some() {
            let idle = lock(&self.idle).pop();
            let device = idle.map_or_else(|| Ok(IdleDevice::new(gpu::detect()?)), Ok)?;
            return TestDevice::new(device, placed, on_host, None);
        }
        let options = Options {
            budget: BUDGET,
            work: vm::work_limit(&case.tensors),
            element: vm::element_work(&case.tensors),
            printed: vm::PRINTED,
            cancelled: Some(Arc::clone(cancelled)),
            max_findings: MAX_FINDINGS,
            ..Options::default()
        };
        let elements = case.elements();
        let most = (elements as u64 * THREADS).max(MIN_THREADS);
        let mut device = VmDevice::new(options).with_unwritten(unwritten);
        device.share(self.program.modules.clone());
        if let Some(capability) = self.program.capability {
            device.claim(capability);
        }
        if self.program.has_streams {
            device.expect_streams();
            device.delay_streams();
        }
        TestDevice::new(IdleDevice::new(device), placed, on_host, Some(most))
    }
}

/// The tensors of a case that lie in the host's memory, in one file.
struct HostMemory {
    file: PathBuf,
    len: usize,
    /// For each tensor of the case: where its image starts.
    offsets: Vec<Option<usize>>,
}

impl HostMemory {
    fn write(path: &Path, tensors: &[CaseTensor], on_host: &[bool]) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let mut offsets = Vec::new();
        for (tensor, &on_host) in tensors.iter().zip(on_host) {
            offsets.push(on_host.then_some(bytes.len()));
            if on_host {
                bytes.extend(image::before(tensor, Poison::FIRST));
            }
        }
        std::fs::write(path, &bytes)?;
        Ok(Self { file: path.to_owned(), len: bytes.len(), offsets })
    }

    /// Where the tensor itself is, past its guard.
    fn place(&self, index: usize, tensors: &[CaseTensor]) -> Option<usize> {
        let start = (*self.offsets.get(index)?)?;
        Some(start + image::Layout::of(&tensors.get(index)?.tensor).guard)
    }

    /// What is in a tensor now, and what was changed that must not be.
    fn after(&self, bytes: &[u8], index: usize, tensor: &CaseTensor) -> Option<Contents> {
        let start = (*self.offsets.get(index)?)?;
        let image = bytes.get(start..start + image::Layout::of(&tensor.tensor).total())?;
        image::after(tensor, image, Poison::FIRST)
    }
}

impl Backend for HostBackend {
    fn name(&self) -> &'static str {
        if self.gpu.is_some() { "gpu" } else { "vm" }
    }

    fn describe(&self) -> String {
        let device = self.gpu.as_ref().map_or("PTX virtual machine", |gpu| gpu.name.as_str());
        format!("{device}, host code in a process of its own")
    }

    /// Gates are of the launches that a spec describes.
    fn over_gates(&self, _case: &Case) -> Result<Vec<Finding>, Failure> {
        Ok(Vec::new())
    }

    fn try_out(&self, case: &Case) -> Result<Option<Run>, Failure> {
        self.run(case).map(Some)
    }

    /// Host code states nothing of its repetition.
    fn again(&self, _case: &Case, _nth: usize) -> Result<Option<Vec<RunTensor>>, Failure> {
        Ok(None)
    }

    fn run(&self, case: &Case) -> Result<Run, Failure> {
        Ok(self.run_within(case, None)?.0)
    }
}

impl HostBackend {
    /// Runs one case from fresh memory as [`Backend::run`] does, and says what that took the first time. A program that uses more than
    /// `limit` counts as one that does not end.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub fn run_within(&self, case: &Case, limit: Option<Usage>) -> Result<(Run, Usage), Failure> {
        let run = |unwritten| self.run_following(case, limit, None, unwritten);
        let first = run(Unwritten::default())?;
        let again = |unwritten| Ok(run(unwritten)?.run);
        Ok((vm::unwritten::dismiss(&case.tensors, first.run, again)?, first.usage))
    }

    /// The calls that change a tensor of a case, and all launches with what they store. It runs the case once more.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub fn stored(&self, case: &Case, tensor: usize) -> Result<Stored, Failure> {
        Ok(self.run_following(case, None, Some(tensor), Unwritten::default())?.stored)
    }

    fn run_following(
        &self,
        case: &Case,
        limit: Option<Usage>,
        followed: Option<usize>,
        unwritten: Unwritten,
    ) -> Result<Followed, Failure> {
        let room = |e: io::Error| no_room(&e);
        let folder = folder_of_run().map_err(room)?;
        let path = folder.path();
        let on_host = self.on_host(case.tensors.len(), &case.launches);
        let memory =
            HostMemory::write(&path.join(MEMORY), &case.tensors, &on_host).map_err(room)?;
        let cancelled = Arc::default();
        let mut device = self.device(case, &on_host, &cancelled, unwritten)?;
        if let Some(tensor) = followed {
            device.trace();
            if !on_host[tensor] {
                device.follow(tensor);
            }
        }
        let job = self.job((&case.tensors, &case.launches), &memory, &device)?;
        job.write(path).map_err(room)?;

        let spent = *lock(&self.spent);
        let whole = |per_test: u64| Duration::from_secs(per_test * job.bounds.cpu_seconds) * TESTS;
        if spent.host >= whole(1) || spent.device >= whole(DEVICE) {
            let run = Self::too_late(case, job.bounds.cpu_seconds);
            return Ok(Followed { run, usage: Usage::default(), stored: Stored::default() });
        }
        let begin = Instant::now();
        let watch = || Watch::new(case, &memory.file, &memory.offsets);
        let mut watch = self.shows_progress.then(watch).flatten();
        let Ended { finished, host, usage, is_full } =
            start(path, &job.bounds, limit, &mut device, watch.as_mut(), &cancelled)?;
        drop(watch);
        {
            let mut spent = lock(&self.spent);
            spent.host += host;
            spent.device += device.clock().busy();
        }
        let report = std::fs::read(path.join(REPORT)).unwrap_or_default();
        let report = String::from_utf8_lossy(&report);
        let mut end = ending::end(&finished, &report, &job.bounds, OUTPUT);
        if is_full {
            end.faults = vec![HostFault::OutOfDisk { limit: DISK }];
        }
        let time = begin.elapsed();

        let is_followed = followed.is_some_and(|tensor| !on_host[tensor]);
        let writers = is_followed.then(|| device.writers());
        let (traced, reads) = device.traced();
        let stored = Stored { writers, launches: traced, reads };
        let mut findings = self.findings(case, &end, &mut device);
        let memory_now = std::fs::read(&memory.file).unwrap_or_default();
        let mut tensors = Vec::new();
        for (i, tensor) in case.tensors.iter().enumerate() {
            // A file shorter than it was: the student's code cut it.
            let nothing = || Contents {
                tensor: RunTensor { values: Vec::new(), written: Vec::new() },
                damage: Vec::new(),
            };
            let Contents { tensor, damage } = if on_host[i] {
                memory.after(&memory_now, i, tensor).unwrap_or_else(nothing)
            } else {
                device.contents(i)
            };
            tensors.push(tensor);
            let kernel = case.launches.get(end.call).map_or("", |l| l.kernel.as_str());
            let damage = damage.into_iter();
            findings.extend(
                damage.map(|(kind, count)| Finding { count, ..Finding::of_kernel(kind, kernel) }),
            );
        }
        let printed = finished.stdout_text() + &finished.stderr_text() + &device.log();
        let holes = end.open.iter().map(|hole| format!("on this machine, host code can {hole}"));
        let notes = device.notes().into_iter().chain(holes).collect();
        let (threads, launched) = (device.threads(), device.launched().to_vec());
        let unused_reads = Vec::new();
        if self.gpu.is_some() {
            lock(&self.idle).extend(device.into_idle());
        }
        let run = Run { tensors, findings, unused_reads, printed, notes, time, threads, launched };
        Ok(Followed { run, usage, stored })
    }
}

/// A run, what it took, and what was followed.
struct Followed {
    run: Run,
    usage: Usage,
    stored: Stored,
}

/// What the calls of host code store.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The calls that change the tensor that is followed, in their order; `None` of one in the host's memory.
    pub writers: Option<Vec<Writer>>,
    /// The launches, with what they are given and store; the first of very many.
    pub launches: Vec<TracedLaunch>,
    /// What host code copied out of its own memory on the device, as floats.
    pub reads: Vec<Vec<f32>>,
}

/// What is behind a lock, whatever happened to who held it last.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder for the child.
fn folder_of_run() -> io::Result<Scratch> {
    let folder = Scratch::new("host")?;
    std::fs::create_dir(folder.path().join(SCRATCH))?;
    std::fs::write(folder.path().join(REPORT), "")?;
    Ok(folder)
}

impl HostBackend {
    /// What the functions launch with these tensors; nothing runs. The inner error says why that cannot be recorded.
    ///
    /// # Errors
    /// The process for host code cannot work.
    pub fn record(
        &self,
        tensors: &[Tensor],
        calls: &[CaseLaunch],
    ) -> Result<Result<Recording, String>, Failure> {
        let room = |e: io::Error| no_room(&e);
        let empty = |tensor: &Tensor| CaseTensor { tensor: tensor.clone(), role: Role::Workspace };
        let tensors: Vec<CaseTensor> = tensors.iter().map(empty).collect();
        let on_host = self.on_host(tensors.len(), calls);
        if on_host.contains(&true) {
            return Ok(Err("it takes tensors in the memory of the host".to_owned()));
        }
        let folder = folder_of_run().map_err(room)?;
        let path = folder.path();
        let memory = HostMemory::write(&path.join(MEMORY), &[], &[]).map_err(room)?;
        let record = SharedRecord::default();
        let device = IdleDevice::new(Recorder::new(self.gpu.clone(), record.clone()));
        let mut device = TestDevice::new(device, (&tensors, calls), &on_host, None)?;
        let job = self.job((&tensors, calls), &memory, &device)?;
        job.write(path).map_err(room)?;
        let cancelled = Arc::default();
        let Ended { finished, .. } = start(path, &job.bounds, None, &mut device, None, &cancelled)?;
        let report = std::fs::read(path.join(REPORT)).unwrap_or_default();
        let report = String::from_utf8_lossy(&report);
        let recording = record.recording();
        let end = ending::end(&finished, &report, &job.bounds, OUTPUT);
        if let (Ok(_), Some(fault)) = (&recording, end.faults.first()) {
            return Ok(Err(format!("its host code did not come to its end: {}", fault.name())));
        }
        Ok(recording)
    }

    /// What becomes of a test for which the submission has no time left.
    fn too_late(case: &Case, seconds: u64) -> Run {
        let fault = HostFault::NoTimeLeft { seconds: seconds * u64::from(TESTS) };
        let function = case.launches.first().map_or("", |launch| launch.kernel.as_str());
        let nothing = RunTensor { values: Vec::new(), written: Vec::new() };
        Run {
            tensors: vec![nothing; case.tensors.len()],
            findings: vec![Finding::of_kernel(Problem::Host(fault), function)],
            ..Run::default()
        }
    }

    fn entry(&self, launch: &CaseLaunch) -> Result<&Entry, Failure> {
        self.program.calls.get(&launch.kernel).ok_or_else(|| {
            let title = format!("the compiled file has no function `{}`", launch.kernel);
            Failure::new(FailureKind::Kernel, title, "the spec calls it by that name")
        })
    }

    /// For each tensor: whether the calls take it in the host's memory.
    fn on_host(&self, tensors: usize, calls: &[CaseLaunch]) -> Vec<bool> {
        let mut all = vec![false; tensors];
        for launch in calls {
            let Some(entry) = self.program.calls.get(&launch.kernel) else { continue };
            for (arg, &on_host) in launch.args.iter().zip(&entry.on_host) {
                if let (CaseArg::Tensor(i), true) = (arg, on_host) {
                    all[*i] = true;
                }
            }
        }
        all
    }

    fn job(
        &self,
        (all, launches): (&[CaseTensor], &[CaseLaunch]),
        memory: &HostMemory,
        device: &TestDevice,
    ) -> Result<Job, Failure> {
        let mut calls = Vec::new();
        for launch in launches {
            let entry = self.entry(launch)?;
            let arg = |arg: &CaseArg| match *arg {
                CaseArg::Tensor(i) => match memory.place(i, all) {
                    Some(offset) => Arg::Host(offset),
                    None => Arg::Device(device.address(i)),
                },
                CaseArg::Int(value) => Arg::Value(value.to_ne_bytes().to_vec()),
                CaseArg::Value(dtype, value) => Arg::Value(encode(dtype, &[value])),
            };
            let args = launch.args.iter().map(arg).collect();
            let copies = device.copies(launch);
            calls.push(Call { symbol: entry.symbol.clone(), args, copies });
        }
        let on_device = |i: &usize| memory.place(*i, all).is_none();
        let range = |i: usize| (device.address(i), all[i].tensor.bytes() as u64);
        let tensors = (0..all.len()).filter(on_device).map(range).collect();
        let memory = (memory.len > 0).then(|| (memory.file.clone(), memory.len));
        let bounds = Bounds { cpu_seconds: self.program.seconds, ..BOUNDS };
        let (library, references) = (self.program.file.1.clone(), self.program.references.clone());
        Ok(Job { library, references, calls, tensors, memory, bounds })
    }

    fn findings(&self, case: &Case, end: &End, device: &mut TestDevice) -> Vec<Finding> {
        let function = case.launches.get(end.call).map_or("", |l| l.kernel.as_str());
        let fault = |fault: &HostFault| Finding::of_kernel(Problem::Host(fault.clone()), function);
        let seen: Vec<Finding> = device.findings((&self.program.names.0, &self.program.names.1));
        // What CUDA says of a kernel's mistake tells less than the mistake itself.
        let news = |fault: &&HostFault| {
            let repeats = |name: &str| KERNEL_FAULTS.contains(&name);
            seen.is_empty() || !matches!(fault, HostFault::CudaError { name, .. } if repeats(name))
        };
        // A call that failed is why the kernels after it find nothing.
        let mut findings: Vec<Finding> = end.faults.iter().filter(news).map(fault).collect();
        findings.extend(seen);
        findings
    }
}

/// How long the threads of a process have run or wanted to, and how long they had to wait for a disk.
#[derive(Default)]
struct Activity {
    /// By thread; those that have ended, too.
    threads: BTreeMap<u32, Duration>,
    /// The time between looks at whose end it waited for a disk: a busy one is no mistake of the program.
    disk: Duration,
    /// When it was looked at last.
    last: Duration,
}

impl Activity {
    /// The part of the time `own` in which all threads of the child slept.
    fn slept(&mut self, child: Running, own: Duration) -> Duration {
        self.threads.extend(child.scheduled());
        if child.waits_for_disk() {
            self.disk += child.time.saturating_sub(self.last);
        }
        self.last = child.time;
        let active: Duration = if self.threads.is_empty() {
            // The system does not say how long they waited for a processor.
            SHARES * child.cpu_time()
        } else {
            self.threads.values().sum()
        };
        own.saturating_sub(self.disk + active.max(child.cpu_time()))
    }
}

/// How the child ended.
struct Ended {
    finished: Finished,
    /// How long it ran or slept.
    host: Duration,
    usage: Usage,
    /// It was stopped because of its files.
    is_full: bool,
}

/// Runs the child to its end, with the device at the other end of its standard input.
fn start(
    folder: &Path,
    bounds: &Bounds,
    limit: Option<Usage>,
    device: &mut TestDevice,
    mut watch: Option<&mut Watch>,
    cancelled: &AtomicBool,
) -> Result<Ended, Failure> {
    let broken = |e: io::Error| {
        let title = format!("the process for host code cannot be started: {e}");
        Failure::new(
            FailureKind::Environment,
            title,
            "the grader runs host code in a second process of its own program",
        )
    };
    let (own, childs) = UnixStream::pair().map_err(broken)?;
    let mut command = Command::new(own_program::path()?);
    // No variable of the grader's concerns the student's code.
    command.arg(CHILD_COMMAND).arg(folder).env_clear().stdin(Stdio::from(OwnedFd::from(childs)));
    let limits =
        Limits { timeout: Duration::from_secs(DEVICE * bounds.cpu_seconds), output: OUTPUT };
    let clock = device.clock();
    // Code that computes without end is ended by its own limit.
    let patience = Duration::from_secs(bounds.cpu_seconds);
    let mut activity = Activity::default();
    let (mut host, mut cpu, mut is_full) = (Duration::ZERO, Duration::ZERO, false);
    std::thread::scope(|scope| {
        let child = std::thread::Builder::new()
            .name("host code".into())
            .spawn_scoped(scope, || {
                let finished = run_guarded(command, &limits, &mut |child| {
                    if let Some(watch) = &mut watch {
                        watch.look();
                    }
                    let own = child.time.saturating_sub(clock.busy());
                    let slept = activity.slept(child, own);
                    cpu = child.cpu_time();
                    host = slept + cpu;
                    let left = DISK.checked_sub(child.unnamed());
                    is_full = left.is_none_or(|left| exceeds(&folder.join(SCRATCH), left));
                    let usage = Usage { host: cpu, device: clock.simulated() };
                    is_full || slept > patience || limit.is_some_and(|limit| usage.exceeds(limit))
                });
                // A launch that is under way has nobody to wait for it.
                cancelled.store(true, Relaxed);
                let usage = Usage { host: cpu, device: clock.simulated() };
                finished.map(|finished| Ended { finished, host, usage, is_full })
            })
            .map_err(broken)?;
        // On this thread, which may be one of rayon's: the machine shares its work out among them, and would wait for
        // ever if they all waited for their devices. When the child is gone, so is the other end of the socket.
        device.serve(own);
        let finished = child.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map_err(broken)
    })
}
