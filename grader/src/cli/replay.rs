//! The command `grader replay`.

use super::args::ReplayArgs;
use super::console;
use super::examination::Examination;
use super::open;
use device::backend::Run;
use diagnostic::{Failure, FailureKind};
use judge::{explain, grade};
use puzzle::workbook::Workbook;
use replay::{Document, Subject, page};
use std::path::{Path, PathBuf};
use toolchain::env::Env;

/// The folder for pages in the workbook.
const FOLDER: &str = "replays";

/// Records a block, writes its page and opens it.
pub(super) fn run(
    args: &ReplayArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<(), Failure> {
    let examined = Examination::new("replay", args.number, &args.input, workbook, nvcc)?;
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let Examination { vm, cases, program, spec, toolchain, .. } = &examined;
    let case = match &args.input.test {
        Some(_) => cases.first(),
        None => explain::first_to_explain(vm, cases)?,
    };
    let Some(case) = case else { return Ok(()) };
    let at = args.element.as_deref().map(|text| explain::place(case, text)).transpose()?;
    let explanation = explain::explain(vm, case, at, &program.compiled.source.text)?;
    // Each line by itself, with the variables that the optimiser would remove.
    let source = args.input.source.of(puzzle);
    let unoptimised = grade::compile_for_debugger(toolchain, &workbook, spec, source)?;
    let machine = unoptimised.virtual_machine()?;
    let title = format!("{:02} {}", args.number, spec.title);
    let subject = Subject {
        title: title.clone(),
        program: &unoptimised,
        vm: &machine,
        case,
        explanation: &explanation,
        block: args.block,
    };
    let words = |run: &Run| report::finding_titles(&run.findings);
    let document = Document::new(&subject, words)?;
    let path = output(args, &workbook, &puzzle.stem, &case.test)?;
    let text = page(&document, &format!("{title}: {}", case.test));
    std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
    let shown = workbook.relative(&path).display();
    let opened = !args.no_open && open::show(&Env::current(), &path);
    let how = if opened || args.no_open { "" } else { " (open it in a browser)" };
    console::print(&format!("replay: {shown}{how}\n"));
    Ok(())
}

/// Where the page goes; its folder is made if it is missing.
fn output(
    args: &ReplayArgs,
    workbook: &Workbook,
    stem: &str,
    test: &str,
) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let folder = workbook.root().join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    Ok(folder.join(format!("{stem}.{test}.html")))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "--output names another file")
}
