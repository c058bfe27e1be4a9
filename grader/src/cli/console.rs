//! Functions that every command needs: output, exit codes, and the workbook around the current folder.

use ::puzzle::workbook::Workbook;
use diagnostic::{Failure, FailureKind};
use report::style::Style;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit code that a command chose, or that of its failure.
pub fn code(result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => finish(Err(failure)),
    }
}

/// The exit code of a command that judges nothing; prints its failure on stderr.
pub fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let stderr = io::stderr();
            let text = failure.render(Style::detect(&stderr).colour);
            writeln!(stderr.lock(), "{text}").ok();
            ExitCode::from(failure.kind.exit_code())
        }
    }
}

/// Prints a page on stdout. A closed pipe (`grader list | head`) is not an error.
pub fn print(page: &str) {
    let mut stdout = io::stdout().lock();
    stdout.write_all(page.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// The colours and characters that stdout can show.
pub fn style() -> Style {
    Style::detect(&io::stdout())
}

/// The workbook in the folder `named`, or else the one that contains the current folder.
pub fn workbook(named: Option<&Path>) -> Result<Workbook, Failure> {
    if let Some(dir) = named {
        return Workbook::open(dir);
    }
    let current = std::env::current_dir().map_err(|e| {
        let title = format!("cannot read the current folder: {e}");
        Failure::new(
            FailureKind::Environment,
            title,
            "change to the workbook's folder, or use --workbook DIR",
        )
    })?;
    Workbook::find(&current)
}
