//! The command `grader completions SHELL`.

use super::args::Cli;
use super::console;
use clap::CommandFactory;
use clap_complete::Shell;

pub(super) fn run(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "grader", &mut script);
    console::print(&String::from_utf8_lossy(&script));
}
