//! `grader run`.

use super::args::{BackendChoice, RunArgs};
use crate::backend::gpu;
use crate::failure::{Failure, FailureKind};
use crate::program::{self, Ran};
use crate::report::findings_page;
use crate::toolchain::env::Env;
use crate::toolchain::{Library, Target, Toolchain};
use std::io::{self, Write};
use std::path::Path;

/// Exit code of `--check` where there are findings.
const FOUND: u8 = 1;

/// Compiles and runs a program; its exit code.
pub(super) fn run(args: &RunArgs, dir: Option<&Path>, nvcc: Option<&Path>) -> Result<u8, Failure> {
    // Programs need no workbook. Where there is one, they may include its headers.
    let headers = super::workbook(dir).ok().map(|workbook| workbook.include_dir());
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let gpu = match args.backend {
        BackendChoice::Gpu => Some(gpu::detect()?.info().clone()),
        BackendChoice::Vm => None,
        // Checks are the virtual machine's.
        BackendChoice::Auto if args.check => None,
        BackendChoice::Auto => gpu::probe(),
    };
    if let Some(gpu) = gpu {
        if args.check {
            let title = "--check looks with the virtual machine's eyes, and --backend gpu has none";
            let help = "leave out one of the two; compute-sanitizer checks programs on a GPU";
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
        let (major, minor) = gpu.compute_capability;
        let target = Target::Program { sm: major * 10 + minor };
        let program = program::compile(&toolchain, &args.file, headers.as_deref(), target)?;
        return Ok(program::exit_code(program::run_natively(&program, &args.args)?));
    }
    let library = program::compile(&toolchain, &args.file, headers.as_deref(), Target::Library)?;
    let grader = std::env::current_exe().map_err(|e| {
        let title = format!("the grader cannot find its own program: {e}");
        Failure::new(FailureKind::Environment, title, "start it by its full path")
    })?;
    let ran = program::run(&library, &args.args, &grader)?;
    Ok(report(args, &library, &ran))
}

/// Says on standard error, for standard output is the program's, what the checks found.
fn report(args: &RunArgs, library: &Library, ran: &Ran) -> u8 {
    let mut to = io::stderr();
    let program = program::exit_code(ran.status);
    let launches =
        format!("{} kernel launch{}", ran.launches, if ran.launches == 1 { "" } else { "es" });
    let (allocations, bytes) = ran.leaked;
    if !args.check {
        if !ran.findings.is_empty() {
            writeln!(to, "grader: the checks found mistakes in kernels; --check shows them").ok();
        }
        return program;
    }
    let source = &library.source;
    to.write_all(
        findings_page(&ran.findings, &source.path, &source.text, super::style()).as_bytes(),
    )
    .ok();
    if allocations > 0 {
        let plural = if allocations == 1 { "allocation" } else { "allocations" };
        writeln!(to, "note: {allocations} {plural} of device memory never freed, {bytes} bytes")
            .ok();
    }
    if ran.findings.is_empty() {
        writeln!(to, "{launches}, no findings").ok();
        return program;
    }
    if program == 0 { FOUND } else { program }
}
