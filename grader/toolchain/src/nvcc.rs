//! Runs nvcc.

mod device_part;
mod execution;
mod glue;
mod library;
mod plan;
mod precompiled_header;

use super::assembler;
use super::cache::Cache;
use super::confinement::{Confinement, installation};
use super::env::Env;
use super::find::{Nvcc, identity};
use super::front_end::{FrontEnd, Glue, Job, LibraryOutput, Output, Readable, Target};
use super::messages::{Level, Message, parse};
use super::resources::{self, Resources};
use super::scratch::Scratch;
use super::usage::StandardLibrary;
use crate::process::{Finished, Limits, Termination, run_until};
use diagnostic::{Failure, FailureKind};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Kernels compile in a second; what takes longer than this never ends.
const TIME_OUT: Duration = Duration::from_secs(120);

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
    /// The current folder.
    folder: &'a Path,
    /// The folder of its temporary files and its output.
    scratch: &'a Path,
    /// What it may read besides what compilers always need; `None` for everything.
    readable: Option<Readable<'a>>,
}

impl<'a> Place<'a> {
    fn of(job: &Job<'a>, scratch: &'a Path) -> Self {
        Self { folder: job.folder, scratch, readable: job.readable }
    }
}

/// nvcc, as a front end.
#[derive(Clone, Debug)]
pub struct NvccFrontEnd {
    nvcc: Nvcc,
    env: Env,
    cache: Cache,
    time_out: Duration,
}

