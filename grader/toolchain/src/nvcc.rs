//! Runs nvcc: kernels to PTX, PTX to machine code, and host code to libraries and programs.

mod device_part;
mod direct;
mod execution;
mod glue;
mod library;
mod plan;
mod precompiled_header;
mod stage;

use super::assembler;
use super::cache::Cache;
use super::confinement::{Confinement, installation};
use super::env::Env;
use super::find::{Nvcc, identity};
use super::front_end::{FrontEnd, HostOutput, Job, Linked, Output, Readable, Target, VirtualArch};
use super::messages::{Level, Message, parse};
use super::resources::{self, Resources};
use super::scratch::{self, Scratch};
use super::supplied_headers;
use super::usage::StandardLibrary;
use crate::process::{Finished, Limits, Termination, run_until};
use diagnostic::{Failure, FailureKind};
use rustix::process::Signal;
use stage::Stage;
use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What a compilation may take.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Seconds of processor time of each program of the compiler, for a file that may be anybody's.
    cpu_seconds: u64,
    /// The same for a program of the user's own, which may be as large as they like.
    own_cpu_seconds: u64,
    /// On the clock, for what does not compute, and on machines that are busy.
    time: Duration,
    /// Bytes of all temporary files together.
    disk: u64,
}

impl Bounds {
    /// Seconds of processor time of each program that reads these files, or any if there are none.
    fn cpu_seconds(&self, readable: Option<Readable<'_>>) -> u64 {
        if readable.is_some() { self.cpu_seconds } else { self.own_cpu_seconds }
    }
}

/// Kernels compile in a second, and with all headers of CUB in ten; what computes for 45 never ends. On the clock that can be any
/// time on a busy machine.
const BOUNDS: Bounds = Bounds {
    cpu_seconds: 45,
    own_cpu_seconds: 120,
    time: Duration::from_secs(1200),
    disk: 2 << 30,
};

/// Time between two looks at the disk.
const LOOK: Duration = Duration::from_millis(500);

/// How a compiler ends that has used up its processor time.
const OUT_OF_TIME: Termination = Termination::Signal(Signal::XCPU.as_raw());

/// Exit codes from here on are the shell's word for a signal.
const SIGNALLED: i32 = 128;

/// Was it not a crash? What a program says that crashed is little; nvcc says more. What met a limit would only meet it again.
fn is_readable(done: &Finished) -> bool {
    let ended = matches!(done.ending, Termination::Code(..SIGNALLED) | Termination::TimedOut);
    ended || done.ending == OUT_OF_TIME
}

/// Enough for the first hundred errors, after which nvcc stops by itself.
const OUTPUT: usize = 1 << 20;

/// For sources that cannot notice: leaves out libstdc++'s special functions (`std::beta` and the like), which
/// `cuda_runtime.h` brings in and which take a fifth of the whole compile. The PTX is the same byte for byte.
const WITHOUT_SPECIAL_FUNCTIONS: &str = "-D_GLIBCXX_BITS_SPECFUN_H=1";

/// What else comes with the special functions, for sources that can name it.
const BESIDE_SPECIAL_FUNCTIONS: [&str; 4] =
    ["-include", "limits", "-include", "bits/stl_algobase.h"];

/// Has glibc ask for pages of 2 MB: a front end touches so much memory that a third of its time goes into page faults.
const MALLOC: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// What a front end says when it gets no more memory.
const OUT_OF_MEMORY: &str = "catastrophic error: out of memory";

/// Lists more folders that the compilers may read while they are confined.
const FOLDERS: &str = "GRADER_COMPILER_FOLDERS";

/// Variables that change what nvcc does.
const VARIABLES: [&str; 3] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

/// Where a compiler runs.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    /// The current folder, which is that of its temporary files and its output.
    scratch: &'a Path,
    /// What it may read besides what compilers always need; `None` for everything.
    readable: Option<Readable<'a>>,
}

impl<'a> Place<'a> {
    fn of(job: &Job<'a>, scratch: &'a Path) -> Self {
        Self { scratch, readable: job.readable }
    }
}

/// nvcc, as a front end.
#[derive(Clone, Debug)]
pub struct NvccFrontEnd {
    nvcc: Nvcc,
    env: Env,
    cache: Cache,
    bounds: Bounds,
}

