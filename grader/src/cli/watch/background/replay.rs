//! A replay beside the grading: `grader replay` in a process of its own, which opens the page.

use super::Setup;
use device::own_program;
use diagnostic::{Failure, FailureKind};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Starts a replay of the student's file, and returns at once. `send` gets a line that says where the page is, or why there is none.
///
/// # Errors
/// The machine has no room for it: an environment failure.
pub fn replay(
    setup: &Setup,
    puzzle: u32,
    send: impl FnOnce(String) + Send + 'static,
) -> Result<(), Failure> {
    let mut command = Command::new(own_program::path()?);
    command.args(["replay", &puzzle.to_string()]).arg("--workbook").arg(&setup.workbook);
    if let Some(nvcc) = &setup.nvcc {
        command.arg("--nvcc").arg(nvcc);
    }
    // Ctrl-C is for the parent, and a question of the program for nobody.
    command.env("NO_COLOR", "1").stdin(Stdio::null()).process_group(0);
    let record = move || {
        let output = command.output();
        send(output.map_or_else(|error| error.to_string(), |output| said(&output)));
    };
    let started = thread::Builder::new().name("replay".into()).spawn(record).map(drop);
    started.map_err(|error| {
        let title = format!("cannot start a thread: {error}");
        Failure::new(FailureKind::Environment, title, "close other programs")
    })
}

/// The line that matters of what it printed.
fn said(output: &Output) -> String {
    let text = if output.status.success() { &output.stdout } else { &output.stderr };
    let text = String::from_utf8_lossy(text);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no replay").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn the_line_is_the_page_or_the_failure() {
        let output = |code: i32| Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: b"replay: replays/10.html\n".into(),
            stderr: b"\nerror: it does not compile\nmore".into(),
        };
        assert_eq!(said(&output(0)), "replay: replays/10.html");
        assert_eq!(said(&output(2)), "error: it does not compile");
    }
}
