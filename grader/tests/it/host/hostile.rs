//! Programs that try to get a pass, or out, or to take the machine with them. Each is one test of a puzzle: the first
//! element of the input says what to do.

use judge::grade::{self, Machine};
use judge::verdict::TestVerdict;
use puzzle::oracle;
use puzzle::spec::Test;
use puzzle::workbook::Workbook;
use std::fs;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// What the program does, as C++, and what must come of it: "pass", "fail" (for whatever reason), or the first finding.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("is right", "right(x, y, n);", "pass"),
    ("uses threads", "std::thread([&] { right(x, y, n); }).join();", "pass"),
    ("leaves work for its end", "right(x, y, n); atexit(wreck);", "pass"),
    ("prints a little", "right(x, y, n); puts(\"hello\"); fflush(stdout);", "pass"),
    (
        "writes into its own folder",
        "FILE* f = fopen(\"note\", \"w\"); if (f) right(x, y, n);",
        "pass",
    ),
    ("tells where it is", "char d[256]; puts(getcwd(d, 256)); right(x, y, n);", "pass"),
    (
        "makes a file beside its own folder",
        "if (!fopen(\"../note\", \"w\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "writes its own report",
        "if (!fopen(\"../report\", \"a\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "moves a file out of its folder",
        "fclose(fopen(\"a\", \"w\")); if (rename(\"a\", \"../a\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("returns without writing", "", "fail"),
    (
        "prints the answer",
        "for (int i = 0; i < n; i++) printf(\"%g \", 2 * x[i]); puts(\"\\\"Done\\\"\");",
        "fail",
    ),
    (
        "reads a password file",
        "if (!fopen(\"/etc/passwd\", \"r\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("reads the spec", "if (!fopen(SPEC, \"r\")) throw std::runtime_error(\"shut\");", "exception"),
    (
        "writes a file outside",
        "if (!fopen(\"/tmp/gp_hostile\", \"w\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("lists the root", "if (!opendir(\"/\")) throw std::runtime_error(\"shut\");", "exception"),
    (
        "looks into its parent",
        "char p[64]; sprintf(p, \"/proc/%d/mem\", getppid()); if (open(p, O_RDWR) < 0) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "changes rights outside",
        "if (chmod(SPEC, 0) < 0) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("forks without end", "for (;;) fork();", "forbidden-call"),
    ("forks the old way", "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);", "forbidden-call"),
    ("runs a shell", "execl(\"/bin/sh\", \"sh\", \"-c\", \"true\", nullptr);", "forbidden-call"),
    ("runs a command", "if (system(\"true\")) return;", "forbidden-call"),
    ("opens a socket", "socket(AF_INET, SOCK_STREAM, 0);", "forbidden-call"),
    ("kills its parent", "kill(getppid(), SIGKILL);", "forbidden-call"),
    ("kills all", "kill(-1, SIGKILL);", "forbidden-call"),
    ("traces its parent", "ptrace(PTRACE_ATTACH, getppid(), 0, 0);", "forbidden-call"),
    ("leaves its group", "setsid();", "forbidden-call"),
    (
        "raises its limits",
        "rlimit all{RLIM_INFINITY, RLIM_INFINITY}; setrlimit(RLIMIT_CPU, &all);",
        "forbidden-call",
    ),
    ("allocates without end", "for (;;) memset(new char[1 << 24], 1, 1 << 12);", "out-of-memory"),
    (
        "writes a file without end",
        "FILE* f = fopen(\"big\", \"w\"); static char b[1 << 20]; for (;;) fwrite(b, 1, 1 << 20, f);",
        "crash",
    ),
    (
        "fills the disk with files",
        "static char b[1 << 20]; for (int i = 0;; i++) { int d = open(std::to_string(i / 90).c_str(), O_CREAT | O_APPEND | O_RDWR, 0600); if (write(d, b, 1 << 20) < 0) break; close(d); }",
        "out-of-disk",
    ),
    // A terabyte is reserved sooner than anybody looks.
    (
        "reserves the disk",
        "int d = open(\"f\", O_CREAT | O_RDWR, 0600); if (posix_fallocate(d, 0, 100 << 20)) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "fills the disk with files that have no name",
        "static char b[1 << 20]; for (int i = 0, d = 0; i < 900; i++) { if (i % 90 == 0) { d = open(\"f\", O_CREAT | O_RDWR, 0600); unlink(\"f\"); } if (write(d, b, 1 << 20) < 0) break; } sleep(9);",
        "out-of-disk",
    ),
    ("exits well", "right(x, y, n); exit(0);", "exit"),
    ("exits at once", "right(x, y, n); _exit(0);", "exit"),
    ("exits with a code", "exit(42);", "exit"),
    ("throws", "throw std::runtime_error(\"oops\");", "exception"),
    ("throws a number", "throw 7;", "exception"),
    ("terminates", "std::terminate();", "crash"),
    ("aborts", "abort();", "crash"),
    ("follows a null pointer", "*(volatile int*)nullptr = 1;", "crash"),
    ("overflows its stack", "y[0] = deep(n);", "crash"),
    ("jumps nowhere", "jmp_buf b; memset(&b, 1, sizeof b); longjmp(b, 1);", "crash"),
    ("divides by zero", "volatile int zero = 0; y[0] = n / zero;", "crash"),
    ("floods its output", "for (;;) puts(\"all is well\");", "output-flood"),
    ("floods its error output", "for (;;) fputs(\"all is well\\n\", stderr);", "output-flood"),
    ("writes past the end", "right(x, y, n); y[n] = 1;", "out-of-bounds"),
    ("changes its input", "right(x, y, n); ((float*)x)[1] = 99;", "write-to-input"),
    ("closes all descriptors", "for (int d = 0; d < 64; d++) close(d);", "fail"),
    (
        "writes to what it inherited",
        "for (int d = 3; d < 64; d++) if (write(d, \"\\\"Done\\\"\\n\", 7) < 0) continue; _exit(0);",
        "fail",
    ),
    (
        "cuts what it inherited",
        "for (int d = 3; d < 64; d++) if (ftruncate(d, 0) < 0) continue;",
        "fail",
    ),
    (
        "reads what it should not",
        "char c; if (read(0, &c, 1) != 0) return; right(x, y, n);",
        "pass",
    ),
    ("breaks a rule of CUDA", "right(x, y, n); empty<<<1, 4096>>>();", "cuda-error"),
    (
        "minds that a launch failed",
        "empty<<<1, 4096>>>(); if (cudaGetLastError()) right(x, y, n);",
        "pass",
    ),
    ("frees what is not its own", "right(x, y, n); cudaFree((void*)x);", "cuda-error"),
    ("frees what was never there", "right(x, y, n); cudaFree((void*)0x123456);", "cuda-error"),
    ("leaks", "right(x, y, n); void* p; cudaMalloc(&p, 100);", "pass"),
    (
        "takes all device memory",
        "for (void* p;;) if (cudaMalloc(&p, 1 << 26)) throw std::runtime_error(\"none\");",
        "exception",
    ),
    (
        "has a kernel that never ends",
        "forever<<<1, 1>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "endless-loop",
    ),
    (
        "has a kernel that writes anywhere",
        "poke<<<1, 1>>>((int*)16); right(x, y, n);",
        "out-of-bounds",
    ),
    ("prints from a kernel", "hello<<<1, 1>>>(); right(x, y, n);", "pass"),
    (
        "sends the device a frame without end",
        "char f[1 << 16] = {1}; memset(f + 4, 255, 8); signal(SIGPIPE, SIG_IGN); \
         for (int d = 3; d < 16; d++) for (int i = 0; i < 99; i++) if (write(d, f, sizeof f) < 0) break;",
        "fail",
    ),
    (
        "asks for signals to its parent",
        "for (int d = 0; d < 16; d++) if (!fcntl(d, F_SETOWN, getppid()) || !fcntl(d, F_SETSIG, SIGKILL)) return; right(x, y, n);",
        "pass",
    ),
    (
        "asks a socket for signals to its parent",
        "int p = getppid(), on = 1; for (int d = 0; d < 16; d++) if (!ioctl(d, FIOSETOWN, &p) || !ioctl(d, FIOASYNC, &on)) return; right(x, y, n);",
        "pass",
    ),
    (
        "asks for what nobody needs",
        "cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); bool open = !sched_setaffinity(getppid(), sizeof one, &one) || !truncate(SPEC, 0);\
         for (long call : {SYS_shmat, SYS_syslog, SYS_fanotify_init, SYS_open_tree, SYS_vhangup, SYS_memfd_create, SYS_iopl, SYS_personality, SYS_mlockall, SYS_acct})\
             open |= syscall(call, 0L, 0L, 0L) >= 0 || errno != EPERM;\
         if (!open && geteuid() != 0 && syscall(0x40000000L | SYS_getpid) < 0) right(x, y, n);",
        "pass",
    ),
    (
        "launches far too much",
        "slow<<<1024, 1024>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "too-much-work",
    ),
    (
        "computes a little and sleeps long",
        "for (volatile long i = 0; i < 100000000; i++); right(x, y, n); for (;;) usleep(1000);",
        "endless-loop",
    ),
    ("loops without end", "for (volatile int i = 0;; i++);", "endless-loop"),
    (
        "ignores its limit",
        "signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; i++);",
        "endless-loop",
    ),
    ("sleeps", "right(x, y, n); sleep(1000);", "endless-loop"),
    ("stops itself", "right(x, y, n); raise(SIGSTOP);", "endless-loop"),
];

const SPEC: &str = r#"
title = "Twice"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[call]]
function = "void twice(const float* x, float* y, int n)"
code = "twice(host(x), host(y), n);"
seconds = 2
"#;

fn source(spec: &Path) -> String {
    let spec = spec.display();
    let cases = PROGRAMS
        .iter()
        .enumerate()
        .map(|(i, (_, code, _))| format!("case {i}: {{ {code} }} break;\n"));
    format!(
        "#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <cerrno>
#include <sched.h>
#include <sys/ioctl.h>
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#define SPEC \"{spec}\"
__global__ void empty() {{}}
__global__ void forever() {{ for (volatile int i = 0; i >= 0; i = 1 - i); }}
__global__ void slow() {{ for (volatile int i = 0; i < 1000000; i++); }}
__global__ void poke(int* p) {{ *p = 1; }}
__global__ void hello() {{ printf(\"hello from the device\\n\"); }}
static void right(const float* x, float* y, int n) {{ for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }}
static void wreck() {{ for (;;) puts(\"the end\"); }}
static float deep(int n) {{ volatile float f[10000]; f[n] = 1; return n < 0 ? 0 : deep(n + 1 - 1) + f[n]; }}
void twice(const float* x, float* y, int n)
{{
    switch ((int)x[0]) {{
{}    }}
}}
",
        cases.collect::<String>()
    )
}

fn verdicts() -> Vec<TestVerdict> {
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let dir = tempfile::tempdir().unwrap();
    let puzzles = dir.path().join("puzzles");
    fs::create_dir(&puzzles).unwrap();
    fs::create_dir(dir.path().join("solutions")).unwrap();
    let path = puzzles.join("01_twice.toml");
    let tests = (0..PROGRAMS.len()).map(|i| {
        format!("[[test]]\nname = \"t{i}\"\ndims = {{ n = 3 }}\ndata = {{ x = [{i}, 5, 7] }}\n")
    });
    fs::write(&path, format!("{SPEC}{}", tests.collect::<String>())).unwrap();
    fs::write(puzzles.join("01_twice.cu"), source(&path)).unwrap();
    let workbook = Workbook::open(dir.path()).unwrap();
    let puzzle = workbook.puzzle(1).unwrap();
    let fine = |f: diagnostic::Failure| f.render(false);
    let spec = oracle::load(&puzzle.spec, &puzzle.spec).map_err(fine).unwrap();
    let toolchain = Toolchain::locate(&Env::current(), None).map_err(fine).unwrap();
    let program =
        grade::compile(&toolchain, &workbook, &spec, &puzzle.stub, None).map_err(fine).unwrap();
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let cases = grade::cases(&spec, &tests, 1).map_err(fine).unwrap();
    // Each on a machine of its own, for all of them would use up the time of one submission.
    let verdict = |case| {
        let machine = Machine::new(&program, None).map_err(fine).unwrap();
        grade::judge_case(&machine, &program, case).map_err(fine).unwrap().1
    };
    cases.iter().map(verdict).collect()
}

#[test]
fn no_trick_gets_a_pass_and_none_gets_out() {
    let mut wrong = Vec::new();
    let verdicts = verdicts();
    let can_confine = verdicts[0].notes.is_empty();
    for ((name, _, expected), verdict) in PROGRAMS.iter().zip(&verdicts) {
        let found = match verdict.findings.first() {
            _ if verdict.passed() => "pass",
            Some(finding) => finding.problem.name(),
            None => "wrong values",
        };
        let good = match *expected {
            "fail" => found != "pass",
            // Where the kernel has no Landlock, the report says so: see `can_confine`.
            "exception" if !can_confine => found != "pass" || !verdict.notes.is_empty(),
            expected => found == expected,
        };
        if !good {
            wrong.push(format!("{name}: {found}, not {expected}\n{}", verdict.printed));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let verdict = |name: &str| &verdicts[PROGRAMS.iter().position(|p| p.0 == name).unwrap()];
    assert_eq!(verdict("prints from a kernel").printed, "hello from the device\n");
    assert!(verdict("leaks").notes[0].starts_with("1 buffer from cudaMalloc (100 bytes)"));
    assert!(verdicts[3].printed.starts_with("hello\n"), "{}", verdicts[3].printed);
    assert!(!Path::new("/tmp/gp_hostile").exists());
    let folder = verdict("tells where it is").printed.trim();
    assert!(folder.starts_with('/') && !Path::new(folder).exists(), "{folder}");
}
