//! `grader profile`.

use super::args::{Format, ProfileArgs};
use super::grading;
use crate::backend::vm::VmBackend;
use crate::case::Case;
use crate::failure::Failure;
use crate::grade;
use crate::occupancy::{Needs, Occupancy};
use crate::oracle;
use crate::report::explain::Subject;
use crate::report::profile::{Fit, document, page};
use crate::spec::Test;
use crate::toolchain::Toolchain;
use crate::toolchain::env::Env;
use std::path::Path;

/// A T4, a card of the 30 series, an H100.
const ARCHITECTURES: [u32; 3] = [75, 86, 90];

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
    let source = match &args.file {
        Some(file) => file,
        None if args.solution => &puzzle.solution,
        None => &puzzle.stub,
    };
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
    let fits = fits(&toolchain, &program, case)?;
    super::print(&match args.format {
        Format::Json => document(subject, case, &counters, &fits),
        Format::Text | Format::Junit => page(subject, case, &counters, &fits, super::style()),
    });
    Ok(())
}

/// How the kernels of a case fit on the architectures.
fn fits(toolchain: &Toolchain, program: &grade::Program, case: &Case) -> Result<Vec<Fit>, Failure> {
    let mut fits: Vec<Fit> = Vec::new();
    for sm in ARCHITECTURES {
        let resources = toolchain.resources(&program.compiled, sm)?;
        for launch in &case.launches {
            let symbol = program.kernels.get(&launch.kernel);
            let Some(of) = resources.iter().find(|of| Some(&of.kernel) == symbol) else { continue };
            let threads = launch.block.iter().product();
            let shared = of.shared + launch.shared;
            let needs = Needs { registers: of.registers, shared, threads, barriers: of.barriers };
            let Some(occupancy) = Occupancy::of(needs, sm) else { continue };
            let fit =
                Fit { kernel: launch.kernel.clone(), sm, needs, spilled: of.spilled, occupancy };
            if !fits.contains(&fit) {
                fits.push(fit);
            }
        }
    }
    // Kernel by kernel, in the order of the launches.
    let place = |fit: &Fit| case.launches.iter().position(|launch| launch.kernel == fit.kernel);
    fits.sort_by_key(|fit| (place(fit), fit.needs.threads, fit.sm));
    Ok(fits)
}
