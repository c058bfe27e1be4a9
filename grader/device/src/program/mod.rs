//! Whole CUDA programs: host code with a `main`, run on the virtual machine.
//!
//! The program is compiled to a shared library without NVIDIA's runtime, and loaded by a child process of the grader's, in
//! which CUDA's functions are the `cudart` crate's. They ask the device, which is a thread of the grader's.

mod child;
mod named;
mod shown;

pub use child::main as child_main;

use crate::finding::{Check, Finding, HostFault, Problem};
use crate::host::{DISK, fault_of_signal};
use cudart::order::{has_streams, shares_memory};
use cudart::server::serve;
use cudart::vm::{KernelProfile, VmDevice};
use cudart::{is_driver_function, source_name};
use diagnostic::{Failure, FailureKind};
use named::Names;
use ptxvm::Options;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use shown::Shown;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use toolchain::scratch::{Scratch, exceeds};
use toolchain::{Headers, Library, LibraryRequest, Target, Toolchain, VirtualArch};

/// First argument of the process in which a program runs.
pub const CHILD_COMMAND: &str = "__program-child";

/// Time between two looks at the files of a confined program.
const LOOK: Duration = Duration::from_millis(80);

/// A confined program that has not ended by then, however busy the machine is and whether it computes, sleeps or waits for its
/// kernels, is stopped.
const LONGEST: Duration = Duration::from_secs(12 * child::BOUNDS.cpu_seconds);

/// Why a confined program was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// By its files.
    Full,
    /// By the clock.
    Late,
}

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
            flags.push("-rdc=true".to_owned());
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
            "the virtual machine has a part of cuBLAS, cuRAND and NVRTC; NVIDIA's libraries need a GPU and \
             nvcc itself"
        } else if of_the_driver(name) {
            "of CUDA's driver the virtual machine has devices, contexts, modules, links, launches, memory, arrays, \
             textures, streams and events; use the runtime for the rest"
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
    ["cublas", "curand", "nvrtc", "cufft", "cusparse", "cusolver", "cudnn", "nccl", "nvml"]
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

/// Runs a compiled program on the virtual machine, with the terminal as its own unless it is shut in. `grader` is the grader's executable.
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
        // No variable of the user's concerns the program, and the terminal obeys nothing that it prints.
        command.env_clear().stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    command.arg(&library.source.path).args(args);
    let usual = Options::default();
    let budget = if checks || confined { usual.budget } else { u64::MAX };
    let mut device = VmDevice::new(Options { budget, ..usual });
    device.claim(arch.capability());
    if has_streams(&library.undefined) || checks && shares_memory(&library.undefined) {
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
    let shown = Shown::of(&mut child);
    drop(childs);
    let pid = Pid::from_child(&child);
    let serve = || {
        let served = serve(own, &mut device);
        if served.is_ok() {
            // It may have closed its connection long before its end.
            wait_for_end(pid);
        }
        served
    };
    let served = match serve_within(&scratch, LONGEST, pid, serve) {
        Ok(served) => served,
        Err(stopped) => {
            child.wait().ok();
            let (what, help) = match stopped {
                Stopped::Full => (
                    format!("the program's files took more than {} MiB", DISK >> 20),
                    "does a loop write, or make files, without end?",
                ),
                Stopped::Late => (
                    format!("the program was still running after {} s", LONGEST.as_secs()),
                    "does it sleep, or launch kernels, without end?",
                ),
            };
            let title = format!("{what}, and it was stopped");
            return Err(Failure::new(FailureKind::Kernel, title, help));
        }
    };
    if let Err(error) = served {
        child.kill().ok();
        let title = format!("the program wrote to the connection of the CUDA runtime: {error}");
        let help = "it may have closed or reused a file descriptor that is not its own";
        child.wait().ok();
        return Err(Failure::new(FailureKind::Kernel, title, help));
    }
    let status = child.wait().map_err(cannot_start)?;
    if shown.was_too_much() {
        let title =
            format!("the program printed more than {} MiB, and it was stopped", shown::MOST >> 20);
        let help = "does a loop print without end?";
        return Err(Failure::new(FailureKind::Kernel, title, help));
    }
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

/// Waits until a child has ended, and leaves it to be waited for, so that its number stays its own.
fn wait_for_end(child: Pid) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(child), ended), Err(Errno::INTR)) {}
}

/// Does something while a program runs that, if it has a folder, may fill it up to a limit, and run for so long.
///
/// # Errors
/// The program was killed for one of these.
fn serve_within<T>(
    folder: &Path,
    longest: Duration,
    program: Pid,
    serve: impl FnOnce() -> T,
) -> Result<T, Stopped> {
    let (done, begin) = (AtomicBool::new(false), Instant::now());
    let watch = || {
        while folder.exists() && !done.load(Relaxed) {
            let is_full = exceeds(folder, DISK).then_some(Stopped::Full);
            let stopped = is_full.or((begin.elapsed() > longest).then_some(Stopped::Late));
            if stopped.is_some() {
                // It cannot be another's number: the program is waited for later.
                kill_process(program, Signal::KILL).ok();
                return stopped;
            }
            thread::park_timeout(LOOK);
        }
        None
    };
    let (served, stopped) = thread::scope(|scope| {
        let watch = scope.spawn(watch);
        let served = serve();
        done.store(true, Relaxed);
        watch.thread().unpark();
        (served, watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    stopped.map_or(Ok(served), Err)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confined_program_that_waits_is_stopped_by_the_clock() {
        let folder = tempfile::tempdir().unwrap();
        let sleeping = |seconds: &str, longest| {
            let mut child = Command::new("sleep").arg(seconds).spawn().unwrap();
            let pid = Pid::from_child(&child);
            let served = serve_within(folder.path(), longest, pid, || wait_for_end(pid));
            (served, child.wait().unwrap().signal())
        };
        let killed = Some(Signal::KILL.as_raw());
        assert_eq!(sleeping("600", Duration::from_millis(200)), (Err(Stopped::Late), killed));
        assert_eq!(sleeping("0.2", Duration::from_secs(60)), (Ok(()), None));
    }
}
