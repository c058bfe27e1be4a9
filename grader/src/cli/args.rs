//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use cudart::limits::Limits;
use std::ffi::OsString;
use std::path::PathBuf;
use toolchain::VirtualArch;

/// Compiles, runs and judges the kernels of the Gradient Puzzles workbook.
#[derive(Debug, Parser)]
#[command(name = "grader", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do [default: say where you are and what is next]
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The workbook's folder [default: the one around the current folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub workbook: Option<PathBuf>,

    /// The CUDA compiler [default: searched, else NVIDIA's own is installed]
    #[arg(long, global = true, value_name = "PATH")]
    pub nvcc: Option<PathBuf>,
}

const EXIT_CODES: &str = "Exit codes: 0 all tests pass, 1 a test fails or the kernel does not compile, \
2 bad usage or a bad spec, 3 the machine lacks something.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Grade a puzzle: compile the kernel, run its tests, show what is wrong
    Puzzle(PuzzleArgs),
    /// Show what an element is made of, the kernel's terms beside the formula's
    Explain(ExplainArgs),
    /// Count what the kernel costs, line by line
    Profile(ProfileArgs),
    /// Grade a puzzle again at every save
    Watch(WatchArgs),
    /// List the puzzles and how they stand
    List,
    /// Name the next puzzle
    Next,
    /// Show a hint; each time it is asked, the next stronger one
    Hint(HintArgs),
    /// Open the stub in your editor ($VISUAL, $EDITOR) and the chapter in the browser
    Open(NumberArgs),
    /// Put the stub back as it was; your version is kept beside it
    Reset(NumberArgs),
    /// Set up clangd for this machine, so that editors understand CUDA
    EditorSetup,
    /// Show what the grader finds on this machine, and how to mend what is missing
    Doctor,
    /// Show what the grader keeps on this machine, and remove it
    Clean(CleanArgs),
    /// For instructors: write the files of a new puzzle
    New(NewArgs),
    /// For instructors: check that puzzles are in order
    Check(CheckArgs),
    /// Look at PTX with the virtual machine's eyes
    #[command(subcommand)]
    Ptx(PtxCommand),
    /// Print a script that completes commands in a shell
    Completions {
        /// Of this shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man(ManArgs),
    /// Draw handwriting-like digits, as files like MNIST's
    Digits(DigitsArgs),
    /// Compile and run a whole CUDA program, with or without a GPU
    Run(RunArgs),
}

/// What to grade and how.
#[derive(Args, Debug)]
pub struct PuzzleArgs {
    /// Number of the puzzle, such as 10
    #[arg(value_parser = number)]
    pub number: u32,

    /// Grade the solution instead of your file
    #[arg(long, conflicts_with = "file")]
    pub solution: bool,

    /// Grade another file
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Run only this test
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,

    /// Seed of the random data [default: a new one at every run]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,

    /// Where to run the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write each test's inputs, expected and computed tensors as .npy files into this folder
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
}

/// What a new puzzle is called.
#[derive(Args, Debug)]
pub struct NewArgs {
    /// Number and name, such as `51_my_puzzle`
    #[arg(value_name = "NN_NAME")]
    pub stem: String,

    /// Title of spec and chapter [default: asked for, or made from the name]
    #[arg(long)]
    pub title: Option<String>,

    /// Name of the `__global__` function [default: asked for, or the name]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
}

/// What to do with PTX.
#[derive(Debug, Subcommand)]
pub enum PtxCommand {
    /// Say, entry by entry, whether the virtual machine can run it, and if not, why
    Check(PtxCheckArgs),
}

/// Which files.
#[derive(Args, Debug)]
pub struct PtxCheckArgs {
    /// PTX, as `nvcc -ptx` writes it
    #[arg(required = true)]
    pub files: Vec<PathBuf>,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// What to check.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Numbers of the puzzles [default: all]
    #[arg(value_parser = number)]
    pub numbers: Vec<u32>,

    /// Where stubs and solutions run, besides the virtual machine
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Change the solution in many small ways, and list the changes that no test notices
    #[arg(long)]
    pub mutants: bool,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What to watch.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Number of the puzzle [default: the last one, or the next if it is solved]
    #[arg(value_parser = number)]
    pub number: Option<u32>,

