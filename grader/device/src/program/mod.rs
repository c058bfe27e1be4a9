//! Whole CUDA programs: host code with a `main`, run on the virtual machine.
//!
//! The program is compiled to a shared library without NVIDIA's runtime, and loaded by a child process of the grader's, in
//! which CUDA's functions are the `cudart` crate's. They ask the device, which is a thread of the grader's.

mod child;
mod named;

pub use child::main as child_main;

use crate::finding::{Check, Finding, HostFault, Problem};
use crate::host::{DISK, fault_of_signal};
use cudart::order::has_streams;
use cudart::server::serve;
use cudart::vm::{KernelProfile, VmDevice};
use cudart::{is_driver_function, source_name};
use diagnostic::{Failure, FailureKind};
use named::Names;
use ptxvm::Options;
use rustix::process::{Pid, Signal, kill_process};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use toolchain::scratch::{Scratch, exceeds};
use toolchain::{Headers, Library, LibraryRequest, Target, Toolchain, VirtualArch};

/// First argument of the process in which a program runs.
pub const CHILD_COMMAND: &str = "__program-child";

/// Time between two looks at the files of a confined program.
const LOOK: Duration = Duration::from_millis(80);

/// A program that ran.
#[derive(Debug)]
pub struct Ran {
    /// How its process ended.
    pub status: ExitStatus,
    /// What its kernels did wrong, in the order of the launches.
    pub findings: Vec<Finding>,
    /// Device memory that was never freed, unless a fault kept the program from it: allocations and bytes.
    pub leaked: (usize, usize),
    /// How many kernels were launched.
    pub launches: usize,
    /// The kernels of launches that could not start.
    pub refused: Vec<String>,
    /// What each kernel cost, where that was counted.
    pub profiles: Vec<Profile>,
}

/// What a kernel of a program cost.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name in the source, with template arguments.
    pub name: String,
    /// The PTX that it is in.
    pub ptx: Arc<str>,
    /// What its launches did, together.
    pub of: KernelProfile,
}

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Its source files, at least one.
    pub files: &'a [PathBuf],
    /// Folders of what they may include, in order.
    pub folders: &'a [PathBuf],
    /// What of it they may include.
    pub headers: Headers<'a>,
    /// Further options for nvcc.
    pub flags: &'a [String],
}

/// Options of nvcc, without their hyphens, with which kernels can call functions of other files.
const LINKS_DEVICE_CODE: [&str; 4] = ["rdc=true", "relocatable-device-code=true", "dc", "device-c"];

/// Compiles a program for the virtual machine, or for a GPU.
///
/// # Errors
/// It does not compile, or calls what is nowhere defined.
pub fn compile(
    toolchain: &Toolchain,
    sources: &Sources<'_>,
    target: Target,
) -> Result<Library, Failure> {
    let base = std::env::current_dir().unwrap_or_default();
    // The first file is the one whose device code is compiled beside its host code.
    let first = sources.files.iter().position(|file| file.extension().is_some_and(|e| e == "cu"));
    let mut others = sources.files.to_owned();
    let source = &others.remove(first.unwrap_or(0));
    let mut flags = sources.flags.to_owned();
    let mut joined = Vec::new();
    if matches!(target, Target::Library { .. }) {
        // PTX is not linked: the sources become one.
        flags.retain(|flag| !LINKS_DEVICE_CODE.contains(&flag.trim_start_matches('-')));
        if flags.len() < sources.flags.len() {
            (joined, others) =
                others.into_iter().partition(|file| file.extension().is_some_and(|e| e == "cu"));
        }
    }
    let library = toolchain.library(&LibraryRequest {
        source,
        glue: "",
        include_dirs: sources.folders,
        headers: sources.headers,
        target,
        flags: &flags,
        others: &others,
        joined: &joined,
        libraries: true,
        base: &base,
    })?;
    let missing = |name: &&String| {
        !(name.starts_with("cuda") || name.starts_with("__cuda") || is_driver_function(name))
    };
    if let Some(name) = library.undefined.iter().find(missing) {
        let title = format!("`{name}` is declared and called, but never defined");
        let help = if library_of_nvidia(name) {
            "the virtual machine has a part of cuBLAS and cuRAND; NVIDIA's libraries need a GPU and nvcc \
             itself"
        } else if of_the_driver(name) {
            "of CUDA's driver the virtual machine has tensor maps and the names of errors; use the runtime \
             for the rest"
        } else {
            "define it, or name the file that does so after this one: the grader links the files that \
             it is given with CUDA's runtime and the C++ library, and nothing else"
        };
        return Err(Failure::new(FailureKind::Kernel, title, help));
    }
    Ok(library)
}

