//! The command `grader reset N`.

use super::args::NumberArgs;
use super::console;
use crate::original_stub::{self, Reset};
use diagnostic::Failure;
use std::path::Path;
use toolchain::env::Env;

pub(super) fn run(args: &NumberArgs, workbook: Option<&Path>) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let version = original_stub::find(&Env::current(), &workbook, puzzle)?;
    let stub = workbook.relative(&puzzle.stub).display();
    let origin = &version.origin;
    console::print(&match original_stub::reset(&workbook, puzzle, &version.text)? {
        Reset::Unchanged => format!("{stub} has not changed since {origin}\n"),
        Reset::Restored(None) => format!("restored {stub} from {origin}\n"),
        Reset::Restored(Some(backup)) => {
            let backup = workbook.relative(&backup).display();
            format!("restored {stub} from {origin}\nyour version is in {backup}\n")
        }
    });
    Ok(())
}