impl NvccFrontEnd {
    /// This nvcc, with these variables around it, and a cache for what makes the next compilation faster.
    pub fn new(nvcc: Nvcc, env: Env, cache: Cache) -> Self {
        Self { nvcc, env, cache, bounds: BOUNDS }
    }

    /// The folder of headers that the host compiler has parsed.
    fn precompiled_headers(&self) -> PathBuf {
        self.cache.folder().with_file_name(precompiled_header::FOLDER)
    }

    fn run(&self, place: Place<'_>, arguments: &[OsString]) -> Result<Finished, Failure> {
        self.run_for(Instant::now(), place, arguments)
    }

    /// Runs nvcc as a part of what began at `start`.
    fn run_for(
        &self,
        start: Instant,
        place: Place<'_>,
        arguments: &[OsString],
    ) -> Result<Finished, Failure> {
        let mut command = self.env.command(&self.nvcc.path);
        command.args(arguments);
        self.run_command(command, start, place, &|| false)
    }

    /// Runs nvcc, or one of the programs that it would run, until it is in vain.
    fn run_command(
        &self,
        mut command: Command,
        start: Instant,
        place: Place<'_>,
        in_vain: &dyn Fn() -> bool,
    ) -> Result<Finished, Failure> {
        // English messages; and all temporary files where they are removed even when nvcc is killed.
        command.current_dir(place.scratch).env("LC_ALL", "C").env("TMPDIR", place.scratch);
        if self.env.get(MALLOC.0).is_none() {
            command.env(MALLOC.0, MALLOC.1);
        }
        let program = command.get_program().to_owned();
        let Bounds { time, disk, .. } = self.bounds;
        let cpu_seconds = self.bounds.cpu_seconds(place.readable);
        let limits = Limits { timeout: time.saturating_sub(start.elapsed()), output: OUTPUT };
        let confinement = place.readable.map(|files| self.confinement(files, place.scratch));
        let (looked, is_full) = (Cell::new(Instant::now()), Cell::new(false));
        let stop = || {
            if looked.get().elapsed() >= LOOK {
                is_full.set(scratch::exceeds(place.scratch, disk));
                looked.set(Instant::now());
            }
            is_full.get() || in_vain()
        };
        let done = run_until(command, &limits, confinement.as_ref(), cpu_seconds, &stop);
        let done = done.map_err(|e| {
            let title = format!("cannot start {}: {e}", program.display());
            Failure::new(FailureKind::Environment, title, "`grader doctor` shows what is installed")
        })?;
        if is_full.get() {
            let title =
                format!("for this file nvcc needs more than {} GB of temporary files", disk >> 30);
            let help = "templates without end, or huge arrays with initial values, can do that";
            return Err(Failure::new(FailureKind::Kernel, title, help));
        }
        Ok(done)
    }

    /// What the compilers may touch when they read these files and work in this folder.
    fn confinement(&self, readable: Readable<'_>, scratch: &Path) -> Confinement {
        let compilers = [Some(self.nvcc.path.clone()), self.env.host_compiler()];
        let mut read: Vec<PathBuf> =
            compilers.into_iter().flatten().filter_map(|program| installation(&program)).collect();
        read.extend(self.env.host_include_folders());
        // Homebrew, which says where it is, links a compiler to libraries beside its own folder.
        for variable in ["HOMEBREW_PREFIX", FOLDERS] {
            read.extend(self.env.folders(variable));
        }
        Confinement {
            read,
            files: readable.files.to_owned(),
            closed: Some(readable.closed.to_owned()),
            write: vec![scratch.to_owned(), self.precompiled_headers()],
        }
    }

    /// Compiles an empty file: is it this machine or the student's file that nvcc stumbles over?
    fn works(&self, place: Place<'_>) -> bool {
        let scratch = place.scratch;
        let source = scratch.join("empty.cu");
        let output = scratch.join("empty.ptx");
        let arguments = ["-ptx", "-arch=sm_75", "-std=c++17", "empty.cu", "-o", "empty.ptx"]
            .map(OsString::from);
        std::fs::write(source, "").is_ok()
            && self.run(place, &arguments).is_ok_and(|done| done.success())
            && output.exists()
    }

