//! The command `grader launch`.

use super::args::LaunchArgs;
use super::console;
use crate::launch_plan;
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure};
use report::findings_page;
use report::style::Style;
use std::io::{self, Write};

/// Runs planned launches and returns the exit code, which says whether the kernels did nothing wrong.
pub(super) fn run(args: &LaunchArgs) -> Result<u8, Failure> {
    let done = launch_plan::run(&args.plan)?;
    console::print(&done.printed);
    let mut to = io::stderr();
    let page = findings_page(&done.findings, &done.file, &done.source, Style::detect(&to));
    to.write_all(page.as_bytes()).ok();
    Ok(if done.findings.is_empty() { EXIT_PASS } else { EXIT_FAIL })
}
