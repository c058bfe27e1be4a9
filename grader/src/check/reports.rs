//! What the report says of each wrong kernel, as its author would read it: `grader check --reports`.

use super::bench::{Bench, Loaded, SEED};
use super::{kernels, says};
use crate::wrong::WrongKernel;
use diagnostic::{Failure, FailureKind};
use judge::batch_compile::{self, Variant};
use judge::drawn::{self, DrawnCases};
use judge::formula_variant;
use judge::grade::{self, Machine, Program};
use judge::intermediate;
use judge::verdict::TestVerdict;
use puzzle::case::Case;
use rayon::prelude::*;
use std::path::Path;

/// The width of the reports.
const COLUMNS: usize = 80;

/// Writes the reports on the wrong kernels of a puzzle into a file of `folder`, one after the other, each below a line with its name.
///
/// # Errors
/// The folder cannot be written, or the machine lacks something.
pub fn write(bench: &Bench<'_>, loaded: &Loaded<'_>, folder: &Path) -> Result<(), Failure> {
    let drawn = DrawnCases::new(&loaded.spec, SEED);
    let mut cases: Vec<&Case> = loaded.cases.iter().collect();
    // As a student runs them.
    cases.sort_by_key(|case| loaded.spec.tests.iter().position(|test| test.name == case.test));
    let batches = loaded.wrong_kernels.kernels.par_chunks(batch_compile::SIZE);
    let batches: Vec<Result<String, Failure>> =
        batches.map(|batch| of_batch(bench, loaded, (&cases, &drawn), batch)).collect();
    let text = batches.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    let path = folder.join(format!("{}.txt", loaded.puzzle.stem));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)).map_err(|e| {
        let title = format!("cannot write {}: {e}", path.display());
        Failure::new(FailureKind::Environment, title, "name another folder for the reports")
    })
}

fn of_batch(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    tests: (&[&Case], &DrawnCases<'_>),
    batch: &[WrongKernel],
) -> Result<String, Failure> {
    let sources: Vec<&str> = batch.iter().map(|kernel| kernel.source.as_str()).collect();
    let variants = batch_compile::compile(bench.toolchain, bench.workbook, &loaded.spec, &sources)?;
    let one = |(kernel, variant): (&WrongKernel, &Variant)| {
        let text = match variant {
            Variant::Rejected => "does not compile\n".to_owned(),
            Variant::Compiled(program) => {
                match kernels::problem(first_failure(loaded, tests, program))? {
                    Err(refused) => refused,
                    Ok(None) => "passes\n".to_owned(),
                    Ok(Some(verdict)) => says::report(loaded, program, &verdict, COLUMNS),
                }
            }
        };
        Ok(format!("#### {}\n{text}\n", kernel.name))
    };
    batch.par_iter().zip(&variants).map(one).collect()
}

/// The first test that fails, with all that is known of it; `None` if the kernel passes.
fn first_failure(
    loaded: &Loaded<'_>,
    (cases, drawn): (&[&Case], &DrawnCases<'_>),
    program: &Program,
) -> Result<Option<TestVerdict>, Failure> {
    let machine = Machine::new(program, None)?;
    for case in cases {
        let (run, verdict) = grade::run_and_judge(machine.backend(), case)?;
        if verdict.passed() {
            continue;
        }
        let mut verdict = grade::detailed(&machine, program, case, &run, verdict);
        if program.host.is_none() {
            let spec = &loaded.spec;
            verdict = formula_variant::explain(machine.backend(), spec, case, &run, verdict);
            verdict = intermediate::explain(&machine, program, spec, case, verdict);
        }
        return Ok(Some(verdict));
    }
    Ok(drawn::judge(&machine, program, drawn)?.filter(|verdict| !verdict.passed()))
}