    /// Nothing, if a failed compilation is the student's mistake.
    fn blame(
        &self,
        done: &Finished,
        messages: &[Message],
        job: &Job<'_>,
        scratch: &Path,
    ) -> Result<(), Failure> {
        if job.readable.is_some() && done.stderr_text().contains(OUT_OF_MEMORY) {
            let title = "this file needs more memory than a compiler may take";
            let help = "templates that instantiate each other without end, or huge arrays with initial values, can do that";
            return Err(Failure::new(FailureKind::Kernel, title, help));
        }
        let is_out_of_time = done.ending == OUT_OF_TIME;
        if is_out_of_time || done.ending == Termination::TimedOut {
            let after = if is_out_of_time {
                format!("{} s of processor time", self.bounds.cpu_seconds(job.readable))
            } else {
                format!("{} s", self.bounds.time.as_secs())
            };
            let title = format!("nvcc was still compiling after {after} and was stopped");
            let help = "templates that instantiate each other without end, or a huge unrolled loop, can do that";
            return Err(Failure::new(FailureKind::Kernel, title, help));
        }
        let errors = || messages.iter().filter(|m| m.level == Level::Error);
        let blames_student = |m: &Message| m.at_end_of_source() || job.is_students(&m.file);
        if cause(&done.stderr_text()).is_some() {
            return Err(self.broken(done, job.readable.is_some()));
        }
        if errors().any(blames_student) {
            return Ok(());
        }
        match (self.works(Place::of(job, scratch)), errors().next()) {
            (false, _) => Err(self.broken(done, job.readable.is_some())),
            (true, Some(_)) => Ok(()),
            // A program of the compiler crashed, or ran into its limits.
            (true, None) => Err(unable(done)),
        }
    }

    /// What to say when nvcc failed without a word about the student's file.
    fn broken(&self, done: &Finished, confined: bool) -> Failure {
        let text = done.stderr_text();
        let (title, help) = if let Some((title, help)) = cause(&text) {
            (title.to_owned(), help.to_owned())
        } else {
            let said = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing").trim();
            (
                format!("nvcc does not work here; it says: {said}"),
                "`grader doctor` shows what is installed; to use another nvcc, pass --nvcc"
                    .to_owned(),
            )
        };
        let mut failure = Failure::new(FailureKind::Environment, title, help);
        let nvcc = format!("the compiler is {} ({})", self.nvcc.path.display(), self.nvcc.origin);
        failure.diagnostics[0].help.push(nvcc);
        if confined && text.contains("ermission denied") {
            let help = format!(
                "it may read system folders, its own and those that {FOLDERS} lists (separated by `:`): add what it misses"
            );
            failure.diagnostics[0].help.push(help);
        }
        failure
    }
}

impl FrontEnd for NvccFrontEnd {
    fn describe(&self) -> String {
        format!("nvcc {}", self.nvcc.version)
    }

    fn identity(&self) -> Option<Vec<u8>> {
        let mut parts = identity(&self.nvcc.path);
        parts.extend(self.nvcc.version.to_string().bytes());
        for name in VARIABLES {
            let value = self.env.get(name).unwrap_or_default().as_bytes();
            // Folders and files named there are not followed.
            let reads_files = ["-I", "include", "-isystem", "optf", "options-file", "-X"];
            if reads_files.iter().any(|f| value.windows(f.len()).any(|w| w == f.as_bytes())) {
                return None;
            }
            parts.push(0);
            parts.extend(value);
        }
        // The host compiler's headers come with it.
        parts.extend(self.env.host_compiler().map(|path| identity(&path)).unwrap_or_default());
        Some(parts)
    }

    fn flags(&self, job: &Job<'_>) -> Vec<OsString> {
        let mut flags = Vec::new();
        flags.push(format!("-arch=sm_{}", job.arch).into());
        // Only the preprocessor of the host compiler is used, so a version that nvcc does not know yet may well do.
        // Naming the C++ version spares a question to the host compiler.
        let lines = if job.debugger { "-G" } else { "-lineinfo" };
        flags.extend([lines, "-allow-unsupported-compiler"].map(OsString::from));
        if !job.flags.iter().any(|flag| flag.starts_with("-std")) {
            flags.push("-std=c++17".into());
        }
        if job.library != StandardLibrary::Whole {
            flags.push(WITHOUT_SPECIAL_FUNCTIONS.into());
        }
        if job.library == StandardLibrary::WithoutSpecialFunctions {
            flags.extend(BESIDE_SPECIAL_FUNCTIONS.map(OsString::from));
        }
        if job.supplied {
            flags.push(format!("-Xcompiler=-idirafter,{}", supplied_headers::FOLDER).into());
        }
        flags.extend(job.flags.iter().map(OsString::from));
        flags
    }

