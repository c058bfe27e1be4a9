//! The command `grader export`.

use super::args::{BackendChoice, ExportArgs};
use super::console;
use super::grading;
use crate::export;
use crate::original_stub;
use diagnostic::Failure;
use judge::grade;
use puzzle::oracle;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// The folder for exported kernels in the workbook.
const FOLDER: &str = "exported";

/// Writes the kernels of a puzzle with the description of their launches.
pub(super) fn run(
    args: &ExportArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    grade::needs_kernels(&spec, "export")?;
    let source = args.source.of(puzzle);
    original_stub::check_present(&workbook, puzzle, source)?;
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let gpu = grading::choose(BackendChoice::Auto)?;
    let program = grade::compile(&toolchain, &workbook, &spec, source, gpu.as_ref())?;
    let folder = args.out.clone();
    let folder = folder.unwrap_or_else(|| workbook.root().join(FOLDER).join(&puzzle.stem));
    let sm = gpu.map(|gpu| gpu.info().capability.0 * 10 + gpu.info().capability.1);
    export::write(&folder, puzzle.number, &spec, &program, sm)?;
    let machine_code = sm.map_or_else(String::new, |sm| format!(", machine code for sm_{sm}"));
    console::print(&format!(
        "Wrote PTX{machine_code} and {} to {}.\n",
        export::DOCUMENT,
        workbook.relative(&folder).display()
    ));
    Ok(())
}
