//! Submissions that are after something else than a verdict.

use super::{STEADY, command, grader, output, root};
use rustix::fs::{CWD, FileType, Mode};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Grades a file of this name as puzzle 10; the exit code, and all that was printed.
fn graded(name: &str, text: &str) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.cuh"), "__device__ float twice(float x) { return 2 * x; }\n")
        .unwrap();
    let file = dir.path().join(name);
    fs::write(&file, text).unwrap();
    let out = grader(&[&["puzzle", "10", "--file", file.to_str().unwrap()][..], &STEADY].concat());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{name}: {left:?}");
    (out.code, out.stdout + &out.stderr)
}

#[test]
fn the_compiler_reads_no_other_files() {
    let solution = root().join("solutions/10_conv_backward_input.cu");
    let text = fs::read_to_string(&solution).unwrap();
    let include = |name: &str| format!("#include \"{name}\"\n");
    for hostile in [
        include("lenet_kernels.cuh"),
        include(solution.to_str().unwrap()),
        include("/etc/passwd"),
        "#define ALL \"lenet_kernels.cuh\"\n#include ALL\n".to_owned(),
        format!("{text}\n#line 1 \"/etc/passwd\"\nint x = y;\n"),
        format!("%:include \"/etc/passwd\"\n{text}"),
        format!("__device__ const char e[] = {{\n#embed \"/etc/passwd\"\n}};\n{text}"),
        format!("_Pragma(\"GCC dependency \\\"/etc/passwd\\\" all of it\")\n{text}"),
        format!("{text}\n__global__ void z() {{ asm(\".inc\" \"bin \\\"/etc/passwd\\\"\"); }}\n"),
    ] {
        let (code, said) = graded("k.cu", &hostile);
        assert_ne!(code, 0, "{hostile}: {said}");
        assert!(!said.contains("root:"), "{hostile}: {said}");
    }
    let (code, said) = graded("k.cu", &(include("mine.cuh") + &text));
    assert_eq!(code, 0, "{said}");
}

