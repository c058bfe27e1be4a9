//! The command line: commands, arguments and options.

use super::candidates;
use super::class_args::ClassCommand;
use crate::template::Template;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use diagnostic::Failure;
use hardware::{MULTIPROCESSORS, Peaks};
use puzzle::spec::{Spec, Test};
use puzzle::workbook::Puzzle;
use report::{FORMATS, Format};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toolchain::VirtualArch;

/// Compiles, runs and judges the kernels of the Gradient Puzzles workbook.
#[derive(Debug, Parser)]
#[command(name = "grader", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// The command to run [default: show your progress and the next puzzle]
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The workbook's folder [default: the one that contains the current folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub workbook: Option<PathBuf>,

    /// The CUDA compiler [default: found on this machine, or downloaded]
    #[arg(long, global = true, value_name = "PATH")]
    pub nvcc: Option<PathBuf>,
}

impl Cli {
    /// Parses the words of a command line. A file that stands alone is told where it belongs.
    ///
    /// # Errors
    /// What clap says of words that it does not understand, and of those that ask for help.
    pub fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(words).map_err(|mut error| {
            let word = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(word)) => word.clone(),
                _ => return error,
            };
            if error.kind() == ErrorKind::UnknownArgument && is_source(&word) {
                let tip = format!("to take this file, write '--file {word}'").into();
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
            }
            error
        })
    }
}

/// Whether a word is a file of CUDA code.
fn is_source(word: &str) -> bool {
    let extension = Path::new(word).extension();
    extension.is_some_and(|extension| ["cu", "cuh", "cpp"].iter().any(|known| extension == *known))
}

const EXIT_CODES: &str = "Exit codes: 0 all tests pass, 1 a test fails or the kernel does not compile, \
2 the command line or a spec is invalid, 3 something is missing on this machine.";

/// The commands of the grader; their doc comments are the help that a student reads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Grade a puzzle: compile the kernel, run the tests, show what is wrong and why
    Puzzle(PuzzleArgs),
    /// Compare the terms that the kernel added up for an element with those of the formula
    Explain(ExplainArgs),
    /// Count the instructions and memory accesses of the kernel, line by line
    Profile(ProfileArgs),
    /// Time the kernel beside the solution and the vendor's library; without a GPU, count and model
    Bench(BenchArgs),
    /// Watch a block of the kernel run, step by step, in the browser
    Replay(ReplayArgs),
    /// Grade a puzzle each time you save it
    Watch(WatchArgs),
    /// List all puzzles with your progress
    List,
    /// Show the next puzzle
    Next,
    /// Show a hint; each call shows a stronger one
    Hint(HintArgs),
    /// Open the stub in your editor ($VISUAL, $EDITOR) and the chapter in the browser
    Open(NumberArgs),
    /// Restore the original stub; your version is kept beside it
    Reset(NumberArgs),
    /// Set up clangd on this machine, so that editors understand CUDA
    EditorSetup,
    /// Check what the grader needs on this machine, and show how to fix what is missing
    Doctor,
    /// Show the files that the grader keeps on this machine, or remove them
    Clean(CleanArgs),
    /// For instructors: write the files of a new puzzle
    New(NewArgs),
    /// For instructors: check that puzzles are complete and that their tests catch mistakes
    Check(CheckArgs),
    /// For instructors: pack a class's workbook, and grade what the students hand in
    #[command(subcommand)]
    Class(ClassCommand),
    /// Check PTX files against the virtual machine
    #[command(subcommand)]
    Ptx(PtxCommand),
    /// Print a script that makes your shell complete the grader's commands
    Completions {
        /// The shell for which to print the script
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man(ManArgs),
    /// Write the compiled kernels of a puzzle and how to launch them, for a program of your own
    Export(ExportArgs),
    /// Run planned launches on the virtual machine, from and to .npy files
    Launch(LaunchArgs),
    /// Draw handwriting-like digits, in MNIST's file format
    Digits(DigitsArgs),
    /// Check the files of MNIST that you downloaded, and say what to do next
    Mnist(MnistArgs),
    /// Compile and run a whole CUDA program, with or without a GPU
    ///
    /// The program runs as you: it may do whatever you may, to your files, to other programs and in the network. --sandbox confines it, for programs that somebody else wrote.
    Run(RunArgs),
}

/// The arguments that say which kernel file a command takes. Each command gives them help of its own.
#[derive(Args, Clone, Debug)]
pub struct SourceArgs {
    #[arg(long, conflicts_with = "file")]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub solution: bool,

