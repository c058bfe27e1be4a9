//! The command `grader mnist`.

use super::args::MnistArgs;
use super::console;
use crate::mnist::{self, Page};
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure};

/// Checks the files and returns the exit code, which says whether all of them are MNIST's.
pub(super) fn run(args: &MnistArgs) -> Result<u8, Failure> {
    let checked = mnist::check(&args.dir)?;
    console::print(&Page { folder: &args.dir, checked: &checked }.to_string());
    Ok(if checked.all_genuine() { EXIT_PASS } else { EXIT_FAIL })
}
