//! The command `grader profile`.

use super::args::{PageFormat, ProfileArgs};
use super::console;
use super::examination::Examination;
use cudart::fatbin::target;
use diagnostic::Failure;
use judge::grade;
use puzzle::case::Case;
use report::occupancy::{Needs, Occupancy};
use report::profile::{Fit, document, page};
use std::path::Path;
use toolchain::{Resources, Toolchain};

/// The architectures of a T4, of the `GeForce` 30 series, and of an H100.
const ARCHITECTURES: [u32; 3] = [75, 86, 90];

/// Prints what a kernel costs.
pub(super) fn run(
    args: &ProfileArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let examined = Examination::new("profile", args.number, &args.input, workbook, nvcc)?;
    let Examination { toolchain, program, vm, cases, .. } = &examined;
    let elements = |case: &&Case| case.tensors.iter().map(|t| t.tensor.bytes()).sum::<usize>();
    let Some(case) = cases.iter().max_by_key(elements) else { return Ok(()) };
    let counters = vm.count(case)?;
    let subject = examined.subject();
    let fits = fits(toolchain, program, case)?;
    console::print(&match args.format {
        PageFormat::Json => document(subject, case, &counters, &fits),
        PageFormat::Text => page(subject, case, &counters, &fits, console::style()),
    });
    Ok(())
}

/// The occupancy of the kernels of a case on each architecture.
fn fits(toolchain: &Toolchain, program: &grade::Program, case: &Case) -> Result<Vec<Fit>, Failure> {
    let mut fits: Vec<Fit> = Vec::new();
    for (sm, resources) in resources(toolchain, &program.compiled.ptx)? {
        for launch in &case.launches {
            let symbol = program.kernels.get(&launch.kernel);
            let Some(of) = resources.iter().find(|of| Some(&of.kernel) == symbol) else { continue };
            let shape = (launch.block.iter().product(), launch.shared);
            let Some(fit) = fit(&launch.kernel, of, shape, sm) else { continue };
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

/// The resources that kernels need on each architecture for which their PTX can be assembled.
pub(super) fn resources(
    toolchain: &Toolchain,
    ptx: &str,
) -> Result<Vec<(u32, Vec<Resources>)>, Failure> {
    let oldest = target(ptx).unwrap_or_default();
    let possible = ARCHITECTURES.into_iter().filter(|&sm| sm >= oldest);
    let assembler = toolchain.assembler();
    possible.map(|sm| Ok((sm, assembler.resources(ptx, sm)?))).collect()
}

/// How a kernel fits that is launched with so many threads of a block and bytes of dynamic shared memory.
pub(super) fn fit(name: &str, of: &Resources, shape: (u32, u32), sm: u32) -> Option<Fit> {
    let (threads, dynamic) = shape;
    let shared = of.shared + dynamic;
    let needs = Needs { registers: of.registers, shared, threads, barriers: of.barriers };
    let occupancy = Occupancy::of(needs, sm)?;
    Some(Fit { kernel: name.to_owned(), sm, needs, spilled: of.spilled, occupancy })
}
