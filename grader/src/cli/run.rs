//! The command `grader run`.

use super::args::{BackendChoice, RunArgs};
use super::console;
use super::profile::fit;
use ::puzzle::workbook::Workbook;
use device::finding::Finding;
use device::gpu;
use device::program::{self, Emulated, Profile, Ran, Sources};
use diagnostic::{Diagnostic, Failure, FailureKind};
use report::findings_page;
use report::profile::{ProgramSubject, program_document, program_page};
use report::style::Style;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use toolchain::env::Env;
use toolchain::{Headers, Library, Resources, Target, Toolchain, VirtualArch};

/// The exit code of `--check` if there are findings.
const FOUND: u8 = 1;
/// The architecture of the virtual machine unless `--arch` names an older one: programs then compile, and choose their
/// kernels, as for an H100.
const NEWEST: VirtualArch = VirtualArch(90);
/// The largest number of block sizes per kernel whose occupancy is shown.
const MOST_SHAPES: usize = 4;

/// Compiles and runs a program and returns its exit code.
pub(super) fn run(args: &RunArgs, dir: Option<&Path>, nvcc: Option<&Path>) -> Result<u8, Failure> {
    if args.backend == BackendChoice::Gpu {
        let clash = [
            (args.check, "--check", "compute-sanitizer checks programs on a GPU"),
            (args.profile, "--profile", "ncu counts what kernels do on a GPU"),
            (args.sandbox, "--sandbox", "on a GPU, programs use NVIDIA's driver, which needs more"),
            (args.arch.is_some(), "--arch", "for a GPU, programs are compiled for just that GPU"),
        ];
        if let Some((_, option, other)) = clash.into_iter().find(|&(given, ..)| given) {
            let title = format!("{option} works on the virtual machine, not with --backend gpu");
            let help = format!("remove one of the two options; {other}");
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
    }
    // Programs need no workbook, but if there is one, they may include its headers and its kernels.
    let workbook = console::workbook(dir).ok();
    let folder = workbook.as_ref().map(Workbook::include_dir);
    let mut folders = args.compiler.include.clone();
    let offered = folders.iter().map(PathBuf::as_path).chain(folder.as_deref());
    let names: Vec<String> = offered.flat_map(names_in).collect();
    folders.extend(workbook.iter().flat_map(Workbook::reference_dirs));
    let root = workbook.as_ref().map_or(Path::new("/dev/null"), Workbook::root);
    let headers = if args.sandbox {
        Headers::Offered { names: &names, workbook: root }
    } else {
        Headers::Any
    };
    let flags = args.compiler.flags();
    let sources = Sources { files: &args.files, folders: &folders, headers, flags: &flags };
    let compile_for = |toolchain: &Toolchain, target| program::compile(toolchain, &sources, target);
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let gpu = match args.backend {
        BackendChoice::Gpu => Some(gpu::detect()?.info().clone()),
        BackendChoice::Vm => None,
        // Options that only the virtual machine supports.
        BackendChoice::Auto
            if args.check || args.profile || args.sandbox || args.arch.is_some() =>
        {
            None
        }
        BackendChoice::Auto => gpu::detect().ok().map(|gpu| gpu.info().clone()),
    };
    if let Some(gpu) = gpu {
        let (major, minor) = gpu.capability;
        let target = Target::Program { sm: major * 10 + minor };
        let program = compile_for(&toolchain, target)?;
        return Ok(program::exit_code(program::run_natively(&program, &args.args)?));
    }
    let arch = args.arch.unwrap_or(NEWEST);
    let library = compile(arch, &|arch| compile_for(&toolchain, Target::Library { arch }))?;
    let grader = std::env::current_exe().map_err(|e| {
        let title = format!("the grader cannot find its own program: {e}");
        Failure::new(FailureKind::Environment, title, "start it with its full path")
    })?;
    let emulated = Emulated {
        library: &library,
        arch,
        args: &args.args,
        count: args.profile,
        checks: args.check,
        confined: args.sandbox,
    };
    let ran = program::run(emulated, &grader)?;
    let code = report(args, &library, &ran);
    if args.profile {
        profile(args, &toolchain, &library, ran.profiles)?;
    }
    Ok(code)
}

/// The names of the files in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Compiles for the virtual machine. If the code fails only because of the architecture, the message says so.
fn compile(
    arch: VirtualArch,
    compile: &dyn Fn(VirtualArch) -> Result<Library, Failure>,
) -> Result<Library, Failure> {
    compile(arch).map_err(|mut failure| {
        if failure.kind != FailureKind::Kernel {
            return failure;
        }
        // What ptxas says of `wgmma`, for example.
        let of_another = |of: &Diagnostic| of.title.contains("not supported on .target");
        let help = if failure.diagnostics.iter().any(of_another) && arch != VirtualArch::HOPPER {
            let hopper = VirtualArch::HOPPER;
            compile(hopper).is_ok().then(|| {
                format!("sm_{arch} lacks this, but it compiles for sm_{hopper}: add --arch sm_{hopper}")
            })
        } else if arch != NEWEST && compile(NEWEST).is_ok() {
            Some(format!(
                "CUDA for sm_{arch} lacks this, but it compiles for sm_{NEWEST}: remove --arch sm_{arch}"
            ))
        } else {
            None
        };
        if let (Some(first), Some(help)) = (failure.diagnostics.first_mut(), help) {
            first.help.insert(0, help);
        }
        failure
    })
}

/// Reports what the kernels cost on stderr, and in a file if one is named.
fn profile(
    args: &RunArgs,
    toolchain: &Toolchain,
    library: &Library,
    profiles: Vec<Profile>,
) -> Result<(), Failure> {
    let mut needs: BTreeMap<u64, Vec<(u32, Vec<Resources>)>> = BTreeMap::new();
    let mut kernels = Vec::new();
    for profile in profiles {
        let needs = match needs.entry(profile.of.module) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(super::profile::resources(toolchain, &profile.ptx)?),
        };
        let mut fits = Vec::new();
        for &shape in profile.of.shapes.iter().take(MOST_SHAPES) {
            for (sm, resources) in &*needs {
                let of = resources.iter().find(|of| of.kernel == profile.of.kernel);
                fits.extend(of.and_then(|of| fit(&profile.name, of, shape, *sm)));
            }
        }
        kernels.push((profile, fits));
    }
    let source = &library.source;
    let subject = ProgramSubject { file: &source.path, source: &source.text, kernels: &kernels };
    let stderr = io::stderr();
    let page = program_page(subject, Style::detect(&stderr));
    stderr.lock().write_all(page.as_bytes()).ok();
    if let Some(path) = &args.json {
        std::fs::write(path, program_document(subject)).map_err(|e| {
            let title = format!("cannot write {}: {e}", path.display());
            Failure::new(FailureKind::Usage, title, "choose a file in a writable folder")
        })?;
    }
    Ok(())
}