/// Is this a function of CUDA's driver, such as `cuMemAlloc_v2`?
fn of_the_driver(function: &str) -> bool {
    function
        .strip_prefix("cu")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Is this a function of a library that comes with CUDA, besides its runtime?
fn library_of_nvidia(function: &str) -> bool {
    ["cublas", "curand", "cufft", "cusparse", "cusolver", "cudnn", "nccl", "nvml"]
        .iter()
        .any(|name| function.starts_with(name))
}

/// Runs a program that was compiled for a GPU; its exit status.
///
/// # Errors
/// It cannot be started.
pub fn run_natively(library: &Library, args: &[OsString]) -> Result<ExitStatus, Failure> {
    let started = || {
        let folder = Scratch::new("run")?;
        let file = folder.path().join("program");
        std::fs::write(&file, &library.bytes)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700))?;
        Command::new(&file).arg0(&library.source.path).args(args).status()
    };
    started().map_err(|e| cannot_start(&e))
}

/// A program for the virtual machine.
#[derive(Clone, Copy, Debug)]
pub struct Emulated<'a> {
    /// The program's code, compiled with [`Target::Library`].
    pub library: &'a Library,
    /// The architecture that it was compiled for, which the machine then claims to have.
    pub arch: VirtualArch,
    /// The program's own arguments.
    pub args: &'a [OsString],
    /// Count what the kernels cost.
    pub count: bool,
    /// Findings are wanted: work in streams is done as late as its order allows, and a kernel that seems endless is stopped. Unless the
    /// program is shut in, one may run as long as it likes otherwise, as on a GPU that drives no screen.
    pub checks: bool,
    /// Shut it in, as the host code of a puzzle.
    pub confined: bool,
}

/// Runs a compiled program on the virtual machine, with the terminal as its own. `grader` is the grader's executable.
///
/// # Errors
/// Its process cannot be started.
pub fn run(program: Emulated, grader: &Path) -> Result<Ran, Failure> {
    let Emulated { library, arch, args, count, checks, confined } = program;
    let cannot_start = |e: io::Error| cannot_start(&e);
    let folder = Scratch::new("run").map_err(cannot_start)?;
    let file = folder.path().join("program.so");
    std::fs::write(&file, &library.bytes).map_err(cannot_start)?;
    let scratch = folder.path().join(child::SCRATCH);
    if confined {
        std::fs::create_dir(&scratch).map_err(cannot_start)?;
    }
    let (own, childs) = UnixStream::pair().map_err(cannot_start)?;
    // The child finds it under its number.
    rustix::io::fcntl_setfd(&childs, rustix::io::FdFlags::empty())
        .map_err(|e| cannot_start(e.into()))?;
    let mut command = Command::new(grader);
    command.arg(CHILD_COMMAND).arg(child::number(&childs)).arg(&file);
    if confined {
        // No variable of the user's concerns the program.
        command.env_clear();
    }
    command.arg(&library.source.path).args(args);
    let usual = Options::default();
    let budget = if checks || confined { usual.budget } else { u64::MAX };
    let mut device = VmDevice::new(Options { budget, ..usual });
    device.claim(arch.capability());
    if has_streams(&library.undefined) {
        device.expect_streams();
    }
    if checks {
        device.delay_streams();
    }
    if arch != VirtualArch::default() {
        let oldest = VirtualArch::default().0;
        device.advise(format!(
            "code for an older architecture may not need it: try --arch sm_{oldest}"
        ));
    }
    if count {
        device.profile();
    }
    let mut child = command.spawn().map_err(cannot_start)?;
    drop(childs);
    let served = serve_within(&scratch, Pid::from_child(&child), || serve(own, &mut device));
    let Some(served) = served else {
        child.wait().ok();
        let title =
            format!("the program's files took more than {} MiB, and it was stopped", DISK >> 20);
        let help = "does a loop write, or make files, without end?";
        return Err(Failure::new(FailureKind::Kernel, title, help));
    };
    if let Err(error) = served {
        child.kill().ok();
        let title = format!("the program wrote to the connection of the CUDA runtime: {error}");
        let help = "it may have closed or reused a file descriptor that is not its own";
        child.wait().ok();
        return Err(Failure::new(FailureKind::Kernel, title, help));
    }
    let status = child.wait().map_err(cannot_start)?;
    let names = Names::new(&device);
    let of_launches = device.launch_findings().map(|found| names.finding(found));
    let of_streams = device.races().iter().map(|found| names.race(found));
    let mut findings: Vec<Finding> = of_streams.chain(of_launches).collect();
    for line in findings.iter_mut().filter_map(|finding| finding.line.as_mut()) {
        line.file = library.names.restore(&line.file).display().to_string().into();
    }
    let mut findings = merged(findings);
    // After a fault every call fails, also those that free memory.
    let faulted = findings.iter().any(|finding| match &finding.problem {
        Problem::Check(kind) => kind.fault().is_some(),
        _ => false,
    });
    let leaked = if faulted { (0, 0) } else { device.memory().in_use() };
    let fault = ending(status, confined);
    findings.extend(fault.map(|fault| Finding::of_kernel(Problem::Host(fault), "")));
    let launches = device.launches();
    let refused = device.refused_kernels().iter().map(|kernel| source_name(kernel)).collect();
    Ok(Ran { status, findings, leaked, launches, refused, profiles: profiles(&device) })
}

