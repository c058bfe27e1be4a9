//! The binary as a person or a script meets it: what it prints, where, and its exit codes.

mod bench;
mod class;
mod digits;
mod explain;
mod framework;
mod hostile;
mod hostile_specs;
mod instructor;
mod replay;
mod student;
mod terminal;
mod timing;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

struct Output {
    stdout: String,
    stderr: String,
    code: i32,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
    command.args(args).current_dir(root()).env_remove("CLICOLOR_FORCE");
    command
}

fn output(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    Output {
        stdout: String::from_utf8(done.stdout).unwrap(),
        stderr: String::from_utf8(done.stderr).unwrap(),
        code: done.status.code().unwrap(),
    }
}

fn grader(args: &[&str]) -> Output {
    output(&mut command(args))
}

/// Arguments that give the same output on every machine.
const STEADY: [&str; 4] = ["--backend", "vm", "--seed", "7"];

fn kernel(body: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kernel.cu");
    let source = format!(
        "__global__ void conv2d_backward_input(const float* g, const float* f, float* o, int batch, \
         int C_in, int H, int W, int C_out, int F)\n{{\n{body}\n}}\n"
    );
    std::fs::write(&path, source).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

#[test]
fn a_pass_exits_0_and_names_every_test() {
    let out = grader(&[&["puzzle", "10", "--solution"][..], &STEADY].concat());
    assert_eq!(out.code, 0, "{}{}", out.stdout, out.stderr);
    for test in ["tiny", "numerical_gradient_check", "lenet_conv1", "lenet_conv2"] {
        assert!(out.stdout.contains(&format!("conv_backward_input_{test}")), "{}", out.stdout);
    }
    assert!(out.stdout.contains("10 of 10 tests passed"));
    assert!(!out.stdout.contains('\u{1b}'), "colour in a pipe");
}

#[test]
fn a_stub_exits_1_and_says_what_to_do() {
    let out = grader(&[&["puzzle", "10"][..], &STEADY].concat());
    assert_eq!(out.code, 1);
    assert!(out.stdout.contains("never written"));
    assert!(out.stdout.contains(
        "to repeat:  grader puzzle 10 --backend vm --test conv_backward_input_tiny --seed 7"
    ));
    assert!(
        out.stdout
            .contains("to watch:   grader replay 10 --test conv_backward_input_tiny --seed 7")
    );
    assert!(out.stdout.contains("book/src/10_conv_backward_input.md"));
}

#[test]
fn usage_mistakes_exit_2_with_one_message() {
    let unknown = grader(&["puzzle", "99"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("there is no puzzle 99"), "{}", unknown.stderr);
    let test = grader(&["puzzle", "10", "--test", "nonsense"]);
    assert_eq!(test.code, 2);
    assert!(test.stderr.contains("its tests are conv_backward_input_tiny"), "{}", test.stderr);
    let file = grader(&["puzzle", "10", "--file", "no/such.cu", "--backend", "vm"]);
    assert_eq!(file.code, 2);
    assert!(file.stderr.contains("cannot read no/such.cu"), "{}", file.stderr);
    assert_eq!(grader(&["puzzle", "ten"]).code, 2);
    for command in ["explain", "profile"] {
        let refused = grader(&[command, "10", "--format", "junit"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{command}");
        assert!(refused.stderr.contains("possible values: text, json"), "{}", refused.stderr);
    }
    let outside = tempfile::tempdir().unwrap();
    let lost = output(command(&["puzzle", "10"]).current_dir(outside.path()));
    assert_eq!(lost.code, 2);
    assert!(lost.stderr.contains("--workbook DIR"), "{}", lost.stderr);
}

#[test]
fn a_folder_inside_the_workbook_or_its_name_will_do() {
    let args = [&["puzzle", "10", "--solution", "--test", "conv_backward_input_tiny"][..], &STEADY]
        .concat();
    assert_eq!(output(command(&args).current_dir(root().join("book/src"))).code, 0);
    let outside = tempfile::tempdir().unwrap();
    let workbook = root();
    let named = [&args[..], &["--workbook", workbook.to_str().unwrap()]].concat();
    assert_eq!(output(command(&named).current_dir(outside.path())).code, 0);
}

#[test]
fn a_kernel_that_does_not_compile_exits_1_with_line_and_help() {
    let (_dir, file) = kernel("  int i = threadIdx.x\n  o[i] = 0;");
    let out = grader(&[&["puzzle", "10", "--file", &file][..], &STEADY].concat());
    assert_eq!(out.code, 1);
    assert!(out.stdout.contains("expected a \";\""), "{}", out.stdout);
    assert!(out.stdout.contains("kernel.cu:3:21"), "{}", out.stdout);
    assert!(out.stdout.contains("every statement ends with a semicolon"), "{}", out.stdout);
}

#[test]
fn a_kernel_without_end_fails_soon() {
    let (_dir, file) = kernel("  volatile float* p = o;\n  while (true) p[0] = 1.0f;");
    let out = grader(&[&["puzzle", "10", "--file", &file][..], &STEADY].concat());
    assert_eq!(out.code, 1);
    assert!(out.stdout.contains("was still running after"), "{}", out.stdout);
    assert!(out.stdout.contains("at line 4"), "{}", out.stdout);
}

#[test]
fn an_nvcc_that_is_none_exits_3() {
    let out = grader(&["puzzle", "10", "--nvcc", "/nonexistent/nvcc"]);
    assert_eq!((out.code, out.stdout.as_str()), (3, ""));
    assert!(out.stderr.contains("there is no such file"), "{}", out.stderr);
}

#[test]
fn json_is_one_document_also_when_things_go_wrong() {
    let args = ["puzzle", "10", "--format", "json"];
    let pass = grader(&[&args[..], &["--solution"], &STEADY].concat());
    let document: serde_json::Value = serde_json::from_str(&pass.stdout).unwrap();
    assert_eq!(document["passed"], true);
    assert_eq!(document["exit_code"], 0);
    assert_eq!(document["tests"].as_array().unwrap().len(), 10);
    let fail = grader(&[&args[..], &STEADY].concat());
    let document: serde_json::Value = serde_json::from_str(&fail.stdout).unwrap();
    assert_eq!((fail.code, &document["passed"]), (1, &serde_json::Value::Bool(false)));
    let broken = grader(&["puzzle", "99", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!(document["error"]["kind"], "usage");
}

#[test]
fn the_seed_repeats_a_run_and_another_seed_does_not() {
    let values = |seed: &str| {
        let dir = tempfile::tempdir().unwrap();
        let dump = dir.path().to_str().unwrap();
        let args =
            ["puzzle", "10", "--solution", "--backend", "vm", "--seed", seed, "--dump", dump];
        assert_eq!(grader(&args).code, 0);
        let test = dir.path().join("conv_backward_input_asymmetric");
        let got = std::fs::read(test.join("grad_input.got.npy")).unwrap();
        assert_eq!(&got[..6], b"\x93NUMPY");
        assert!(test.join("filters.npy").exists() && test.join("grad_input.expected.npy").exists());
        got
    };
    assert_eq!(values("1"), values("1"));
    assert_ne!(values("1"), values("2"));
}

#[test]
fn a_reader_that_leaves_changes_no_verdict() {
    let args = [&["puzzle", "10"][..], &STEADY].concat();
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn colour_when_forced_and_help_that_names_the_exit_codes() {
    let args = [&["puzzle", "10", "--solution"][..], &STEADY].concat();
    assert!(
        output(command(&args).env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR"))
            .stdout
            .contains('\u{1b}')
    );
    assert!(!output(command(&args).env("NO_COLOR", "1")).stdout.contains('\u{1b}'));
    assert!(grader(&["--help"]).stdout.contains("Exit codes: 0 all tests pass"));
}

/// The numbers of the processes that a grader has started to grade: not those of compilers, and of the shell that would end these.
fn children(process: &std::process::Child) -> Vec<String> {
    use std::fs::{read_dir, read_to_string};
    // Each thread has its own.
    let tasks = read_dir(format!("/proc/{}/task", process.id())).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| read_to_string(task.path().join("children")).ok());
    let all: Vec<String> = lists.collect();
    let numbers = all.iter().flat_map(|list| list.split_whitespace()).map(str::to_owned);
    let is_own = |number: &String| {
        let words = read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
        words.contains("\0watch-child") || words.contains("\0--grade-a-submission")
    };
    numbers.filter(is_own).collect()
}
