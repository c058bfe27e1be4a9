//! The `grader` command. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    grader::cli::run()
}