/// The compiler here starts a program that is in no hurry, as a real one does with a source that takes minutes.
#[test]
fn a_grader_that_is_ended_leaves_no_compiler_and_no_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (nvcc, numbers) = (dir.path().join("nvcc"), dir.path().join("numbers"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Cuda compilation tools, release 13.0, V13.0.88' && exit\n\
         sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait\n",
        numbers.display()
    );
    fs::write(&nvcc, script).unwrap();
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.path().join("k.cu"), "int main() {}\n").unwrap();
    let temporary = dir.path().join("temporary folder");
    fs::create_dir(&temporary).unwrap();
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let mut grader =
            command(&["run", "--backend=vm", "k.cu", "--nvcc", nvcc.to_str().unwrap()]);
        grader.current_dir(dir.path()).env("GRADER_CACHE", dir.path().join("cache"));
        let grader = grader.env("TMPDIR", &temporary);
        let mut grader = grader.stderr(std::process::Stdio::null()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !numbers.exists() {
            assert!(Instant::now() < end && grader.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(10));
        }
        let started = fs::read_to_string(&numbers).unwrap();
        fs::remove_file(&numbers).unwrap();
        let runs = |number: &str| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
        };
        assert_eq!(started.split_whitespace().filter(|number| runs(number)).count(), 2);
        let folders = || fs::read_dir(&temporary).unwrap().count();
        assert!(folders() > 0);
        kill_process(Pid::from_child(&grader), signal).unwrap();
        grader.wait().unwrap();
        while started.split_whitespace().any(runs) || folders() > 0 {
            assert!(Instant::now() < end, "{signal:?}: {started}");
            sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn what_a_kernel_prints_is_framed_and_moves_no_cursor() {
    let text = fs::read_to_string(root().join("solutions/10_conv_backward_input.cu")).unwrap();
    let forged = "if (blockIdx.x + threadIdx.x == 0) printf(\"\\033[2J\u{200b}\\r\\n10 of 10 tests passed\\n\");";
    let text =
        text.replacen("if (idx >=", &format!("{forged}\n    if (idx >"), 1).replace("+=", "-=");
    let (code, said) =
        graded("k.cu", &format!("#include <cstdio>\n// \u{1b}]0;title\u{7}\n{text}"));
    assert_eq!(code, 1, "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said}");
    assert!(said.contains("\\u001b[2J\\u200b"), "{said}");
    assert!(said.lines().all(|line| line.trim_start() != "10 of 10 tests passed"), "{said}");
}

/// Each is wrong, and says so in words: what it wrote itself never passes for the report, for another file or for a kernel.
#[test]
fn no_trick_of_a_kernel_file_gets_a_pass() {
    let solution = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let forward = "__global__ void relu_forward(const float* input, float* output, int n)";
    let backward = solution[solution.find("__global__ void relu_backward").unwrap()..].to_owned();
    let index = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;";
    let right = "output[i] = input[i] <= 0 ? 0.0f : input[i];";
    let file = |before: &str, body: &str| {
        format!("#include <cstdio>\n{before}\n{forward}\n{{\n{body}\n}}\n{backward}")
    };
    let injected = "asm volatile(\"ret; }\\n.visible .entry _Z12relu_forwardPKfPfi(.param .u64 a, .param .u64 b, \
                    .param .u32 c) { ret;\");";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("k.cu");
    for (text, words) in [
        // The listed tests alone, by their sizes.
        (
            file(
                "",
                &format!(
                    "{index}\nif (n == 8 || n == 257 || n == 10000) {right} else output[i] = 0;"
                ),
            ),
            "drawn",
        ),
        (
            file("", &format!("{index}\n((float*)input)[i] = 0; output[i] = 0;")),
            "which is an input",
        ),
        (
            file(
                &format!("__device__ void inject() {{ {injected} }}"),
                &format!("{index} output[i] = 1;"),
            ),
            "elements are wrong",
        ),
        (
            file(
                &format!("__device__ __noinline__ void inject() {{ {injected} }}"),
                &format!("inject(); {index} {right}"),
            ),
            "error: ",
        ),
        (
            file("", "asm volatile(\".file 9 \\\"/etc/passwd\\\"\\n.loc 9 1 1\"); output[n] = 1;"),
            "inline PTX",
        ),
        (
            file(
                "",
                &format!(
                    "printf(\"%2000000000d %.2000000000f\\n\", 1, 1.0); {index} output[i] = 1;"
                ),
            ),
            "printed by the kernel",
        ),
        (
            file("static_assert(false, \"\\033[2J\\n9 of 9 tests passed\\n\");", right),
            "static assertion failed",
        ),
        (
            file("", "int i = 0; if (n > 0)\n output[i] = /*\n\u{3000}*/ 1.0f;"),
            "is stored at lines",
        ),
    ] {
        fs::write(&path, &text).unwrap();
        let out =
            grader(&[&["puzzle", "4", "--file", path.to_str().unwrap()][..], &STEADY].concat());
        let said = out.stdout + &out.stderr;
        assert!(out.code == 1 && said.contains(words), "{text}: {} {said}", out.code);
        assert!(
            !said.contains('\u{1b}') && !said.contains("root:") && said.len() < 20_000,
            "{said}"
        );
        assert!(said.lines().all(|line| line.trim() != "9 of 9 tests passed"), "{said}");
    }
    // A declaration that contradicts what the compiler generates.
    let program = "extern \"C\" void __cudaRegisterFunction(int);\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n";
    fs::write(&path, program).unwrap();
    let out = grader(&["run", "--backend", "vm", path.to_str().unwrap()]);
    assert!(out.code == 1 && !out.stderr.contains("spec"), "{} {}", out.code, out.stderr);
}

#[test]
fn a_file_that_the_compiler_cannot_cope_with_is_the_files_fault() {
    let text = fs::read_to_string(root().join("solutions/10_conv_backward_input.cu")).unwrap();
    let local = "volatile int all[131200]; all[blockIdx.x] = 1; int idx";
    for many in [
        format!(
            "__device__ char a[1u << 28], b[1u << 28], c[1u << 28], d[1u << 28], e[1u << 28];\n{text}"
        ),
        format!("__device__ char a[1ul << 36];\n{text}"),
        text.replacen("int idx", local, 1),
    ] {
        let (code, said) = graded("k.cu", &many);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("asks for too much"), "{said}");
    }
    // Sixteen to the seventh power of a statement: more than a preprocessor may take of memory.
    let many = "#define A(x) x x x x x x x x x x x x x x x x\n__global__ void z(int* p) { A(A(A(A(A(A(A(*p = 1;))))))) }\n";
    let (code, said) = graded("k.cu", &format!("{text}\n{many}"));
    assert!(code == 1 && said.contains("it compiles others here"), "{code} {said}");
}

