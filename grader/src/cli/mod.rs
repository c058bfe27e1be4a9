//! Wires the command line to the library. One file for each command.

pub mod args;
mod doctor;
mod puzzle;

use crate::backend::gpu;
use crate::failure::{EXIT_ENVIRONMENT, Failure, FailureKind};
use crate::workbook::Workbook;
use args::{Cli, Command};
use clap::Parser;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Does what the command line says.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    // A panic is a mistake of the grader's: it must never look like a verdict.
    let work = std::panic::AssertUnwindSafe(|| dispatch(&cli));
    std::panic::catch_unwind(work).unwrap_or_else(|_| {
        let help = "this is a mistake in the grader, not in your kernel; please report it with the text above";
        writeln!(std::io::stderr(), "error: the grader broke off\n  = help: {help}").ok();
        ExitCode::from(EXIT_ENVIRONMENT)
    })
}

fn dispatch(cli: &Cli) -> ExitCode {
    let (dir, nvcc) = (cli.workbook.as_deref(), cli.nvcc.as_deref());
    match &cli.command {
        Command::Puzzle(args) => ExitCode::from(puzzle::run(args, dir, nvcc)),
        Command::Doctor => ExitCode::from(doctor::run(nvcc)),
        Command::GpuChild => gpu::child_main(),
    }
}

/// The workbook that was named, or the one around the current folder.
fn workbook(named: Option<&Path>) -> Result<Workbook, Failure> {
    if let Some(dir) = named {
        return Workbook::open(dir);
    }
    let current = std::env::current_dir().map_err(|e| {
        let title = format!("the current folder cannot be read: {e}");
        Failure::new(
            FailureKind::Environment,
            title,
            "go into the workbook's folder, or use --workbook DIR",
        )
    })?;
    Workbook::find(&current)
}