    #[arg(long, value_name = "FILE")]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub file: Option<PathBuf>,
}

impl SourceArgs {
    /// The kernel file: the one that is named, the solution, or the student's.
    pub fn of<'a>(&'a self, puzzle: &'a Puzzle) -> &'a Path {
        match &self.file {
            Some(file) => file,
            None if self.solution => &puzzle.solution,
            None => &puzzle.stub,
        }
    }
}

/// The arguments that say what to run a puzzle's tests with. Each command gives those without help one of its own.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// The kernel file.
    #[command(flatten)]
    pub source: SourceArgs,

    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(candidates::tests))]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub test: Option<String>,

    /// The seed of the random data [default: a new one in each run]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
}

impl InputArgs {
    /// The test that is named, or all of them.
    ///
    /// # Errors
    /// The spec has no test of that name: a usage failure.
    pub fn tests<'a>(&self, spec: &'a Spec) -> Result<Vec<&'a Test>, Failure> {
        match &self.test {
            Some(name) => Ok(vec![spec.test(name)?]),
            None => Ok(spec.tests.iter().collect()),
        }
    }
}

/// Arguments of `grader puzzle`.
#[derive(Args, Debug)]
#[command(mut_arg("solution", |arg| arg.help("Grade the solution instead of your file")))]
#[command(mut_arg("file", |arg| arg.help("Grade this file instead of the workbook's")))]
#[command(mut_arg("test", |arg| arg.help("Run this test only")))]
pub struct PuzzleArgs {
    /// The puzzle's number, such as 10
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    /// The file, the test and the seed.
    #[command(flatten)]
    pub input: InputArgs,

    /// The backend that runs the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// The format of the output
    #[arg(long, value_parser = format_parser(), default_value = FORMATS[0].name)]
    pub format: &'static Format,

    /// Write the inputs, the expected and the computed tensors of each test into this folder, as .npy files
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
}

/// The GPU of the model by its short name.
fn gpu_model(name: &str) -> Result<&'static Peaks, String> {
    Peaks::named(name).ok_or_else(|| {
        let known: Vec<&str> = hardware::GPUS.iter().map(|gpu| gpu.name).collect();
        format!("known are {}", known.join(", "))
    })
}

/// What `grader bench --help` says of what it shows.
const BENCH_NOTES: &str = "A kernel must pass its tests before it is timed, and its outputs are compared with the formula \
in the runs that are timed. The median of the runs is shown, with the distance of the quartiles as its spread. Rooflines are drawn \
into the workbook's folder pictures.";

/// Arguments of `grader bench`.
#[derive(Args, Debug)]
#[command(after_help = BENCH_NOTES)]
pub struct BenchArgs {
    /// The puzzle's number, such as 46, or the name of a ladder of kernels/ladders
    #[arg(value_name = "PUZZLE|LADDER", add = ArgValueCandidates::new(candidates::benches))]
    pub what: String,

    /// Time this file instead of the workbook's
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Time at this size only: by its name in the spec
    #[arg(long, value_name = "NAME")]
    pub size: Option<String>,

    /// The backend: a GPU times, the virtual machine counts
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Leave the inputs in the L2 cache, instead of overwriting it before each run
    #[arg(long)]
    pub warm: bool,

    /// The GPU whose data sheet bounds the time in the model, without a GPU
    #[arg(long, value_name = "GPU", value_parser = gpu_model, default_value = "h200")]
    pub model: &'static Peaks,

    /// Compare with an earlier run, written by --format json
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,

    /// The seed of the random data [default: a new one in each run]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Arguments of `grader new`.
#[derive(Args, Debug)]
pub struct NewArgs {
    /// The puzzle's number and name, such as `51_my_puzzle`
    #[arg(value_name = "NN_NAME")]
    pub stem: String,

    /// The title of the spec and the chapter [default: a question asks for it, or the name is used]
    #[arg(long)]
    pub title: Option<String>,

    /// The name of the `__global__` function [default: a question asks for it, or the name is used]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,