#[test]
fn inline_ptx_and_huge_files_are_the_submissions_fault() {
    let dir = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("solutions/04_relu.cu")).unwrap();
    let calls = text.replacen("int i =", "hidden(); int i =", 1);
    let file = dir.path().join("k.cu");
    fs::write(&file, format!("#include \"mine.cuh\"\n{calls}")).unwrap();
    let graded = || {
        let file = ["puzzle", "4", "--file", file.to_str().unwrap()];
        let out = grader(&[&file[..], &STEADY].concat());
        (out.code, out.stdout + &out.stderr)
    };
    for inline in ["asm volatile", "A(as, m) volatile", "a\\\nsm volatile"] {
        let paste = "#define A(x, y) x##y\n__device__ inline void hidden()";
        let header = format!("{paste} {{ {inline}(\"frob.b32 %%r1;\"); }}\n");
        fs::write(dir.path().join("mine.cuh"), header).unwrap();
        let (code, said) = graded();
        assert!(code == 1 && said.contains("frob"), "{inline}: {code} {said}");
    }
    // Valid, and beyond the virtual machine.
    let header = "__device__ inline void hidden() { asm volatile(\"{ .reg .b32 p; mov.u32 p, %pm0; }\"); }\n";
    fs::write(dir.path().join("mine.cuh"), header).unwrap();
    let (code, said) = graded();
    assert!(code == 1 && said.contains("inline PTX"), "{code} {said}");
    fs::write(&file, format!("{text}//{}", "x".repeat(2 << 20))).unwrap();
    let (code, said) = graded();
    assert!(code == 1 && said.contains("it has more than 1 MB"), "{code} {said}");
}

#[test]
fn a_confined_program_is_as_shut_in_as_host_code() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program.cu");
    let secret = dir.path().join("secret");
    fs::write(&secret, "").unwrap();
    let secret = secret.display();
    fs::write(&file, format!("#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n\
        __global__ void hello() {{ printf(\"from a kernel\\n\"); }}\n\
        int main(int argc, char** argv) {{\n\
        bool open = fopen(\"{secret}\", \"r\") || fopen(\"/etc/passwd\", \"r\") || getenv(\"HOME\");\n\
        hello<<<1, 1>>>(); cudaDeviceSynchronize();\n\
        if (!open && geteuid() && fopen(\"own\", \"w\")) {{ puts(argv[1]); fputs(\"\\033[2J\", stderr); }}\n\
        fflush(stdout); if (argc > 2) system(\"true\"); return 5; }}\n")).unwrap();
    let run = |args: &[&str]| {
        grader(&[&["run", file.to_str().unwrap(), "--sandbox", "--"], args].concat())
    };
    let out = run(&["shut"]);
    assert_eq!((out.code, out.stdout.as_str()), (5, "from a kernel\nshut\n"), "{}", out.stderr);
    assert_eq!(out.stderr, "\\u001b[2J");
    let out = run(&["shut", "twice"]);
    assert_eq!((out.code, out.stdout.as_str()), (128 + 31, "from a kernel\nshut\n"));
    let help = grader(&["run", "--help"]).stdout;
    assert!(
        help.contains("The program runs as you") && help.contains("--sandbox confines it"),
        "{help}"
    );
}

