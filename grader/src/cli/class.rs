//! The commands `grader class ...`.

use super::class_args::{
    ClassCommand, ClassGradeArgs, ClassNewArgs, ClassPackArgs, ClassSliceArgs,
};
use super::console;
use super::grading::{self, Job};
use crate::original_stub;
use ::class::civil;
use ::class::confined;
use ::class::grades::{self, Grade};
use ::class::local;
use ::class::plan::{Class, Plan};
use ::class::settings::Settings;
use ::class::store::Store;
use ::class::submissions::{Found, Known, Search};
use ::class::worker::{self, Run};
use ::class::{output, pack, slurm};
use device::gpu::RemoteGpu;
use diagnostic::{EXIT_PASS, Failure, FailureKind};
use puzzle::spec::Test;
use puzzle::workbook::Puzzle;
use report::{Reporter, Summary};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toolchain::Toolchain;
use toolchain::env::Env;
use toolchain::spinner::Progress;

/// Runs the command, and gives the exit code.
pub(super) fn run(
    command: &ClassCommand,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<u8, Failure> {
    match command {
        ClassCommand::New(args) => new(args),
        ClassCommand::Pack(args) => pack(args, workbook),
        ClassCommand::Grade(args) => grade(args, workbook, nvcc),
        ClassCommand::Slice(args) => slice(args),
    }
}

/// The process that grades one submission.
pub(super) fn child_main() -> ExitCode {
    worker::main(grade_file)
}

/// Grades one file as `grader puzzle` does.
fn grade_file(
    run: &Run<'_>,
    gpu: Option<RemoteGpu>,
    reporter: &mut dyn Reporter,
) -> Result<Summary, Failure> {
    let tests: Vec<&Test> = run.spec.tests.iter().collect();
    let job = Job {
        workbook: run.workbook,
        puzzle: run.puzzle,
        spec: run.spec,
        tests: &tests,
        drawn: true,
        source: run.source,
        seed: run.seed,
        pictures: false,
        dump: None,
        command: &format!("grader puzzle {}", run.puzzle.number),
    };
    grading::grade(&job, run.toolchain, gpu, reporter)
}

fn grade(
    args: &ClassGradeArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
) -> Result<u8, Failure> {
    let settings = Settings::load(&args.class)?;
    // Slurm's nodes may be other systems: each slice checks its own.
    if !args.partly_confined && args.slurm.is_none() {
        confined::check()?;
    }
    let workbook = console::workbook(workbook)?;
    let out = made(&args.out)?;
    // Copies of submissions would be found as those of a student.
    if args.submissions.canonicalize().is_ok_and(|folder| out.starts_with(folder)) {
        let title = format!("{} would lie among the submissions", args.out.display());
        let help =
            "name another folder for the results with --out, or that of the submissions alone";
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    let class = Class { settings: &settings, workbook: &workbook, out: &out };
    let (plan, roster) = class.plan(found(args, &class)?, nvcc)?;
    let store = Store::open(&out).map_err(|e| unwritable(&out, &e))?;
    let pending = local::pending(&plan, &store, args.again)?;
    // A compiler that is missing is installed once, and not by each worker.
    if !pending.is_empty() {
        Toolchain::locate(&Env::current(), nvcc)?;
    }
    let done = plan.tasks.len() - pending.len();
    let progress = Progress::estimated("grading", plan.tasks.len() as u64);
    progress.advance(done as u64);
    let result = match args.slurm {
        Some(slices) if !pending.is_empty() => {
            let slices = usize::from(slices);
            let options = (&settings.slurm, args.partly_confined);
            slurm::run(options, &plan, &out, &store, slices, &progress)
        }
        _ => {
            let jobs = args.jobs.map_or_else(local::cores, usize::from);
            local::run(&plan, &pending, &store, jobs, &progress)
        }
    };
    let all = plan.tasks.len();
    let finished = plan.tasks.iter().filter(|task| store.has(&task.key)).count();
    progress.finish(&format!("graded {finished} of {all} tasks, {done} of them before"));
    // What is there is written, also if some tasks could not be graded, which is the first thing to say.
    let grades = grades::all(&settings, &roster, &store);
    let turn = store.turn_to_write().map_err(|e| unwritable(&out, &e));
    let written = turn.and_then(|_turn| output::write(&class, &roster, &grades));
    result?;
    written?;
    console::print(&summary(&grades, &roster.ignored, &args.out));
    Ok(EXIT_PASS)
}

/// What the command says at its end.
fn summary(grades: &[Grade], ignored: &[String], out: &Path) -> String {
    let mut text = String::new();
    for grade in grades {
        for puzzle in grade.puzzles.iter().filter(|puzzle| puzzle.status() == "needs a look") {
            let who = output::terminal(&grade.student);
            writeln!(text, "needs a look: {who}, puzzle {}", puzzle.number).ok();
        }
    }
    for entry in ignored {
        writeln!(text, "ignored: {}", output::terminal(entry)).ok();
    }
    let mean = grades.iter().map(Grade::points).sum::<f64>() / grades.len().max(1) as f64;
    let most = grades.first().map_or(0.0, Grade::most);
    let out = out.display();
    text + &format!(
        "{} student{}, {mean:.2} of {most} points on average\n{out}/overview.html   {out}/class.csv   {out}/feedback/\n",
        grades.len(),
        if grades.len() == 1 { "" } else { "s" }
    )
}

/// Writes an example of class.toml.
fn new(args: &ClassNewArgs) -> Result<u8, Failure> {
    let text = pack::example().map_err(|e| unwritable(&args.file, &e))?;
    let options = || std::fs::OpenOptions::new().write(true).create_new(true).open(&args.file);
    options().and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| {
        let title = format!("cannot write {}: {e}", args.file.display());
        Failure::new(FailureKind::Usage, title, "`grader class new FILE` names another file")
    })?;
    let file = args.file.display();
    console::print(&format!(
        "{file} is an example with a fresh secret: change it, keep it from your students, then run\n\n  \
         grader class pack --class {file}                 the students' workbook, as a zip\n  \
         grader class grade SUBMISSIONS --class {file}    grades what they hand in\n"
    ));
    Ok(EXIT_PASS)
}

/// Packs a workbook or an autograder.
fn pack(args: &ClassPackArgs, workbook: Option<&Path>) -> Result<u8, Failure> {
    let settings = Settings::load(&args.class)?;
    let workbook = console::workbook(workbook)?;
    let class = Class { settings: &settings, workbook: &workbook, out: Path::new("") };
    class.puzzles()?;
    let env = Env::current();
    let stub = |puzzle: &Puzzle| Ok(original_stub::find(&env, &workbook, puzzle)?.text);
    let files = if args.gradescope {
        pack::gradescope(&class, &stub, &args.out)?
    } else {
        pack::workbook(&class, &stub, &args.out)?
    };
    console::print(&format!(
        "  {}\n{} files in {}\n",
        files.join("\n  "),
        files.len(),
        args.out.display()
    ));
    Ok(EXIT_PASS)
}

/// The submissions that are to be graded.
fn found(args: &ClassGradeArgs, class: &Class<'_>) -> Result<Found, Failure> {
    let puzzles: Vec<Known> =
        class.puzzles()?.iter().map(|puzzle| (puzzle.number, puzzle.stem.clone())).collect();
    let search = Search { puzzles: &puzzles, limit: class.settings.limits.file_kb << 10 };
    let Some(name) = &args.student else { return search.class(&args.submissions) };
    let mut student = search.student(name, &args.submissions);
    if let Some(text) = &args.at {
        let at = text.parse().ok().and_then(|at| civil::seconds(&at)).ok_or_else(|| {
            let title = format!("`{text}` is not a date with a time and a time zone");
            Failure::new(FailureKind::Usage, title, "write it as 2026-12-01T23:59:00+01:00")
        })?;
        student.tries.iter_mut().for_each(|one| one.at = at);
    }
    Ok(Found { students: vec![student], ignored: Vec::new() })
}

/// Grades the tasks of a slice.
fn slice(args: &ClassSliceArgs) -> Result<u8, Failure> {
    if !args.partly_confined {
        confined::check()?;
    }
    let mut plan = Plan::load(&args.out)?;
    let store = Store::open(&args.out).map_err(|e| unwritable(&args.out, &e))?;
    let mut number = 0..;
    // By their numbers in the plan: what is pending differs between slices that start at different times.
    plan.tasks.retain(|_| number.next().is_some_and(|i: usize| i % args.of == args.index));
    let own = local::pending(&plan, &store, false)?;
    let progress = Progress::estimated("grading", own.len() as u64);
    let cores = slurm::cores().unwrap_or_else(local::cores);
    local::run(&plan, &own, &store, cores, &progress)?;
    progress.finish(&format!("graded {} tasks", own.len()));
    Ok(EXIT_PASS)
}

/// The folder, made if it does not exist, as an absolute path.
fn made(folder: &Path) -> Result<PathBuf, Failure> {
    let make = || {
        std::fs::create_dir_all(folder)?;
        folder.canonicalize()
    };
    make().map_err(|e| unwritable(folder, &e))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "name another folder with --out")
}
