//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compiles, runs and judges the kernels of the Gradient Puzzles workbook.
#[derive(Debug, Parser)]
#[command(name = "grader", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,

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
    /// Show what the grader finds on this machine, and how to mend what is missing
    Doctor,
    /// Runs kernels for the grader, in a process of its own
    #[command(name = "__gpu-child", hide = true)]
    GpuChild,
}

/// What to grade and how.
#[derive(Args, Debug)]
pub struct PuzzleArgs {
    /// Number of the puzzle, such as 10
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
    #[arg(long)]
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

/// Output formats by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}
