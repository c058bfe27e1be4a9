//! A puzzle with everything that its checks need.

use crate::wrong::{self, WrongKernels};
use diagnostic::{Failure, FailureKind};
use judge::grade;
use judge::returns::Compiler;
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
    /// Names of the tests that are left out, and with them the wrong kernels that only they catch. `grader check` leaves out
    /// none; the project's tests do without its longest trainings, which have a test of their own.
    pub without: &'a [&'a str],
}

impl Bench<'_> {
    /// What compiles a kernel once more, to find the `return` of a wrong flag.
    pub(super) fn returns<'s>(&'s self, loaded: &'s Loaded<'_>) -> Compiler<'s> {
        let Self { toolchain, workbook, .. } = *self;
        Compiler { toolchain, workbook, spec: &loaded.spec }
    }
}

/// A puzzle whose spec is valid, with the data of its tests.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// The puzzle in the workbook.
    pub puzzle: &'a Puzzle,
    /// The puzzle's spec.
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
pub fn load<'a>(bench: &Bench<'_>, puzzle: &'a Puzzle) -> Result<Loaded<'a>, Failure> {
    let &Bench { workbook, without, .. } = bench;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let is_in = |name: &str| !without.contains(&name);
    let tests: Vec<&Test> = spec.tests.iter().filter(|test| is_in(&test.name)).collect();
    let mut cases = grade::cases(&spec, &tests, SEED)?;
    cases.sort_by_key(Case::elements);
    read(workbook, &puzzle.stub)?;
    let solution = read(workbook, &puzzle.solution)?;
    let text = read(workbook, &puzzle.wrong)?;
    let mut wrong_kernels = wrong::parse(&text, workbook.relative(&puzzle.wrong), &solution)?;
    wrong_kernels.kernels.retain(|kernel| is_in(&kernel.caught_by));
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