    fn ptx(&self, job: &Job<'_>) -> Result<Output, Failure> {
        let scratch = scratch()?;
        let stage = Stage::new(job, scratch.path()).map_err(|e| no_scratch(&e))?;
        let ptx = scratch.path().join("out.ptx");
        let arguments = self.arguments(job, &stage, &ptx);
        let place = Place::of(job, scratch.path());
        let done = match direct::run(self, job, &stage, &arguments)? {
            Some(done) => done,
            None => self.run(place, &arguments)?,
        };
        let stderr = done.stderr_text();
        let mut messages = stage.restore(parse(&stderr));
        let ptx = std::fs::read_to_string(&ptx).ok().map(|ptx| stage.restore_ptx(&ptx));
        let text = ptx.as_deref().unwrap_or_default();
        let mut refused = assembler::errors(&stderr, text);
        if done.success() && ptx.is_some() {
            if job.inline_ptx {
                let (_, said) = self.run_assembler(text, job.arch, place)?;
                refused = assembler::errors(&said.stderr_text(), text);
            }
            if refused.is_empty() {
                return Ok(Output { ptx, messages });
            }
            return Ok(Output { ptx: None, messages: refused });
        }
        if !refused.is_empty() {
            messages = refused;
        }
        self.blame(&done, &messages, job, scratch.path())?;
        Ok(Output { ptx: None, messages })
    }

    fn host_flags(&self, target: Target) -> Vec<OsString> {
        library::flags(&self.nvcc.path, target)
    }

    fn host(
        &self,
        job: &Job<'_>,
        target: Target,
        linked: Option<&Linked<'_>>,
    ) -> Result<HostOutput, Failure> {
        library::compile(self, job, target, linked)
    }

    fn resources(&self, ptx: &str, sm: u32) -> Result<Vec<Resources>, Failure> {
        Ok(resources::read(&self.assemble(ptx, sm)?.1))
    }

    fn machine_code(&self, ptx: &str, sm: u32) -> Result<Vec<u8>, Failure> {
        Ok(self.assemble(ptx, sm)?.0)
    }
}

impl NvccFrontEnd {
    /// The options that make PTX of a job.
    fn arguments(&self, job: &Job<'_>, stage: &Stage<'_>, ptx: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-ptx".into(), "-x".into(), "cu".into()];
        arguments.extend(self.flags(job));
        arguments.extend(stage.options());
        arguments.extend([Stage::source(), "-o".into(), ptx.into()]);
        arguments
    }

    /// Runs the assembler: machine code if it made some, and what it said.
    fn run_assembler(
        &self,
        ptx: &str,
        arch: VirtualArch,
        place: Place<'_>,
    ) -> Result<(Option<Vec<u8>>, Finished), Failure> {
        let scratch = place.scratch;
        let (input, output) = (scratch.join("in.ptx"), scratch.join("out.cubin"));
        std::fs::write(&input, ptx).map_err(|e| no_scratch(&e))?;
        let arch = format!("-arch=sm_{arch}");
        let options = ["-cubin", &arch, "-lineinfo", "-Xptxas", "-v"];
        let mut arguments: Vec<OsString> = options.into_iter().map(OsString::from).collect();
        arguments.extend([input.into(), "-o".into(), OsString::from(&output)]);
        let done = self.run(place, &arguments)?;
        let code = done.success().then(|| std::fs::read(&output).ok()).flatten();
        Ok((code, done))
    }