    /// What it starts as
    #[arg(long, value_enum, default_value_t = Template::Product)]
    pub template: Template,
}

/// The commands of `grader ptx`.
#[derive(Debug, Subcommand)]
pub enum PtxCommand {
    /// For each entry point, show whether the virtual machine can run it, and if not, why
    Check(PtxCheckArgs),
}

/// Arguments of `grader ptx check`.
#[derive(Args, Debug)]
pub struct PtxCheckArgs {
    /// PTX files, as `nvcc -ptx` writes them
    #[arg(required = true)]
    pub files: Vec<PathBuf>,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Arguments of `grader check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The numbers of the puzzles [default: all]
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub numbers: Vec<u32>,

    /// The backend that runs stubs and solutions, in addition to the virtual machine
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Make many small changes to the solution, and list those that no test notices
    #[arg(long)]
    pub mutants: bool,

    /// Check nothing, but write what the report says of each wrong kernel into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "mutants")]
    pub reports: Option<PathBuf>,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
}

/// What `grader watch --help` says of its keys.
const WATCH_KEYS: &str = "Keys: h shows a hint and Esc closes it, n and p go to the next puzzle and back, l lists all puzzles, \
r grades again, q quits. Arrows, Page Up and Down, j and k and the mouse wheel scroll.";

/// Arguments of `grader watch`.
#[derive(Args, Debug)]
#[command(after_help = WATCH_KEYS)]
pub struct WatchArgs {
    /// The puzzle's number [default: the last one that you graded, or the next one if that is solved]
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: Option<u32>,

    /// The backend that runs the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
}

/// Arguments of `grader hint`.
#[derive(Args, Debug)]
pub struct HintArgs {
    /// The puzzle's number
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    /// How strong the hint is, from 1 to 3 [default: one more than last time]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub level: Option<u8>,
}

/// The argument of commands that take a puzzle only.
#[derive(Args, Debug)]
pub struct NumberArgs {
    /// The puzzle's number
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,
}

/// Arguments of `grader clean`.
#[derive(Args, Debug)]
pub struct CleanArgs {
    /// Remove the files
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `grader run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The program's source files, such as main.cu and util.cpp
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The backend that runs the program
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Compile for an older architecture, such as 75 for a T4, which the virtual machine then reports as its own, or with 90a for
    /// instructions of Hopper alone
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub arch: Option<VirtualArch>,

    /// Check what the kernels do (virtual machine only); exit with code 1 if there are findings
    #[arg(long)]
    pub check: bool,

    /// Count the instructions and memory accesses of the kernels, line by line (virtual machine only)
    #[arg(long)]
    pub profile: bool,

    /// Confine the program as the host code of a puzzle: no files of yours, no processes, no network, 60 seconds (virtual machine only). Without this, it runs with all your rights
    #[arg(long)]
    pub sandbox: bool,

    /// Write the counters of --profile into this file, as JSON
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub json: Option<PathBuf>,

    /// How the program is compiled.
    #[command(flatten)]
    pub compiler: CompilerArgs,

    /// The program's own arguments, after --
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

/// How `grader run` has a program compiled.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options for the compiler")]
pub struct CompilerArgs {
    /// Look for headers in this folder, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,

    /// Define a macro, as a #define in each source file would
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]", value_parser = definition)]
    pub define: Vec<String>,

    /// The version of C++; `-std=c++20` is understood as well [default: c++17]
    #[arg(long, value_name = "VERSION", value_parser = ["c++11", "c++14", "c++17", "c++20"])]
    pub std: Option<String>,

    /// Allow lambdas with __device__ and __host__ __device__
    #[arg(long, alias = "expt-extended-lambda")]
    pub extended_lambda: bool,

    /// Allow host functions that are constexpr in kernels, and those of kernels on the host
    #[arg(long)]
    pub expt_relaxed_constexpr: bool,

    /// Compute with fast, less exact functions, and flush subnormal numbers to 0
    #[arg(long = "use_fast_math", alias = "use-fast-math")]
    pub use_fast_math: bool,

    /// Hand nvcc another of its options; the usual ones need no more than their name: -O3 -lineinfo -rdc=true -Xcompiler -fopenmp -lcublas
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, value_parser = nvcc_option)]
    pub nvcc_option: Vec<String>,
}

impl CompilerArgs {
    /// The options for nvcc, but for the folders of headers.
    pub fn flags(&self) -> Vec<String> {
        let define = self.define.iter().map(|define| format!("-D{define}"));
        let version = self.std.iter().map(|version| format!("-std={version}"));
        let switches = [
            (self.extended_lambda, "--extended-lambda"),
            (self.expt_relaxed_constexpr, "--expt-relaxed-constexpr"),
            (self.use_fast_math, "--use_fast_math"),
        ];
        let switches = switches.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned());
        define.chain(version).chain(switches).chain(self.nvcc_option.iter().cloned()).collect()
    }
}

