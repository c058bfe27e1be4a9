use super::*;
use crate::fake::nvcc;
use crate::find::{Origin, Version};
use std::fs;
use std::slice;

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
            students: &students,
            library: StandardLibrary::Unnamed,
            ..Job::new(&folder, "k.cu".as_ref(), b"")
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
fn no_name_of_a_users_reaches_a_command_line() {
    let bench = Bench::new("echo \"$@\" > ${0%nvcc}said; cp $src $out");
    let folder = bench.dir.path().join("$(id)");
    fs::create_dir(&folder).unwrap();
    let job = Job {
        include_dirs: slice::from_ref(&folder),
        library: StandardLibrary::Unnamed,
        ..Job::new(&folder, "-`id`\".cu".as_ref(), b"\xEF\xBB\xBFint x;")
    };
    let output = bench.front_end.ptx(&job).unwrap();
    assert_eq!(output.ptx.as_deref(), Some("#line 1 \"-`id`_.cu\"\nint x;"));
    let said = fs::read_to_string(bench.dir.path().join("said")).unwrap();
    assert!(said.contains("source/gradient_puzzles.cu") && !said.contains("id"), "{said}");
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
    bench.front_end.bounds.time = Duration::from_millis(400);
    let start = Instant::now();
    let (kind, title, _) = bench.failure();
    assert_eq!(kind, FailureKind::Kernel);
    assert!(title.contains("still compiling"), "{title}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_compiler_has_its_processor_time_on_a_busy_machine_too() {
    let mut bench =
        Bench::new("[ -e ${0%nvcc}idle ] && sleep 1.3 && exec touch $out; while :; do :; done");
    bench.front_end.bounds.own_cpu_seconds = 1;
    let (kind, title, _) = bench.failure();
    assert_eq!(kind, FailureKind::Kernel);
    assert_eq!(title, "nvcc was still compiling after 1 s of processor time and was stopped");
    fs::write(bench.dir.path().join("idle"), "").unwrap();
    assert!(bench.ptx().unwrap().ptx.is_some());
}

#[test]
fn temporary_files_have_a_limit_together() {
    let mut bench =
        Bench::new("for i in 1 2 3 4 5; do head -c 1000000 /dev/zero > $i; done; sleep 60");
    bench.front_end.bounds.disk = 4_000_000;
    let (kind, title, _) = bench.failure();
    assert_eq!(kind, FailureKind::Kernel);
    assert!(title.contains("temporary files"), "{title}");
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
        ("<command-line>: fatal error: cuda_runtime.h: No such file or directory", "incomplete"),
        ("nvcc fatal   : Unsupported gpu architecture 'sm_75'", "architecture"),
        ("k.cu(1): catastrophic error: out of memory", "out of memory"),
    ];
    for (text, expected) in table {
        let (kind, title, help) = Bench::new(&says(text)).failure();
        assert_eq!(kind, FailureKind::Environment, "{text}");
        assert!(title.contains(expected) && !help.is_empty(), "{text}: {title}");
    }
}

/// A confined compiler has a limit of its own, which a file has met; a machine without memory is not told from it.
#[test]
fn a_file_that_takes_all_memory_is_at_fault() {
    let bench = Bench::new(&says("k.cu(1): catastrophic error: out of memory"));
    let folder = bench.dir.path().canonicalize().unwrap();
    let closed = folder.join("closed");
    let readable = Some(Readable { files: &[], closed: &closed });
    let job = Job {
        readable,
        library: StandardLibrary::Unnamed,
        ..Job::new(&folder, "k.cu".as_ref(), b"")
    };
    let (kind, title, _) = told(&bench.front_end.ptx(&job).unwrap_err());
    assert_eq!(kind, FailureKind::Kernel);
    assert_eq!(title, "this file needs more memory than a compiler may take");
}

#[test]
fn success_without_output_and_crashes_are_no_verdicts() {
    for body in ["exit 0", "exit 1", "kill -SEGV $$", "head -c 3000000 /dev/urandom >&2; exit 2"] {
        assert_eq!(Bench::new(body).failure().0, FailureKind::Environment, "{body}");
    }
}

#[test]
fn temporary_files_are_removed() {
    let bench = Bench::new("echo x > $TMPDIR/left; echo $TMPDIR > ${0%nvcc}where; echo ptx > $out");
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

#[test]
fn what_the_assembler_says_is_named_without_its_file() {
    let said =
        "/tmp/x/cc1.s: Assembler messages:\n/tmp/x/cc1.s:7: Error: file not found: /etc/passwd\n";
    let done = Finished {
        ending: Termination::Code(1),
        stdout: Vec::new(),
        stderr: said.into(),
        truncated: false,
        time: Duration::ZERO,
    };
    let failure = unable(&done).render(false);
    assert!(failure.contains("it says: file not found: /etc/passwd"), "{failure}");
    assert!(!failure.contains("cc1.s"), "{failure}");
}
