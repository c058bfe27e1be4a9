//! The command `grader explain`.

use super::args::{ExplainArgs, PageFormat};
use super::console;
use super::examination::Examination;
use diagnostic::{EXIT_FAIL, EXIT_PASS, Failure};
use judge::explain;
use report::explain::{document, page};
use std::path::Path;

/// Explains an element and returns the exit code, which says whether everything is correct.
pub(super) fn run(
    args: &ExplainArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<u8, Failure> {
    let examined = Examination::new("explain", args.number, &args.input, workbook, nvcc)?;
    let Examination { vm, cases, program, .. } = &examined;
    let chosen = explain::case_to_explain(vm, cases, args.input.test.is_some())?;
    let Some((case, run)) = chosen else { return Ok(EXIT_PASS) };
    let at = args.element.as_deref().map(|text| explain::place(case, text)).transpose()?;
    let explanation = explain::explain(vm, case, run, at, &program.compiled.source.text)?;
    let subject = examined.subject();
    console::print(&match args.format {
        PageFormat::Json => document(subject, &explanation),
        PageFormat::Text => page(subject, &explanation, console::style()),
    });
    Ok(if explanation.passed { EXIT_PASS } else { EXIT_FAIL })
}