    /// Machine code, and what the assembler says of it.
    fn assemble(&self, ptx: &str, sm: u32) -> Result<(Vec<u8>, String), Failure> {
        let scratch = scratch()?;
        // What the compiler made of a submission is all that the assembler needs to see.
        let nothing_else = Readable { files: &[], closed: scratch.path() };
        let place = Place { scratch: scratch.path(), readable: Some(nothing_else) };
        // Instructions of one architecture alone are assembled for no other.
        let own = ptx.contains("\n.target sm_90a");
        let arch = if own { VirtualArch::HOPPER } else { VirtualArch(sm) };
        let (code, done) = self.run_assembler(ptx, arch, place)?;
        if let Some(code) = code {
            return Ok((code, done.stderr_text() + &done.stdout_text()));
        }
        let text = done.stderr_text();
        if text.contains("nsupported gpu architecture")
            || text.contains("is not defined for option 'gpu-architecture'")
        {
            let title = format!(
                "nvcc {} cannot make machine code for this GPU (sm_{sm})",
                self.nvcc.version
            );
            let help = "run on the virtual machine (--backend vm), or choose an nvcc that supports \
                this GPU with --nvcc";
            return Err(Failure::new(FailureKind::Environment, title, help));
        }
        match parse(&text)
            .into_iter()
            .find(|m| m.level == Level::Error && m.text.starts_with("Entry function"))
        {
            Some(message) => {
                let help = "a block has 48 KB of shared memory unless it asks for more";
                Err(Failure::new(FailureKind::Kernel, message.text, help))
            }
            None if cause(&text).is_none() && self.works(place) => Err(unable(&done)),
            None => Err(self.broken(&done, false)),
        }
    }
}

/// What to say of a file that the compiler cannot cope with, though it can with others.
fn unable(done: &Finished) -> Failure {
    let text = done.stderr_text();
    // The assembler names its temporary file in a line of its own, and before each message: `/tmp/x.s:7: Error: no such instruction`.
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let said = lines.find(|line| !line.ends_with(": Assembler messages:")).unwrap_or("nothing");
    let said = said.split_once(": Error: ").map_or(said, |(_, error)| error).trim();
    let title = format!("the compiler cannot compile this file; it says: {said}");
    let help = "it compiles others here; huge arrays, or templates without end, can do that";
    Failure::new(FailureKind::Kernel, title, help)
}

/// A folder for one compilation, removed afterwards.
fn scratch() -> Result<Scratch, Failure> {
    let scratch = Scratch::new(scratch::COMPILER).map_err(|e| no_scratch(&e))?;
    // nvcc hands the names of its temporary files to a shell.
    let special = |&byte: &u8| b"$`\"\\".contains(&byte) || byte.is_ascii_control();
    if scratch.path().as_os_str().as_bytes().iter().any(special) {
        let title = "the path of the folder for temporary files has a character that a shell takes for a command";
        let help = "set TMPDIR to a folder whose path has none of $ ` \" \\";
        return Err(Failure::new(FailureKind::Environment, title, help));
    }
    Ok(scratch)
}

fn no_scratch(error: &std::io::Error) -> Failure {
    let title = format!("cannot write to the folder for temporary files: {error}");
    Failure::new(
        FailureKind::Environment,
        title,
        "free some space there, or set TMPDIR to another folder",
    )
}

/// What stops nvcc on any file, and what to do then.
fn cause(stderr: &str) -> Option<(&'static str, &'static str)> {
    let no_host = (
        "nvcc needs a C++ compiler, and this machine has none",
        "install one: `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora), \
         `sudo pacman -S gcc` (Arch)",
    );
    let table = [
        (
            "No space left on device",
            (
                "the disk is full",
                "free some space in the folder for temporary files, or set TMPDIR to another folder",
            ),
        ),
        ("Failed to preprocess host compiler properties", no_host),
        ("gcc: not found", no_host),
        ("No supported gcc/g++ host compiler found", no_host),
        ("cannot execute 'cc1plus'", no_host),
        ("cannot execute ‘cc1plus’", no_host),
        (
            "cicc: not found",
            (
                "this nvcc is incomplete: its compiler, cicc, is missing",
                "install the complete CUDA toolkit, or choose another nvcc with --nvcc",
            ),
        ),
        (
            " cuda_runtime.h: No such file",
            (
                "this nvcc is incomplete: cuda_runtime.h is missing",
                "install the complete CUDA toolkit, or choose another nvcc with --nvcc",
            ),
        ),
        (
            "Unsupported gpu architecture",
            (
                "this nvcc cannot compile for the architecture that the grader uses",
                "install CUDA 11 to 13, or choose another nvcc with --nvcc",
            ),
        ),
        (
            OUT_OF_MEMORY,
            (
                "nvcc ran out of memory",
                "close other programs; templates that instantiate each other without end can also do that",
            ),
        ),
    ];
    table.into_iter().find(|(pattern, _)| stderr.contains(pattern)).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests;