#[test]
fn a_program_ends_as_it_does_without_the_grader() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program.cu");
    fs::write(&file, "#include <cstdlib>\n#include <stdexcept>\n\
        struct Early { Early() { if (getenv(\"EARLY\")) throw std::runtime_error(\"oops\"); } } early;\n\
        int main(int argc, char**) {\n\
        if (argc == 1) throw std::runtime_error(\"oops\");\n\
        if (argc == 2) { std::set_terminate([] { exit(9); }); throw 7; }\n\
        return *(volatile int*)nullptr; }\n").unwrap();
    let run = |args: &[&str], early: bool| {
        let mut run =
            command(&[&["run", "--backend=vm", file.to_str().unwrap(), "--"], args].concat());
        output(if early { run.env("EARLY", "1") } else { &mut run })
    };
    for early in [false, true] {
        let out = run(&[], early);
        assert_eq!(out.code, 128 + 6, "{}", out.stderr);
        for words in ["'std::runtime_error'", "what():  oops", "SIGABRT"] {
            assert!(out.stderr.contains(words), "{}", out.stderr);
        }
        assert!(!out.stderr.contains("Rust"), "{}", out.stderr);
    }
    assert_eq!(run(&["handled"], false).code, 9);
    let out = run(&["not", "even", "one"], false);
    assert!(out.code == 128 + 11 && out.stderr.contains("SIGSEGV"), "{}", out.stderr);
}

/// Also one that is shut in, whose output passes through the grader.
#[test]
fn a_program_whose_output_nobody_reads_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program.cu");
    fs::write(&file, "#include <cstdio>\nint main() { for (;;) puts(\"all is well\"); }\n")
        .unwrap();
    for option in ["--backend=vm", "--sandbox"] {
        let mut grader = command(&["run", option, file.to_str().unwrap()]);
        let mut grader = grader.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut start = [0; 12];
        grader.stdout.take().unwrap().read_exact(&mut start).unwrap();
        assert_eq!((&start, grader.wait().unwrap().code()), (b"all is well\n", Some(128 + 13)));
    }
}