    /// Where to run the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
}

/// Which hint.
#[derive(Args, Debug)]
pub struct HintArgs {
    /// Number of the puzzle
    #[arg(value_parser = number)]
    pub number: u32,

    /// 1 is mild, 2 medium, 3 strong [default: one more than last time]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub level: Option<u8>,
}

/// A puzzle.
#[derive(Args, Debug)]
pub struct NumberArgs {
    /// Number of the puzzle
    #[arg(value_parser = number)]
    pub number: u32,
}

/// What to remove.
#[derive(Args, Debug)]
pub struct CleanArgs {
    /// Remove it
    #[arg(long)]
    pub yes: bool,
}

/// Which program, and where it runs.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The program's source
    pub file: PathBuf,

    /// Where to run it: the GPU, or the virtual machine
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,

    /// Compile for an older architecture, such as 75 for a T4; the virtual machine then claims to be that
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub arch: Option<VirtualArch>,

    /// Show what its kernels do wrong (on the virtual machine); exit code 1 if they do
    #[arg(long)]
    pub check: bool,

    /// Count what its kernels cost, line by line (on the virtual machine)
    #[arg(long)]
    pub profile: bool,

    /// Write these counters into a file, as JSON
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub json: Option<PathBuf>,

    /// The program's own arguments, after --
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

/// How many digits, and where they go.
#[derive(Args, Debug)]
pub struct DigitsArgs {
    /// The folder for the four files
    pub dir: PathBuf,

    /// Digits to learn from
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub train: u32,

    /// Digits to test with
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub test: u32,

    /// Draw other digits: the same number gives the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Write a picture of the first thousand too, as PNG
    #[arg(long, value_name = "FILE")]
    pub sheet: Option<PathBuf>,
}

/// Where manual pages go.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Which element to explain.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// Number of the puzzle, such as 10
    #[arg(value_parser = number)]
    pub number: u32,

    // No doc comment: rustdoc would take the brackets for links.
    #[arg(
        long,
        value_name = "ELEMENT",
        help = "The element, such as \"C[0,2]\" or \"grad(input)[0,0,2,2]\" [default: the first wrong one]"
    )]
    #[expect(missing_docs, reason = "its help says what it is")]
    pub element: Option<String>,

    /// Explain the solution instead of your file
    #[arg(long, conflicts_with = "file")]
    pub solution: bool,

    /// Explain another file
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// In this test [default: the first that fails, else the smallest]
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,

    /// Seed of the random data [default: a new one at every run]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// What to count.
#[derive(Args, Debug)]
pub struct ProfileArgs {
    /// Number of the puzzle, such as 10
    #[arg(value_parser = number)]
    pub number: u32,

    /// Count the solution instead of your file
    #[arg(long, conflicts_with = "file")]
    pub solution: bool,

    /// Count this file instead of the workbook's
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// In this test [default: the one with most data]
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,

    /// Seed of the random data [default: a new one at every run]
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Backends by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// The GPU where a driver answers, else the virtual machine
    Auto,
    /// An NVIDIA GPU
    Gpu,
    /// The PTX virtual machine
    Vm,
}

/// How a command prints that runs no tests: `JUnit` has no words for what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// How a command prints that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// XML as of `JUnit`, for CI systems
    Junit,
}

/// A puzzle's number.
fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "a puzzle is named by its number, such as 10".into())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a seed is a whole number, 0 or more".into())
}

/// `sm_80`, `compute_80` or `80`, of those that the virtual machine can be.
fn arch(text: &str) -> Result<VirtualArch, String> {
    let number = ["sm_", "compute_"].iter().find_map(|start| text.strip_prefix(start));
    let number = number.unwrap_or(text).parse::<u32>().ok();
    let known: Vec<u32> = Limits::known().map(|(major, minor)| major * 10 + minor).collect();
    number.filter(|number| known.contains(number)).map(VirtualArch).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|number| format!("sm_{number}")).collect();
        format!("the virtual machine can be {}", names.join(", "))
    })
}
