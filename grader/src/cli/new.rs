//! The command `grader new NN_name`.

use super::args::NewArgs;
use super::console;
use crate::template::{self, Names};
use diagnostic::Failure;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::Path;

pub(super) fn run(args: &NewArgs, workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let mut names = Names::new(&args.stem, args.title.as_deref(), args.kernel.as_deref())?;
    if args.title.is_none() && stdin().is_terminal() && stdout().is_terminal() {
        let title = ask("title", &names.title);
        let kernel =
            if args.kernel.is_none() { ask("kernel", &names.kernel) } else { names.kernel };
        names = Names::new(&args.stem, Some(&title), Some(&kernel))?;
    }
    let written = template::write(&workbook, &names, args.template)?;
    let files: Vec<String> = written.iter().map(|path| format!("  {}\n", path.display())).collect();
    let files = files.concat();
    let number = args.stem.split('_').next().unwrap_or_default().trim_start_matches('0');
    console::print(&format!(
        "{files}\nThey make up a small puzzle that passes every check. \
         Change it into yours step by step, and after each step run:\n\n  \
         grader check {number}             does the puzzle pass every check?\n  \
         grader check {number} --mutants   do its tests notice every small change of the solution?\n\n\
         book/src/adding_a_puzzle.md explains each file.\n"
    ));
    Ok(())
}

/// Asks a question; an empty answer means `proposed`.
fn ask(what: &str, proposed: &str) -> String {
    let mut answer = String::new();
    write!(stdout(), "{what} [{proposed}]: ").and_then(|()| stdout().flush()).ok();
    stdin().read_line(&mut answer).ok();
    let answer = answer.trim();
    if answer.is_empty() { proposed.to_owned() } else { answer.to_owned() }
}
