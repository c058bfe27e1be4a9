//! The command `grader completions SHELL`, whose script asks the grader at each Tab, so that it knows the workbook.

use super::args::Cli;
use super::console;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};
use std::env;

/// The environment variable by which the script tells the grader to complete words, and for which shell.
const VARIABLE: &str = "GRADER_COMPLETE";

/// The name of the program, found in `PATH` when the user types it.
const PROGRAM: &str = "grader";

pub(super) fn run(shell: Shell) {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        // Writing to memory cannot fail.
        shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).ok();
    }
    console::print(&String::from_utf8_lossy(&script));
}

/// Completes the words of the command line if the script asks for it; says whether it did.
pub(super) fn answer() -> bool {
    let words = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    let folder = env::current_dir().ok();
    // A completion that fails shows nothing: a message would end up in the middle of what is typed.
    env::var_os(VARIABLE).is_some()
        && words.try_complete(env::args_os(), folder.as_deref()).unwrap_or(true)
}
