//! The common part of `grader explain` and `grader profile`: a puzzle's kernels on the virtual machine.

use super::args::InputArgs;
use super::console;
use super::grading;
use crate::original_stub;
use device::vm::VmBackend;
use diagnostic::Failure;
use judge::grade::{self, Program};
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::spec::Spec;
use report::explain::Subject;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// A puzzle whose kernels are compiled for the virtual machine, with the data of its tests.
#[derive(Debug)]
pub(super) struct Examination {
    /// Number of the puzzle.
    number: u32,
    spec: Spec,
    pub toolchain: Toolchain,
    pub program: Program,
    pub vm: VmBackend,
    /// The chosen test, or all of them.
    pub cases: Vec<Case>,
}

impl Examination {
    /// Compiles the kernels of a puzzle and draws the data. `command` is the name of the grader's command.
    ///
    /// # Errors
    /// The puzzle has no kernels, they do not compile, or the virtual machine cannot run them.
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
        let tests = input.tests(&spec)?;
        original_stub::check_present(&workbook, puzzle, input.source(puzzle))?;
        let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
        let cases = grade::cases(&spec, &tests, input.seed.unwrap_or_else(grading::fresh_seed))?;
        let program = grade::compile(&toolchain, &workbook, &spec, input.source(puzzle), None)?;
        let vm = program.virtual_machine()?;
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
