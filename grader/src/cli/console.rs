//! Functions that every command needs: output, exit codes, and the workbook around the current folder.

use crate::terminal::text::with_colours_alone;
use ::puzzle::workbook::Workbook;
use diagnostic::{EXIT_ENVIRONMENT, Failure, FailureKind};
use report::style::Style;
use std::io::{self, StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

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

/// Standard output. It notes that something was lost, and passes of all control characters only those that set colours: whatever a
/// page quotes, it cannot do anything to the terminal.
#[derive(Debug)]
pub struct Stdout(StdoutLock<'static>);

/// Why something could not be written to stdout.
static LOST: Mutex<Option<io::ErrorKind>> = Mutex::new(None);

/// Standard output, locked.
pub fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

impl Stdout {
    fn note<T>(result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::BrokenPipe
            && let Ok(mut lost) = LOST.lock()
        {
            *lost = Some(error.kind());
        }
        result
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let obeyed = |byte: &u8| (byte.is_ascii_control() && *byte != b'\n') || *byte >= 0x80;
        if !bytes.iter().any(obeyed) {
            return Self::note(self.0.write_all(bytes));
        }
        let text = String::from_utf8_lossy(bytes);
        Self::note(self.0.write_all(with_colours_alone(&text).as_bytes()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::note(self.0.flush())
    }
}

/// The exit code of a command that ended with `code`: output that is lost is an error. A closed pipe (`grader list | head`) is none.
pub fn checked(code: ExitCode) -> ExitCode {
    stdout().flush().ok();
    let Some(kind) = LOST.lock().ok().and_then(|lost| *lost) else { return code };
    let help = "the verdict is lost with it: free some space, or write to another place";
    writeln!(io::stderr(), "error: the output cannot be written: {kind}\n  = help: {help}").ok();
    ExitCode::from(EXIT_ENVIRONMENT)
}

/// Prints a page on stdout. A closed pipe (`grader list | head`) is not an error.
pub fn print(page: &str) {
    let mut stdout = stdout();
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
