//! A puzzle with everything that its checks need.

use crate::wrong::{self, WrongKernels};
use diagnostic::{Failure, FailureKind};
use judge::grade;
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::spec::{Spec, Test};
use puzzle::workbook::{Puzzle, Workbook};
use std::path::Path;
use toolchain::Toolchain;

/// The seed of the data. Any seed must do; a fixed one makes a problem reproducible.
pub const SEED: u64 = 1;

/// The environment of the checks.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The workbook of the puzzles.
    pub workbook: &'a Workbook,
    /// The toolchain that compiles the kernels.
    pub toolchain: &'a Toolchain,
    /// True if solutions and stubs also run on the GPU.
    pub on_gpu: bool,
}

/// A puzzle whose spec is valid, with the data of its tests.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// The puzzle.
    pub puzzle: &'a Puzzle,
    /// Its spec.
    pub spec: Spec,
    /// Its tests, those with little data first.
    pub cases: Vec<Case>,
    /// The text of its solution.
    pub solution: String,
    /// Its wrong kernels and equivalent changes.
    pub wrong_kernels: WrongKernels,
}

/// Reads the spec, the solution and the wrong kernels of a puzzle, and draws the data of its tests.
///
/// # Errors
/// One of these files cannot be read or is invalid, so that nothing else can be checked.
pub fn load<'a>(workbook: &Workbook, puzzle: &'a Puzzle) -> Result<Loaded<'a>, Failure> {
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let mut cases = grade::cases(&spec, &tests, SEED)?;
    cases.sort_by_key(|case| case.tensors.iter().map(|t| t.tensor.len()).sum::<usize>());
    read(workbook, &puzzle.stub)?;
    let solution = read(workbook, &puzzle.solution)?;
    let text = read(workbook, &puzzle.wrong)?;
    let wrong_kernels = wrong::parse(&text, workbook.relative(&puzzle.wrong), &solution)?;
    Ok(Loaded { puzzle, spec, cases, solution, wrong_kernels })
}

/// The text of a kernel file.
pub fn read(workbook: &Workbook, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| {
        let title = format!("cannot read {}: {e}", workbook.relative(path).display());
        Failure::new(
            FailureKind::Usage,
            title,
            "every puzzle has a stub, a solution and wrong kernels",
        )
    })
}