impl NvccFrontEnd {
    /// This nvcc, with these variables around it, and a cache for what makes the next compilation faster.
    pub fn new(nvcc: Nvcc, env: Env, cache: Cache) -> Self {
        Self { nvcc, env, cache, time_out: TIME_OUT }
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
        command.current_dir(place.folder).env("LC_ALL", "C").env("TMPDIR", place.scratch);
        if self.env.get(MALLOC.0).is_none() {
            command.env(MALLOC.0, MALLOC.1);
        }
        let program = command.get_program().to_owned();
        let timeout = self.time_out.saturating_sub(start.elapsed());
        let limits = Limits { timeout, output: OUTPUT };
        let confinement = place.readable.map(|files| self.confinement(files, place.scratch));
        run_until(command, &limits, confinement.as_ref(), in_vain).map_err(|e| {
            let title = format!("cannot start {}: {e}", program.display());
            Failure::new(FailureKind::Environment, title, "`grader doctor` shows what is installed")
        })
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
            && self
                .run(Place { folder: scratch, ..place }, &arguments)
                .is_ok_and(|done| done.success())
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
        if done.ending == Termination::TimedOut {
            let seconds = self.time_out.as_secs();
            let title = format!("nvcc was still compiling after {seconds} s and was stopped");
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
        flags.push(format!("-arch=sm_{}", job.arch.0).into());
        // Only the preprocessor of the host compiler is used, so a version that nvcc does not know yet may well do.
        // Naming the C++ version spares a question to the host compiler.
        let lines = if job.debugger { "-G" } else { "-lineinfo" };
        flags.extend([lines, "-std=c++17", "-allow-unsupported-compiler"].map(OsString::from));
        if job.library != StandardLibrary::Whole {
            flags.push(WITHOUT_SPECIAL_FUNCTIONS.into());
        }
        if job.library == StandardLibrary::WithoutSpecialFunctions {
            flags.extend(BESIDE_SPECIAL_FUNCTIONS.map(OsString::from));
        }
        flags
    }

    fn ptx(&self, job: &Job<'_>) -> Result<Output, Failure> {
        let scratch = scratch()?;
        let ptx = scratch.path().join("out.ptx");
        let mut arguments: Vec<OsString> = vec!["-ptx".into(), "-x".into(), "cu".into()];
        arguments.extend(self.flags(job));
        for folder in job.include_dirs {
            arguments.extend(["-I".into(), folder.clone().into()]);
        }
        arguments.extend([job.file.to_owned(), "-o".into(), ptx.clone().into()]);
        let place = Place::of(job, scratch.path());
        let done = self.run(place, &arguments)?;
        let stderr = done.stderr_text();
        let mut messages = parse(&stderr);
        let ptx = std::fs::read_to_string(&ptx).ok();
        let text = ptx.as_deref().unwrap_or_default();
        let mut refused = assembler::errors(&stderr, text);
        if done.success() && ptx.is_some() {
            if job.has_inline_ptx() {
                let (_, said) = self.run_assembler(text, job.arch.0, place)?;
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
        glue: &Glue<'_>,
        target: Target,
    ) -> Result<LibraryOutput, Failure> {
        library::compile(self, job, glue, target)
    }

    fn resources(&self, ptx: &str, sm: u32) -> Result<Vec<Resources>, Failure> {
        Ok(resources::read(&self.assemble(ptx, sm)?.1))
    }

    fn machine_code(&self, ptx: &str, sm: u32) -> Result<Vec<u8>, Failure> {
        Ok(self.assemble(ptx, sm)?.0)
    }
}

impl NvccFrontEnd {
    /// Runs the assembler: machine code if it made some, and what it said.
    fn run_assembler(
        &self,
        ptx: &str,
        sm: u32,
        place: Place<'_>,
    ) -> Result<(Option<Vec<u8>>, Finished), Failure> {
        let scratch = place.scratch;
        let (input, output) = (scratch.join("in.ptx"), scratch.join("out.cubin"));
        std::fs::write(&input, ptx).map_err(|e| no_scratch(&e))?;
        let arch = format!("-arch=sm_{sm}");
        let options = ["-cubin", &arch, "-lineinfo", "-Xptxas", "-v"];
        let mut arguments: Vec<OsString> = options.into_iter().map(OsString::from).collect();
        arguments.extend([input.into(), "-o".into(), OsString::from(&output)]);
        let done = self.run(Place { folder: scratch, ..place }, &arguments)?;
        let code = done.success().then(|| std::fs::read(&output).ok()).flatten();
        Ok((code, done))
    }

    /// Machine code, and what the assembler says of it.
    fn assemble(&self, ptx: &str, sm: u32) -> Result<(Vec<u8>, String), Failure> {
        let scratch = scratch()?;
        // What the compiler made of a submission is all that the assembler needs to see.
        let nothing_else = Readable { files: &[], closed: scratch.path() };
        let place =
            Place { folder: scratch.path(), scratch: scratch.path(), readable: Some(nothing_else) };
        let (code, done) = self.run_assembler(ptx, sm, place)?;
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
    let said = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing").trim();
    let title = format!("the compiler cannot compile this file; it says: {said}");
    let help = "it compiles others here; huge arrays, or templates without end, can do that";
    Failure::new(FailureKind::Kernel, title, help)
}

/// A folder for one compilation, removed afterwards.
fn scratch() -> Result<Scratch, Failure> {
    Scratch::new("gradient-puzzles-").map_err(|e| no_scratch(&e))
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
mod tests {
    use super::*;
    use crate::fake::nvcc;
    use crate::find::{Origin, Version};
    use crate::front_end::VirtualArch;
    use std::fs;

    /// A fake nvcc that runs this, and a student's file.
    struct Bench {
        dir: tempfile::TempDir,
        front_end: NvccFrontEnd,
    }

    impl Bench {
        fn new(body: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = nvcc(dir.path(), "13.0", body);
            let version = Version { major: 13, minor: 0, patch: 88 };
            let nvcc = Nvcc { path, version, origin: Origin::Path };
            let env = Env::default().with("PATH", "/usr/bin:/bin");
            let front_end = NvccFrontEnd::new(nvcc, env, Cache::new(dir.path().join("cache")));
            fs::write(dir.path().join("k.cu"), "").unwrap();
            Self { dir, front_end }
        }

        fn ptx(&self) -> Result<Output, Failure> {
            let folder = self.dir.path().canonicalize().unwrap();
            let students = [folder.join("k.cu")];
            self.front_end.ptx(&Job {
                folder: &folder,
                file: "k.cu".as_ref(),
                include_dirs: &[],
                students: &students,
                readable: None,
                arch: VirtualArch::default(),
                debugger: false,
                library: StandardLibrary::Unnamed,
                device_code: true,
            })
        }

        /// Kind, title and help of the failure.
        fn failure(&self) -> (FailureKind, String, String) {
            told(&self.ptx().unwrap_err())
        }
    }

    fn told(failure: &Failure) -> (FailureKind, String, String) {
        let diagnostic = &failure.diagnostics[0];
        (failure.kind, diagnostic.title.clone(), diagnostic.help.join("\n"))
    }

    /// Prints to stderr and fails, but compiles an empty file.
    fn says(text: &str) -> String {
        format!("[ $src = empty.cu ] && exec touch $out\ncat >&2 <<'EOF'\n{text}\nEOF\nexit 1")
    }

    #[test]
    fn ptx_comes_back_with_what_was_said() {
        let bench = Bench::new("echo .version > $out; echo 'k.cu(1): warning #174-D: x' >&2");
        let output = bench.ptx().unwrap();
        assert_eq!(output.ptx.as_deref(), Some(".version\n"));
        assert_eq!(output.messages[0].number, Some(174));
    }

    #[test]
    fn errors_in_the_students_file_are_messages() {
        let bench = Bench::new(&says("k.cu(1): error: expected a \";\""));
        let output = bench.ptx().unwrap();
        assert_eq!((output.ptx, output.messages.len()), (None, 1));
    }

    #[test]
    fn errors_elsewhere_are_the_students_only_if_an_empty_file_compiles() {
        let text = "/usr/include/x.h(3): error: expected a \";\"";
        assert_eq!(Bench::new(&says(text)).ptx().unwrap().ptx, None);
        let bench = Bench::new(&format!("echo '{text}' >&2; exit 1"));
        let (kind, title, help) = bench.failure();
        assert_eq!(kind, FailureKind::Environment);
        assert!(title.contains("/usr/include/x.h(3)"), "{title}");
        assert!(help.contains(&bench.front_end.nvcc.path.display().to_string()), "{help}");
    }

    #[test]
    fn endless_compilation_is_stopped_with_all_its_children() {
        let mut bench = Bench::new("sh -c 'sleep 60; touch late' & wait");
        bench.front_end.time_out = Duration::from_millis(400);
        let start = Instant::now();
        let (kind, title, _) = bench.failure();
        assert_eq!(kind, FailureKind::Kernel);
        assert!(title.contains("still compiling"), "{title}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn broken_machines_are_told_apart() {
        let table = [
            (
                "gcc: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.",
                "C++ compiler",
            ),
            (
                "<built-in>: fatal error: when writing output to /t/x.ii: No space left on device",
                "disk is full",
            ),
            ("sh: 1: cicc: not found", "incomplete"),
            (
                "<command-line>: fatal error: cuda_runtime.h: No such file or directory",
                "incomplete",
            ),
            ("nvcc fatal   : Unsupported gpu architecture 'sm_75'", "architecture"),
            ("k.cu(1): catastrophic error: out of memory", "out of memory"),
        ];
        for (text, expected) in table {
            let (kind, title, help) = Bench::new(&says(text)).failure();
            assert_eq!(kind, FailureKind::Environment, "{text}");
            assert!(title.contains(expected) && !help.is_empty(), "{text}: {title}");
        }
    }

    #[test]
    fn success_without_output_and_crashes_are_no_verdicts() {
        for body in
            ["exit 0", "exit 1", "kill -SEGV $$", "head -c 3000000 /dev/urandom >&2; exit 2"]
        {
            assert_eq!(Bench::new(body).failure().0, FailureKind::Environment, "{body}");
        }
    }

    #[test]
    fn temporary_files_are_removed() {
        let bench = Bench::new("echo x > $TMPDIR/left; echo $TMPDIR > where; echo ptx > $out");
        bench.ptx().unwrap();
        let scratch = fs::read_to_string(bench.dir.path().join("where")).unwrap();
        assert!(!Path::new(scratch.trim()).exists());
    }

    #[test]
    fn machine_code_is_made_from_ptx() {
        let code = Bench::new("cat $src > $out").front_end.machine_code("text", 90).unwrap();
        assert_eq!(code, b"text");
        let refuse =
            |text: &str| told(&Bench::new(&says(text)).front_end.machine_code("", 61).unwrap_err());
        let (kind, title, _) = refuse("nvcc fatal   : Unsupported gpu architecture 'sm_61'");
        assert_eq!(kind, FailureKind::Environment);
        assert!(title.contains("sm_61"), "{title}");
        let shared = "ptxas error   : Entry function '_Z1kPfi' uses too much shared data (0x10000 bytes, 0xc000 max)";
        assert_eq!(refuse(shared).0, FailureKind::Kernel);
        // It has so much memory that only a file which needs far more can do that.
        assert_eq!(refuse("ptxas fatal   : Memory allocation failure").0, FailureKind::Kernel);
    }

    #[test]
    fn what_cannot_be_followed_is_not_identified() {
        let bench = Bench::new("");
        let with = |name: &str, value: &str| {
            let env = bench.front_end.env.clone().with(name, value);
            NvccFrontEnd { env, ..bench.front_end.clone() }.identity()
        };
        let plain = bench.front_end.identity().unwrap();
        assert_ne!(with("NVCC_APPEND_FLAGS", "--use_fast_math").unwrap(), plain);
        assert_ne!(with("NVCC_CCBIN", "/usr/bin/env").unwrap(), plain);
        assert_eq!(with("NVCC_PREPEND_FLAGS", "-I /somewhere"), None);
        assert_eq!(with("NVCC_APPEND_FLAGS", "--options-file x"), None);
        let mut other = bench.front_end.clone();
        other.nvcc.path = PathBuf::from("/usr/bin/env");
        assert_ne!(other.identity(), Some(plain));
    }
}
