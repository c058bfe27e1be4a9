//! The command `grader bench`.

use super::args::{BackendChoice, BenchArgs, PageFormat};
use super::console;
use super::grading;
use ::bench::{Outcome, Settings, Subject, changes, compare, page, points, run as time, svg};
use device::gpu;
use diagnostic::{Failure, FailureKind};
use puzzle::workbook::Workbook;
use std::path::{Path, PathBuf};
use toolchain::Toolchain;
use toolchain::env::Env;

/// The folder for pictures in the workbook.
const PICTURES: &str = "pictures";

/// Times or counts, and prints what came of it. Returns the exit code: 1 if a bound on the time is not kept.
pub(super) fn run(
    args: &BenchArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<u8, Failure> {
    let workbook = console::workbook(workbook)?;
    let subject = match (args.what.parse(), &args.file) {
        (Ok(number), file) => Subject::puzzle(&workbook, number, file.as_deref())?,
        (Err(_), None) => Subject::ladder(&workbook, &args.what)?,
        (Err(_), Some(_)) => {
            let title = "--file is for a puzzle: the steps of a ladder are its own files";
            let help = "give the puzzle's number in the place of the ladder, or omit --file";
            return Err(Failure::new(FailureKind::Usage, title, help));
        }
    };
    if args.compare.is_some() && args.format == PageFormat::Json {
        let title = "--compare writes text, and --format json one document without it";
        let help = "omit --format json; the samples of both runs are in their files";
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    let before = args.compare.as_deref().map(earlier).transpose()?;
    let on_gpu = match args.backend {
        BackendChoice::Vm => false,
        BackendChoice::Gpu => gpu::detect().map(|_| true)?,
        BackendChoice::Auto => gpu::detect().is_ok(),
    };
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let settings = Settings {
        workbook: &workbook,
        toolchain: &toolchain,
        on_gpu,
        model: args.model,
        cold: !args.warm,
        seed: args.seed.unwrap_or_else(grading::fresh_seed),
        only: args.size.as_deref(),
    };
    let mut outcome = time(&subject, &settings)?;
    let drawn = draw(&workbook, &args.what, &outcome);
    outcome.notes.extend(drawn);
    let changed = before.as_ref().map(|before| compare(before, &outcome));
    match args.format {
        PageFormat::Json => console::print(&outcome.json()),
        PageFormat::Text => {
            let style = console::style();
            console::print(&page(&outcome, style));
            if let Some((all, notes)) = changed {
                console::print(&format!("\n{}", changes(&all, &notes, style)));
            }
        }
    }
    Ok(if outcome.keeps_gates() { 0 } else { FailureKind::Kernel.exit_code() })
}

/// An earlier run, written by `--format json`.
fn earlier(path: &Path) -> Result<Outcome, Failure> {
    let wrong = |why: String| {
        let title = format!("`{}` is not an earlier run: {why}", path.display());
        let help = "write one with `grader bench N --format json > FILE`";
        Failure::new(FailureKind::Usage, title, help)
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Outcome::from_json(&text).map_err(wrong)
}

/// Draws the rooflines of what was timed, and returns notes that say where they are.
fn draw(workbook: &Workbook, what: &str, outcome: &Outcome) -> Vec<String> {
    let folder = workbook.root().join(PICTURES);
    let mut notes = Vec::new();
    for size in &outcome.sizes {
        let title = format!("{}, {}", outcome.title, size.name);
        let Ok(Some(picture)) = svg(&title, size.rates, &points(size)) else { continue };
        let path: PathBuf = folder.join(format!("bench_{what}_{}.svg", size.name));
        let written =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, picture));
        notes.push(match written {
            Ok(()) => format!("roofline: {}", workbook.relative(&path).display()),
            // A folder that cannot be written changes no time.
            Err(error) => format!("no roofline is drawn: {error}"),
        });
    }
    notes
}
