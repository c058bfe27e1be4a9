//! What the report says of each wrong kernel, as its author would read it: `grader check --reports`.

use super::bench::{Bench, Loaded, SEED};
use super::caught::{self, Search};
use super::{kernels, says};
use crate::wrong::WrongKernel;
use diagnostic::{Failure, FailureKind};
use judge::batch_compile::{self, Namespace, Variant};
use judge::drawn_cases::DrawnCases;
use judge::grade::{Machine, Program};
use judge::other_cases::OtherCases;
use rayon::prelude::*;
use std::path::Path;

/// The width of the reports.
const COLUMNS: usize = 80;

/// Writes the report on each wrong kernel of a puzzle, in the test that catches it, into a file of `folder`, each below a line with
/// its name.
///
/// # Errors
/// The folder cannot be written, or the machine lacks something.
pub fn write(bench: &Bench<'_>, loaded: &Loaded<'_>, folder: &Path) -> Result<(), Failure> {
    let drawn = DrawnCases::new(&loaded.spec, SEED);
    let others = OtherCases::new(&loaded.spec, SEED);
    let batches = loaded.wrong_kernels.kernels.par_chunks(batch_compile::SIZE);
    let batches: Vec<Result<String, Failure>> =
        batches.map(|batch| of_batch(bench, loaded, (&drawn, &others), batch)).collect();
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
    cases: (&DrawnCases<'_>, &OtherCases<'_>),
    batch: &[WrongKernel],
) -> Result<String, Failure> {
    let sources: Vec<&str> = batch.iter().map(|kernel| kernel.source.as_str()).collect();
    let variants = batch_compile::compile(bench.toolchain, bench.workbook, &loaded.spec, &sources)?;
    let one = |(i, (kernel, variant)): (usize, (&WrongKernel, &Variant))| {
        let text = match variant {
            Variant::Rejected => "does not compile\n".to_owned(),
            Variant::Compiled(program) => {
                let own = (kernel, program, Namespace(i));
                match kernels::problem(report(bench, loaded, cases, own))? {
                    Err(refused) => refused,
                    Ok(text) => text,
                }
            }
        };
        Ok(format!("#### {}\n{text}\n", kernel.name))
    };
    batch.par_iter().zip(&variants).enumerate().map(one).collect()
}

/// The report on the test that catches the kernel: the one that its `says` is compared with.
fn report(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    (drawn, others): (&DrawnCases<'_>, &OtherCases<'_>),
    (kernel, program, own): (&WrongKernel, &Program, Namespace),
) -> Result<String, Failure> {
    let machine = Machine::new(program, None)?;
    let verdict = match caught::search(loaded, (drawn, others), (kernel, program), &machine, true)?
    {
        Search::Missed(verdicts) => {
            return Ok(format!("{}\n", kernels::uncaught(kernel, &verdicts)));
        }
        Search::Drawn(verdict) => *verdict,
        Search::Caught(caught) => {
            let caught = caught.detailed(&machine, program);
            let own = (kernel, program, own);
            caught.explained(bench.returns(loaded), others, &machine, own)
        }
    };
    Ok(says::report(loaded, program, &verdict, COLUMNS))
}