/// What is wrong with a program that a signal ended, unless that is a signal with which people and pipes end programs.
fn ending(status: ExitStatus, confined: bool) -> Option<HostFault> {
    let signal = status.signal()?;
    let is = |one: &Signal| one.as_raw() == signal;
    match signal {
        _ if [Signal::INT, Signal::TERM, Signal::HUP, Signal::PIPE].iter().any(is) => None,
        _ if confined => Some(fault_of_signal(signal, child::BOUNDS.cpu_seconds)),
        _ => Some(HostFault::Crash { signal }),
    }
}

/// Findings of several launches that are the same mistake in the same line become one.
fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for finding in findings {
        let same = |old: &&mut Finding| {
            let same = match (&old.problem, &finding.problem) {
                (Problem::Check(old), Problem::Check(new)) => old.same(new),
                _ => false,
            };
            same && (&old.kernel, &old.line) == (&finding.kernel, &finding.line)
        };
        match all.iter_mut().find(same) {
            Some(old) => old.count += finding.count,
            None => all.push(finding),
        }
    }
    all
}

/// Does something while a program runs that may fill its folder, if it has one, up to a limit. `None` if it was killed for that.
fn serve_within<T>(folder: &Path, program: Pid, serve: impl FnOnce() -> T) -> Option<T> {
    let (done, is_full) = (AtomicBool::new(false), AtomicBool::new(false));
    let watch = || {
        while folder.exists() && !done.load(Relaxed) {
            if exceeds(folder, DISK) {
                is_full.store(true, Relaxed);
                // It cannot be another's number: the program is waited for later.
                kill_process(program, Signal::KILL).ok();
                return;
            }
            thread::park_timeout(LOOK);
        }
    };
    let served = thread::scope(|scope| {
        let watch = scope.spawn(watch);
        let served = serve();
        done.store(true, Relaxed);
        watch.thread().unpark();
        served
    });
    (!is_full.into_inner()).then_some(served)
}

/// The profiles of the kernels, those of most instructions first.
fn profiles(device: &VmDevice) -> Vec<Profile> {
    let mut texts: BTreeMap<u64, Arc<str>> = BTreeMap::new();
    let named = |of: &KernelProfile| {
        let ptx = texts
            .entry(of.module)
            .or_insert_with(|| device.ptx(of.module).unwrap_or_default().into());
        Profile { name: source_name(&of.kernel), ptx: Arc::clone(ptx), of: of.clone() }
    };
    let mut all: Vec<Profile> = device.profiles().iter().map(named).collect();
    all.sort_by_key(|profile| Reverse(profile.of.counters.total.instructions()));
    all
}

fn cannot_start(error: &io::Error) -> Failure {
    let title = format!("the program's process cannot be started: {error}");
    let help = "free some space in the folder for temporary files, or set TMPDIR to another one";
    Failure::new(FailureKind::Environment, title, help)
}

/// The exit code that a shell would report.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    // The system keeps only the lowest eight bits.
    code as u8
}
