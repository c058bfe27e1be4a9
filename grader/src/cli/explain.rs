//! The command `grader explain`.

use super::args::{ExplainArgs, PageFormat};
use super::console;
use super::grading;
use device::vm::VmBackend;
use diagnostic::{EXIT_FAIL, Failure};
use judge::explain;
use judge::grade;
use puzzle::oracle;
use puzzle::spec::Test;
use report::explain::{Subject, document, page};
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// Explains an element and returns the exit code.
pub(super) fn run(args: &ExplainArgs, workbook: Option<&Path>, nvcc: Option<&Path>) -> u8 {
    match explained(args, workbook, nvcc) {
        Ok(true) => 0,
        Ok(false) => EXIT_FAIL,
        Err(failure) => {
            let code = failure.kind.exit_code();
            console::finish(Err(failure));
            code
        }
    }
}

/// Explains the element and returns whether everything is correct.
fn explained(
    args: &ExplainArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<bool, Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    grade::needs_kernels(&spec, "explain")?;
    let tests: Vec<&Test> = match &args.test {
        Some(name) => vec![spec.test(name)?],
        None => spec.tests.iter().collect(),
    };
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let source = match &args.file {
        Some(file) => file,
        None if args.solution => &puzzle.solution,
        None => &puzzle.stub,
    };
    let cases = grade::cases(&spec, &tests, args.seed.unwrap_or_else(grading::fresh_seed))?;
    let program = grade::compile(&toolchain, &workbook, &spec, source, None)?;
    let vm = VmBackend::new(&program.compiled.ptx, program.kernels.clone())?;
    let case = match &args.test {
        Some(_) => cases.first(),
        None => explain::first_to_explain(&vm, &cases)?,
    };
    let Some(case) = case else { return Ok(true) };
    let at = args.element.as_deref().map(|text| explain::place(case, text)).transpose()?;
    let explanation = explain::explain(&vm, case, at, &program.compiled.source.text)?;
    let compiled = &program.compiled.source;
    let subject = Subject {
        puzzle: puzzle.number,
        title: &spec.title,
        file: &compiled.path,
        source: &compiled.text,
    };
    console::print(&match args.format {
        PageFormat::Json => document(subject, &explanation),
        PageFormat::Text => page(subject, &explanation, console::style()),
    });
    Ok(explanation.passed)
}
