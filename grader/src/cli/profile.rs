//! `grader profile`.

use super::args::{Format, ProfileArgs};
use super::grading;
use crate::backend::vm::VmBackend;
use crate::case::Case;
use crate::failure::Failure;
use crate::grade;
use crate::oracle;
use crate::report::explain::Subject;
use crate::report::profile::{document, page};
use crate::spec::Test;
use crate::toolchain::Toolchain;
use crate::toolchain::env::Env;
use std::path::Path;

/// Prints what a kernel costs.
pub(super) fn run(
    args: &ProfileArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = super::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    grade::needs_kernels(&spec, "profile")?;
    let tests: Vec<&Test> = match &args.test {
        Some(name) => vec![spec.test(name)?],
        None => spec.tests.iter().collect(),
    };
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let source = if args.solution { &puzzle.solution } else { &puzzle.stub };
    let cases = grade::cases(&spec, &tests, args.seed.unwrap_or_else(grading::fresh_seed))?;
    let program = grade::compile(&toolchain, &workbook, &spec, source, None)?;
    let vm = VmBackend::new(&program.compiled.ptx, program.kernels.clone())?;
    let elements = |case: &&Case| case.tensors.iter().map(|t| t.tensor.bytes()).sum::<usize>();
    let Some(case) = cases.iter().max_by_key(elements) else { return Ok(()) };
    let counters = vm.count(case)?;
    let compiled = &program.compiled.source;
    let subject = Subject {
        puzzle: puzzle.number,
        title: &spec.title,
        file: &compiled.path,
        source: &compiled.text,
    };
    super::print(&match args.format {
        Format::Json => document(subject, case, &counters),
        Format::Text | Format::Junit => page(subject, case, &counters, super::style()),
    });
    Ok(())
}