/// A macro in which a shell finds no command: nvcc hands its options to one, this one in quotes.
fn definition(word: &str) -> Result<String, String> {
    without(&['$', '`', '\n'], word)
}

/// The word, if it has none of these characters.
fn without(special: &[char], word: &str) -> Result<String, String> {
    match word.chars().find(|c| special.contains(c)) {
        Some(c) => {
            let c = c.escape_default();
            Err(format!(
                "nvcc hands it to a shell, which would take `{c}` for one of its own signs"
            ))
        }
        None => Ok(word.to_owned()),
    }
}

/// An option of nvcc that does not decide what it makes, or for which architecture.
fn nvcc_option(option: &str) -> Result<String, String> {
    let name = option.split('=').next().unwrap_or_default().trim_start_matches('-');
    let own = |help: &str| Err(format!("the grader sets it itself{help}"));
    match name {
        _ if !option.starts_with('-') => {
            Err("join a value to its option by `=`, as in -Xcompiler=-fopenmp".to_owned())
        }
        "arch" | "gpu-architecture" | "gencode" | "generate-code" | "code" | "gpu-code" => {
            own("; use --arch")
        }
        "dlink" | "device-link" | "dlto" => {
            Err("the grader links device code itself; -rdc=true asks for it".to_owned())
        }
        "std" => own("; use --std"),
        "o" | "output-file" => Err("a program is run and not kept: leave it out".to_owned()),
        "c" | "compile" | "ptx" | "cubin" | "fatbin" | "E" | "preprocess" | "M" | "MM" | "MD"
        | "MMD" | "shared" | "lib" | "link" | "run" | "x" | "cudart" | "dryrun" | "keep"
        | "keep-dir" | "odir" | "objdir-as-tempdir" | "ccbin" | "cuda" => own(""),
        // All that it means to the headers of the runtime.
        "default-stream" if option.ends_with("=per-thread") => {
            Ok("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1".to_owned())
        }
        _ => without(&['$', '`', ';', '&', '|', '<', '>', '\n'], option),
    }
}

/// Arguments of `grader export`.
#[derive(Args, Debug)]
#[command(mut_arg("solution", |arg| arg.help("Export the solution instead of your file")))]
#[command(mut_arg("file", |arg| arg.help("Export this file instead of the workbook's")))]
pub struct ExportArgs {
    /// The puzzle's number, such as 10
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    /// The kernel file.
    #[command(flatten)]
    pub source: SourceArgs,

    /// The folder for the files [default: `exported/NN_name` in the workbook]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `grader launch`.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// The plan, a JSON file that the Python package in kernels/torch writes
    pub plan: PathBuf,
}

/// Arguments of `grader digits`.
#[derive(Args, Debug)]
pub struct DigitsArgs {
    /// The folder for the four files
    pub dir: PathBuf,

    /// The number of training digits
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub train: u32,

    /// The number of test digits
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub test: u32,

    /// The seed: each number gives other digits, the same number the same digits
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Also write a picture of the first thousand digits into this file, as PNG
    #[arg(long, value_name = "FILE")]
    pub sheet: Option<PathBuf>,
}

/// Arguments of `grader mnist`.
#[derive(Args, Debug)]
pub struct MnistArgs {
    /// The folder with the four files, packed with gzip or not
    pub dir: PathBuf,
}

/// Arguments of `grader man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `grader explain`.
#[derive(Args, Debug)]
#[command(mut_arg("solution", |arg| arg.help("Explain the solution instead of your file")))]
#[command(mut_arg("file", |arg| arg.help("Explain this file instead of the workbook's")))]
#[command(mut_arg("test", |arg| arg.help("The test to run [default: the first one that fails, else the smallest one]")))]
pub struct ExplainArgs {
    /// The puzzle's number, such as 10
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    // No doc comment: rustdoc would take the brackets for links.
    #[arg(
        long,
        value_name = "ELEMENT",
        help = "The element, such as \"C[0,2]\" or \"grad(input)[0,0,2,2]\" [default: the first wrong one]"
    )]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub element: Option<String>,

    /// The file, the test and the seed.
    #[command(flatten)]
    pub input: InputArgs,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Arguments of `grader profile`.
#[derive(Args, Debug)]
#[command(mut_arg("solution", |arg| arg.help("Profile the solution instead of your file")))]
#[command(mut_arg("file", |arg| arg.help("Profile this file instead of the workbook's")))]
#[command(mut_arg("test", |arg| arg.help("The test to run [default: the one with most data]")))]
pub struct ProfileArgs {
    /// The puzzle's number, such as 10
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    /// The file, the test and the seed.
    #[command(flatten)]
    pub input: InputArgs,