#[test]
fn lost_output_is_an_error() {
    for args in [&["list"][..], &["puzzle", "99"], &["hint", "10"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = command(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let (code, word) =
            if args[0] == "puzzle" { (2, "no puzzle") } else { (3, "cannot be written") };
        assert_eq!(done.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    }
}

#[test]
fn a_name_is_no_command() {
    for (name, error, shown) in [
        (
            "-x $(touch OWNED)`touch OWNED`.cu",
            "int x = y;\n",
            "-x $(touch OWNED)`touch OWNED`.cu:1",
        ),
        ("über'n \"Berg\" \\; ls & x.cu", "int x = y;\n", "über'n _Berg_ _; ls & x.cu:1"),
        ("k\u{200b}\u{202e}\u{e0041}.cu", "int x = y;\n", "k\\u200b\\u202e\\udb40\\udc41.cu:1"),
    ] {
        let (code, said) = graded(name, error);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(shown) && said.contains("\"y\" is undefined"), "{said}");
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("-I$(touch OWNED) \"`touch OWNED`");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("mine.cuh"), "#define MINE\n").unwrap();
    let text = fs::read_to_string(root().join("solutions/10_conv_backward_input.cu")).unwrap();
    let file = folder.join("homework (1) $PATH.cu");
    fs::write(&file, format!("#include \"mine.cuh\"\n#ifdef MINE\n{text}\n#endif\n")).unwrap();
    let out = grader(&[&["puzzle", "10", "--file", file.to_str().unwrap()][..], &STEADY].concat());
    assert_eq!(out.code, 0, "{}{}", out.stdout, out.stderr);
    let program = folder.join("-x $(touch OWNED)`touch OWNED`.cu");
    fs::write(&program, "#include \"mine.cuh\"\nint main() { return 7; }\n").unwrap();
    let run = ["run", "--backend", "vm", program.to_str().unwrap()];
    let out = output(command(&run).current_dir(dir.path()));
    assert_eq!(out.code, 7, "{}{}", out.stdout, out.stderr);
    let owned = [dir.path(), &folder, &root()].map(|place| place.join("OWNED").exists());
    assert_eq!(owned, [false; 3]);
}

/// A workbook with puzzle 10 alone.
fn workbook() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["puzzles", "solutions", "kernels/include"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    for file in ["puzzles/10_conv_backward_input.toml", "solutions/10_conv_backward_input.cu"] {
        fs::copy(root().join(file), dir.path().join(file)).unwrap();
    }
    fs::write(dir.path().join("puzzles/10_conv_backward_input.cu"), "").unwrap();
    dir
}

#[test]
fn pipes_and_endless_files_are_not_waited_for() {
    let dir = workbook();
    let spec = dir.path().join("puzzles/10_conv_backward_input.toml");
    let chapter = dir.path().join("book/src/10_conv_backward_input.md");
    let hidden = dir.path().join("hidden.toml");
    let class = dir.path().join("class.toml");
    let text = "title = \"C\"\nsecret = \"0123456789abcdef\"\n[[puzzle]]\nnumber = 10\nhidden = \"hidden.toml\"\n";
    fs::create_dir_all(chapter.parent().unwrap()).unwrap();
    fs::create_dir(dir.path().join("submissions")).unwrap();
    fs::write(&class, text).unwrap();
    let grade = ["class", "grade", "submissions", "--partly-confined"];
    let commands = [
        (&spec, vec!["puzzle", "10"]),
        (&spec, vec!["check", "10"]),
        (&chapter, vec!["hint", "10"]),
        (&hidden, grade.to_vec()),
        (&class, grade.to_vec()),
    ];
    for (file, args) in commands {
        let before = fs::read(file).ok();
        for endless in [false, true] {
            let _ = fs::remove_file(file);
            if endless {
                symlink("/dev/zero", file).unwrap();
            } else {
                let mode = Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(CWD, file, FileType::Fifo, mode, 0).unwrap();
            }
            let out = output(command(&args).current_dir(dir.path()));
            let said = out.stdout + &out.stderr;
            assert!(out.code > 0 && said.contains("ordinary file"), "{args:?}: {said}");
        }
        fs::remove_file(file).unwrap();
        fs::write(file, before.unwrap_or_default()).unwrap();
    }
}

/// Grades a file as puzzle 10 of a workbook.
fn graded_in(workbook: &Path, file: &Path) -> (i32, String) {
    let paths = [file.to_str().unwrap(), "--workbook", workbook.to_str().unwrap()];
    let out = grader(&[&["puzzle", "10", "--file"][..], &paths, &STEADY].concat());
    (out.code, out.stdout + &out.stderr)
}

#[test]
fn a_solution_passes_nobody_elses_file() {
    let dir = workbook();
    let (top, puzzles) = (dir.path(), dir.path().join("puzzles"));
    let solution = top.join("solutions/10_conv_backward_input.cu");
    symlink("../solutions", puzzles.join("up")).unwrap();
    symlink("../solutions/10_conv_backward_input.cu", puzzles.join("link.cuh")).unwrap();
    let name = "solutions/10_conv_backward_input.cu";
    let attacks = [
        (top, format!("#include \"{name}\"\n")),
        (top, format!("#define THIS \"{name}\"\n#include THIS\n")),
        (top, format!("#include_next \"{name}\"\n")),
        (&puzzles, "#include \"up/10_conv_backward_input.cu\"\n".to_owned()),
        (&puzzles, "#include \"link.cuh\"\n".to_owned()),
        (&puzzles, format!("#include <{}>\n", solution.display())),
        (&puzzles, format!("#import \"../{name}\"\n")),
    ];
    for (folder, attack) in attacks {
        let file = folder.join("k.cu");
        fs::write(&file, &attack).unwrap();
        let (code, said) = graded_in(top, &file);
        assert_eq!(code, 1, "{attack}: {said}");
        assert!(!said.contains("grad_output[idx"), "{attack}: {said}");
    }
    let (code, said) = graded_in(top, &puzzles.join("link.cuh"));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("is a link to a file in another folder"), "{said}");
}
