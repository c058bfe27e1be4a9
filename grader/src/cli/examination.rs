//! The common part of `grader explain` and `grader profile`: a puzzle's kernels on the virtual machine.

use super::args::InputArgs;
use super::console;
use super::grading;
use crate::original_stub;
use device::vm::VmBackend;
use diagnostic::{Failure, FailureKind};
use judge::drawn;
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Program};
use puzzle::case::Case;
use puzzle::draw;
use puzzle::oracle;
use puzzle::spec::{DRAWN, Spec};
use report::explain::Subject;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// A puzzle whose kernels are compiled for the virtual machine, with the data of its tests.
#[derive(Debug)]
pub(super) struct Examination {
    /// Number of the puzzle.
    number: u32,
    pub spec: Spec,
    pub toolchain: Toolchain,
    pub program: Program,
    pub vm: VmBackend,
    /// The chosen test, the smallest drawn case that fails, or all tests.
    pub cases: Vec<Case>,
}

impl Examination {
    /// Compiles the kernels of a puzzle and draws the data. `command` is the name of the grader's command.
    ///
    /// # Errors
    /// The puzzle has no kernels, they do not compile, the virtual machine cannot run them, or no drawn case fails.
    pub fn new(
        command: &str,
        number: u32,
        input: &InputArgs,
        workbook: Option<&Path>,
        nvcc: Option<&Path>,
    ) -> Result<Self, Failure> {
        let workbook = console::workbook(workbook)?;
        let puzzle = workbook.puzzle(number)?;
        let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
        grade::needs_kernels(&spec, command)?;
        let drawn = input.test.as_deref() == Some(DRAWN) && draw::drawn(&spec).is_some();
        let tests = if drawn { Vec::new() } else { input.tests(&spec)? };
        let seed = input.seed.unwrap_or_else(grading::fresh_seed);
        original_stub::check_present(&workbook, puzzle, input.source.of(puzzle))?;
        let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
        let mut cases = grade::cases(&spec, &tests, seed)?;
        let program = grade::compile(&toolchain, &workbook, &spec, input.source.of(puzzle), None)?;
        let vm = program.virtual_machine()?;
        if drawn {
            let failing = drawn::smallest_failing(&vm, &DrawnCases::new(&spec, seed))?;
            cases.push(failing.ok_or_else(|| none_fails(seed))?);
        }
        Ok(Self { number: puzzle.number, spec, toolchain, program, vm, cases })
    }

    /// What the page of the command is about.
    pub fn subject(&self) -> Subject<'_> {
        let source = &self.program.compiled.source;
        Subject {
            puzzle: self.number,
            title: &self.spec.title,
            file: &source.path,
            source: &source.text,
        }
    }
}

fn none_fails(seed: u64) -> Failure {
    let title = format!("all drawn sizes of seed {seed} pass: there is no failing case to show");
    Failure::new(FailureKind::Usage, title, "give the --seed of a report, or the name of a test")
}