/// Reports the findings of the checks on stderr, because stdout is the program's.
fn report(args: &RunArgs, library: &Library, ran: &Ran) -> u8 {
    let mut to = io::stderr();
    let program = program::exit_code(ran.status);
    let launches =
        format!("{} kernel launch{}", ran.launches, if ran.launches == 1 { "" } else { "es" });
    let (allocations, bytes) = ran.leaked;
    let (source, style) = (&library.source, Style::detect(&to));
    let page = |findings: &[Finding]| findings_page(findings, &source.path, &source.text, style);
    if !args.check {
        // What stopped a kernel tells why its results are not there.
        let (stopped, others): (Vec<Finding>, Vec<Finding>) =
            ran.findings.iter().cloned().partition(|finding| finding.problem.ends_the_run());
        to.write_all(page(&stopped).as_bytes()).ok();
        if !others.is_empty() {
            writeln!(to, "grader: the checks found mistakes in kernels; --check shows them").ok();
        }
        return program;
    }
    to.write_all(page(&ran.findings).as_bytes()).ok();
    if let Some(first) = ran.refused.first() {
        let others = match ran.refused.len() - 1 {
            0 => String::new(),
            n => format!(", nor could {n} more"),
        };
        writeln!(to, "error: a launch of {first} could not start{others}\n").ok();
    }
    if allocations > 0 {
        let plural = if allocations == 1 { "allocation" } else { "allocations" };
        writeln!(to, "note: {allocations} {plural} of device memory never freed, {bytes} bytes")
            .ok();
    }
    if ran.findings.is_empty() && ran.refused.is_empty() {
        writeln!(to, "{launches}, no findings").ok();
        return program;
    }
    if program == 0 { FOUND } else { program }
}
