//! The command `grader replay`.

use super::args::{InputArgs, ReplayArgs};
use super::console;
use super::examination::Examination;
use super::grading;
use super::open;
use crate::wrong::{self, WrongKernel};
use diagnostic::{Failure, FailureKind};
use judge::{explain, grade};
use puzzle::oracle;
use puzzle::workbook::{Puzzle, Workbook};
use replay::{Document, Subject, Trace, page};
use std::path::{Path, PathBuf};
use toolchain::Toolchain;
use toolchain::env::Env;
use toolchain::scratch::Scratch;

/// The folder for pages in the workbook.
const FOLDER: &str = "replays";

/// What is recorded, and with which compiler.
struct Request<'a> {
    args: &'a ReplayArgs,
    /// The arguments' input, with the file of the wrong kernel if they name one.
    input: &'a InputArgs,
    workbook: &'a Workbook,
    puzzle: &'a Puzzle,
    nvcc: Option<&'a Path>,
}

/// Records a block, writes its page and opens it.
pub(super) fn run(
    args: &ReplayArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let mut input = args.input.clone();
    // It is gone at the end of the command.
    let mut scratch = None;
    if let Some(name) = &args.wrong {
        let (folder, file) = wrong_kernel(&workbook, puzzle, name)?;
        input.source.file = Some(file);
        scratch = Some(folder);
    }
    let request = Request { args, input: &input, workbook: &workbook, puzzle, nvcc };
    let done = if args.trace { write_trace(&request) } else { write_page(&request) };
    drop(scratch);
    done
}

/// The file of a wrong kernel, in a folder of its own.
fn wrong_kernel(
    workbook: &Workbook,
    puzzle: &Puzzle,
    name: &str,
) -> Result<(Scratch, PathBuf), Failure> {
    let (solution, text) = (read(&puzzle.solution)?, read(&puzzle.wrong)?);
    let all = wrong::parse(&text, workbook.relative(&puzzle.wrong), &solution)?.kernels;
    let name = name.replace('-', " ");
    let is_it = |kernel: &&WrongKernel| kernel.name.replace('-', " ").starts_with(&name);
    let Some(kernel) = all.iter().find(is_it) else {
        let title = format!("puzzle {} has no wrong kernel `{name}`", puzzle.number);
        let names: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
        return Err(Failure::new(FailureKind::Usage, title, names.join("\n")));
    };
    let folder =
        Scratch::new("replay").map_err(|error| cannot_write(&std::env::temp_dir(), &error))?;
    let file = folder.path().join(format!("{}.cu", puzzle.stem));
    std::fs::write(&file, &kernel.source).map_err(|error| cannot_write(&file, &error))?;
    Ok((folder, file))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let title = format!("cannot read {}: {error}", path.display());
        Failure::new(FailureKind::Environment, title, "restore this file of the workbook")
    })
}

/// Records a block for a figure of the book. The first line says how, for whoever makes it again.
fn write_trace(of: &Request<'_>) -> Result<(), Failure> {
    let Request { args, input, workbook, puzzle, nvcc } = *of;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    grade::needs_kernels(&spec, "replay")?;
    let seed = input.seed.unwrap_or_else(grading::fresh_seed);
    let cases = grade::cases(&spec, &input.tests(&spec)?, seed)?;
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let source = input.source.of(puzzle);
    let program = grade::compile_for_debugger(&toolchain, workbook, &spec, source)?;
    let machine = program.virtual_machine()?;
    let path = output(of, &cases[0].test)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let trace = Trace::new(&program, &machine, &cases[0], args.block.unwrap_or_default())?;
    let command: Vec<String> = std::env::args().skip(1).collect();
    let script = format!("// grader {}\n{}", command.join(" "), trace.script(&name));
    std::fs::write(&path, script).map_err(|error| cannot_write(&path, &error))?;
    console::print(&format!("trace: {}\n", workbook.relative(&path).display()));
    Ok(())
}

fn write_page(of: &Request<'_>) -> Result<(), Failure> {
    let Request { args, input, workbook, puzzle, nvcc } = *of;
    let root = Some(workbook.root());
    let examined = Examination::new("replay", args.number, input, root, nvcc)?;
    let Examination { vm, cases, program, spec, toolchain, .. } = &examined;
    let chosen = explain::case_to_explain(vm, cases, input.test.is_some())?;
    let Some((case, run)) = chosen else { return Ok(()) };
    let at = args.element.as_deref().map(|text| explain::place(case, text)).transpose()?;
    let explanation = explain::explain(vm, case, run, at, &program.compiled.source.text)?;
    // Each line by itself, with the variables that the optimiser would remove.
    let source = input.source.of(puzzle);
    let unoptimised = grade::compile_for_debugger(toolchain, workbook, spec, source)?;
    let machine = unoptimised.virtual_machine()?;
    let title = format!("{:02} {}", args.number, spec.title);
    let subject = Subject {
        title: title.clone(),
        program: &unoptimised,
        vm: &machine,
        optimised: vm,
        case,
        explanation: &explanation,
        block: args.block,
    };
    let titles = report::finding_titles(&explanation.findings, &program.compiled.source.text);
    let document = Document::new(&subject, &titles)?;
    let path = output(of, &case.test)?;
    let text = page(&document, &format!("{title}: {}", case.test));
    std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
    let shown = workbook.relative(&path).display();
    let opened = !args.no_open && open::show(&Env::current(), &path);
    let how = if opened || args.no_open { "" } else { " (open it in a browser)" };
    console::print(&format!("replay: {shown}{how}\n"));
    Ok(())
}

/// Where the page goes; its folder is made if it is missing.
fn output(of: &Request<'_>, test: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = &of.args.output {
        return Ok(path.clone());
    }
    let folder = of.workbook.root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    Ok(folder.join(format!("{}.{test}.html", of.puzzle.stem)))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "--output names another file")
}
