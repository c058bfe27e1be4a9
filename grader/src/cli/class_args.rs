//! The arguments of `grader class`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `grader class`.
#[derive(Debug, Subcommand)]
pub enum ClassCommand {
    /// Write an example of class.toml, with a fresh secret
    New(ClassNewArgs),
    /// Pack the students' workbook: stubs, specs and chapters, without solutions and hidden tests
    Pack(ClassPackArgs),
    /// Grade a folder with one file or folder for each student
    Grade(ClassGradeArgs),
    /// Grade a part of a class's tasks; Slurm's job script calls it
    #[command(hide = true)]
    Slice(ClassSliceArgs),
}

/// Arguments of `grader class new`.
#[derive(Args, Debug)]
pub struct ClassNewArgs {
    /// The file to write
    #[arg(default_value = "class.toml")]
    pub file: PathBuf,
}

/// Arguments of `grader class pack`.
#[derive(Args, Debug)]
pub struct ClassPackArgs {
    /// The settings of the class
    #[arg(long, value_name = "FILE", default_value = "class.toml")]
    pub class: PathBuf,

    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "workbook.zip")]
    pub out: PathBuf,

    /// Make Gradescope's autograder.zip instead, which holds this grader, the hidden tests and the secret
    #[arg(long)]
    pub gradescope: bool,
}

/// Arguments of `grader class grade`.
#[derive(Args, Debug)]
pub struct ClassGradeArgs {
    /// The folder with one file or folder for each student
    pub submissions: PathBuf,

    /// The settings of the class
    #[arg(long, value_name = "FILE", default_value = "class.toml")]
    pub class: PathBuf,

    /// The folder for the results
    #[arg(long, value_name = "DIR", default_value = "grades")]
    pub out: PathBuf,

    /// How many submissions are graded at the same time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// The folder is the submission of this one student
    #[arg(long, value_name = "NAME")]
    pub student: Option<String>,

    /// When that was submitted, such as 2026-12-01T23:59:00+01:00 [default: the time of the newest file]
    #[arg(long, value_name = "TIME", requires = "student")]
    pub at: Option<String>,

    /// Grade again what took too long or broke the grader down
    #[arg(long)]
    pub again: bool,

    /// Grade although this system cannot confine what students wrote completely: on a machine that holds nothing else of value
    #[arg(long)]
    pub partly_confined: bool,

    /// Let Slurm grade, as a job array of so many slices
    #[arg(long, value_name = "SLICES", value_parser = clap::value_parser!(u16).range(1..=1000), conflicts_with = "student")]
    pub slurm: Option<u16>,
}

/// Arguments of `grader class slice`.
#[derive(Args, Debug)]
pub struct ClassSliceArgs {
    /// The folder for the results
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// The number of this slice, from 0
    #[arg(long, value_name = "N")]
    pub index: usize,

    /// How many slices there are
    #[arg(long, value_name = "N")]
    pub of: usize,

    /// Grade although this system cannot confine what students wrote completely: on a machine that holds nothing else of value
    #[arg(long)]
    pub partly_confined: bool,
}
