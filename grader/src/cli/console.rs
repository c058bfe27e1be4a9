//! What every command needs of the terminal and of the current folder.

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

/// The exit code of a command that judges nothing; its failure is printed on stderr.
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

/// Prints a page on stdout. A reader that has gone (`grader list | head`) is no error.
pub fn print(page: &str) {
    let mut stdout = io::stdout().lock();
    stdout.write_all(page.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// What stdout can show.
pub fn style() -> Style {
    Style::detect(&io::stdout())
}

/// The workbook that was named, or the one around the current folder.
pub fn workbook(named: Option<&Path>) -> Result<Workbook, Failure> {
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