    /// The format of the output
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Arguments of `grader replay`.
#[derive(Args, Debug)]
#[command(mut_arg("solution", |arg| arg.help("Replay the solution instead of your file")))]
#[command(mut_arg("file", |arg| arg.help("Replay this file instead of the workbook's")))]
#[command(mut_arg("test", |arg| arg.help("The test to run [default: the first that fails, else the smallest]")))]
pub struct ReplayArgs {
    /// The puzzle's number, such as 10
    #[arg(value_parser = number, add = ArgValueCandidates::new(candidates::puzzles))]
    pub number: u32,

    // No doc comment: rustdoc would take the brackets for links.
    #[arg(
        long,
        value_name = "ELEMENT",
        help = "The element whose block is shown, such as \"C[0,2]\" [default: the first wrong one]"
    )]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub element: Option<String>,

    /// The block to show instead, such as 0,1 or 2
    #[arg(long, value_name = "X,Y,Z", value_parser = coordinates)]
    pub block: Option<[u32; 3]>,

    /// The page to write [default: a file in the folder replays of the workbook]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Do not open the page in a browser
    #[arg(long)]
    pub no_open: bool,

    /// Replay this wrong kernel of the puzzle: its name in solutions/*.toml, or how it begins, with - for spaces
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "solution"])]
    pub wrong: Option<String>,

    /// Write a trace for a figure of the book instead of a page
    #[arg(long, requires_all = ["test", "output"])]
    pub trace: bool,

    /// The file, the test and the seed.
    #[command(flatten)]
    pub input: InputArgs,
}

/// The backend that runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum BackendChoice {
    /// The GPU if there is one, else the virtual machine
    Auto,
    /// An NVIDIA GPU
    Gpu,
    /// The PTX virtual machine
    Vm,
}

/// The output formats of a command that runs no tests, which `JUnit` cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
}

/// The output formats of `grader check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text for people
    Text,
    /// One JSON document
    Json,
    /// `JUnit` XML, for CI systems
    Junit,
}

/// Parses the name of an output format.
fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.help));
    PossibleValuesParser::new(names).try_map(|name| {
        FORMATS.iter().find(|format| format.name == name).ok_or("this format does not exist")
    })
}

/// Parses the number of a puzzle.
fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give the number of a puzzle, such as 10".into())
}

/// Parses up to three numbers, separated by commas.
fn coordinates(text: &str) -> Result<[u32; 3], String> {
    let mut block = [0; 3];
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > 3 {
        return Err("a block has at most three coordinates".into());
    }
    for (number, text) in block.iter_mut().zip(numbers) {
        *number =
            text.trim().parse().map_err(|_| "give the coordinates of a block, such as 0,1")?;
    }
    Ok(block)
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a seed is an integer, 0 or more".into())
}

/// Parses `sm_80`, `compute_80` or `80`, if the virtual machine supports that architecture.
pub(super) fn arch(text: &str) -> Result<VirtualArch, String> {
    let name = ["sm_", "compute_"].iter().find_map(|start| text.strip_prefix(start));
    let name = name.unwrap_or(text);
    let known = MULTIPROCESSORS.iter().map(|known| VirtualArch(known.sm()));
    let known: Vec<VirtualArch> = known.chain([VirtualArch::HOPPER]).collect();
    known.iter().copied().find(|arch| arch.to_string() == name).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|arch| format!("sm_{arch}")).collect();
        format!("the virtual machine supports {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_stands_alone_is_told_where_it_belongs() {
        let said = |word: &str| {
            let words = ["grader", "puzzle", "10", word].map(OsString::from);
            Cli::parsed(words).unwrap_err().to_string()
        };
        assert!(said("k.cu").contains("write '--file k.cu'"), "{}", said("k.cu"));
        assert!(!said("now").contains("--file now"), "{}", said("now"));
    }

    #[test]
    fn a_default_stream_for_each_thread_is_a_macro() {
        let macro_of_headers = Ok("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1".to_owned());
        for option in ["-default-stream=per-thread", "--default-stream=per-thread"] {
            assert_eq!(nvcc_option(option), macro_of_headers);
        }
        let legacy = "-default-stream=legacy";
        assert_eq!(nvcc_option(legacy), Ok(legacy.to_owned()));
    }
}
