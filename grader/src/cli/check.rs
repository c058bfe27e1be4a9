//! The command `grader check`.

use super::args::{BackendChoice, CheckArgs, CheckFormat};
use super::console;
use crate::check::report::{Checked, json, junit, page};
use crate::check::{self, Bench, reports};
use device::gpu;
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure, FailureKind};
use puzzle::workbook::Puzzle;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// Checks puzzles and returns the exit code.
pub(super) fn run(
    args: &CheckArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<u8, Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzles: Vec<&Puzzle> = match &args.numbers[..] {
        [] => workbook.puzzles().iter().collect(),
        numbers => numbers.iter().map(|&n| workbook.puzzle(n)).collect::<Result<_, _>>()?,
    };
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let on_gpu = match args.backend {
        BackendChoice::Vm => false,
        BackendChoice::Gpu => gpu::detect().map(|_| true)?,
        BackendChoice::Auto => gpu::detect().is_ok(),
    };
    let bench = Bench { workbook: &workbook, toolchain: &toolchain, on_gpu, without: &[] };
    if let Some(folder) = &args.reports {
        let mut code = EXIT_PASS;
        for puzzle in puzzles {
            let loaded = check::load(&bench, puzzle);
            match loaded.and_then(|loaded| reports::write(&bench, &loaded, folder)) {
                // The other puzzles have their reports all the same.
                Err(failure) if failure.kind != FailureKind::Environment => {
                    let _ = console::finish(Err(failure));
                    code = EXIT_FAIL;
                }
                written => written?,
            }
        }
        return Ok(code);
    }
    let mut all = Vec::new();
    for puzzle in puzzles {
        let checked = Checked::of(&bench, puzzle, args.mutants)?;
        if args.format == CheckFormat::Text {
            console::print(&page(&checked, console::style()));
        }
        all.push(checked);
    }
    match args.format {
        CheckFormat::Text => {}
        CheckFormat::Json => console::print(&json(&all)),
        CheckFormat::Junit => console::print(&junit(&all)),
    }
    Ok(if all.iter().all(Checked::is_good) { EXIT_PASS } else { EXIT_FAIL })
}
