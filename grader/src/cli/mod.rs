//! Connects the command line to the library, with one file for each command.

pub mod args;
mod bench;
mod candidates;
mod check;
mod class;
pub mod class_args;
mod clean;
mod completions;
mod console;
mod digits;
mod doctor;
mod editor_setup;
mod examination;
mod explain;
mod export;
mod grading;
mod hint;
mod home;
mod in_order;
mod launch;
mod list;
mod man;
mod mnist;
mod new;
mod next;
mod nvcc_words;
mod nvrtc;
mod open;
mod profile;
mod ptx;
mod puzzle;
mod replay;
mod reset;
mod run;
mod watch;

use args::{Cli, Command, PtxCommand};
use console::{code, finish};
use device::gpu;
use device::host;
use device::program;
use diagnostic::EXIT_ENVIRONMENT;
use std::io::{self, Write};
use std::process::ExitCode;

/// Runs the command that the command line names.
pub fn run() -> ExitCode {
    // A panic is a bug in the grader: it must never look like a verdict.
    let work = std::panic::AssertUnwindSafe(|| {
        // Runs kernels for another grader. It is not for users, so help and completions omit it.
        if std::env::args_os().nth(1).is_some_and(|word| word == gpu::CHILD_COMMAND) {
            return gpu::child_main();
        }
        // Times kernels for `grader bench`.
        if std::env::args_os().nth(1).is_some_and(|word| word == ::bench::CHILD_COMMAND) {
            return ::bench::child_main();
        }
        // Grades for `grader watch`.
        if std::env::args_os().nth(1).is_some_and(|word| word == watch::CHILD_COMMAND) {
            return watch::child_main();
        }
        // Runs a student's host code.
        if std::env::args_os().nth(1).is_some_and(|word| word == host::CHILD_COMMAND) {
            return host::child_main();
        }
        // Runs a whole program.
        if std::env::args_os().nth(1).is_some_and(|word| word == program::CHILD_COMMAND) {
            return program::child_main();
        }
        // Compiles for a program that calls NVRTC.
        if std::env::args_os().nth(1).is_some_and(|word| word == nvrtc::CHILD_COMMAND) {
            return nvrtc::child_main();
        }
        // Grades one submission of a class.
        if std::env::args_os().nth(1).is_some_and(|word| word == ::class::worker::CHILD_COMMAND) {
            return class::child_main();
        }
        if completions::answer() {
            return ExitCode::SUCCESS;
        }
        let words = nvcc_words::understood(std::env::args_os());
        console::checked(dispatch(&Cli::parsed(words).unwrap_or_else(|error| error.exit())))
    });
    std::panic::catch_unwind(work).unwrap_or_else(|_| {
        let help =
            "this is a bug in the grader, not in your kernel; please report it with the text above";
        writeln!(io::stderr(), "error: the grader crashed\n  = help: {help}").ok();
        ExitCode::from(EXIT_ENVIRONMENT)
    })
}

fn dispatch(cli: &Cli) -> ExitCode {
    let (dir, nvcc) = (cli.workbook.as_deref(), cli.nvcc.as_deref());
    let Some(command) = &cli.command else {
        return finish(home::run(dir));
    };
    match command {
        Command::Puzzle(args) => ExitCode::from(puzzle::run(args, dir, nvcc)),
        Command::Explain(args) => code(explain::run(args, dir, nvcc)),
        Command::Profile(args) => finish(profile::run(args, dir, nvcc)),
        Command::Bench(args) => code(bench::run(args, dir, nvcc)),
        Command::Replay(args) => finish(replay::run(args, dir, nvcc)),
        Command::Watch(args) => finish(watch::run(args, dir, nvcc)),
        Command::List => finish(list::run(dir)),
        Command::Next => finish(next::run(dir)),
        Command::Hint(args) => finish(hint::run(args, dir)),
        Command::Open(args) => finish(open::run(args, dir)),
        Command::Reset(args) => finish(reset::run(args, dir)),
        Command::New(args) => finish(new::run(args, dir)),
        Command::Check(args) => code(check::run(args, dir, nvcc)),
        Command::Class(command) => code(class::run(command, dir, nvcc)),
        Command::EditorSetup => finish(editor_setup::run(dir, nvcc)),
        Command::Doctor => ExitCode::from(doctor::run(nvcc)),
        Command::Clean(args) => finish(clean::run(args)),
        Command::Ptx(PtxCommand::Check(args)) => code(ptx::run(args)),
        Command::Completions { shell } => {
            completions::run(*shell);
            ExitCode::SUCCESS
        }
        Command::Man(args) => finish(man::run(args)),
        Command::Export(args) => finish(export::run(args, dir, nvcc)),
        Command::Launch(args) => code(launch::run(args)),
        Command::Mnist(args) => code(mnist::run(args)),
        Command::Digits(args) => finish(digits::run(args)),
        Command::Run(args) => code(run::run(args, dir, nvcc)),
    }
}
