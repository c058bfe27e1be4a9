//! `grader puzzle N`.

use super::args::{BackendChoice, Format, PuzzleArgs};
use crate::backend::gpu::{self, Gpu};
use crate::failure::{Failure, FailureKind};
use crate::finding::FindingKind;
use crate::grade::{self, Machine};
use crate::npy;
use crate::oracle;
use crate::report::style::Style;
use crate::report::{Compile, JsonReporter, Reporter, RunInfo, Summary, TextReporter};
use crate::spec::Test;
use crate::toolchain::Toolchain;
use crate::toolchain::env::Env;
use crate::workbook::Puzzle;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// After a test that ran longer than this without an end, the others do not run.
const PATIENCE: Duration = Duration::from_secs(1);

/// Grades a puzzle and returns the exit code.
pub(super) fn run(args: &PuzzleArgs, workbook: Option<&Path>, nvcc: Option<&Path>) -> u8 {
    let stdout = io::stdout();
    let mut reporter: Box<dyn Reporter> = match args.format {
        Format::Text => Box::new(TextReporter::new(stdout.lock(), Style::detect(&stdout))),
        Format::Json => Box::new(JsonReporter::new(stdout.lock())),
    };
    // A reader that has gone (`grader puzzle 10 | head`) changes nothing about the verdict: the exit code tells it.
    match grade(args, workbook, nvcc, reporter.as_mut()) {
        Ok(summary) => {
            reporter.finish(&summary).ok();
            summary.exit_code()
        }
        Err(failure) => {
            // A kernel that does not compile is a verdict; what keeps the grader from one is an error.
            if args.format == Format::Text && failure.kind != FailureKind::Kernel {
                let stderr = io::stderr();
                let style = Style::detect(&stderr);
                TextReporter::new(stderr.lock(), style).failed(&failure).ok();
            } else {
                reporter.failed(&failure).ok();
            }
            failure.kind.exit_code()
        }
    }
}

fn grade(
    args: &PuzzleArgs,
    workbook: Option<&Path>,
    nvcc: Option<&Path>,
    reporter: &mut dyn Reporter,
) -> Result<Summary, Failure> {
    let workbook = super::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let tests: Vec<&Test> = match &args.test {
        Some(name) => vec![spec.test(name)?],
        None => spec.tests.iter().collect(),
    };
    let source = source(args, puzzle);
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let gpu = choose(args.backend)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    // The data are drawn while the compiler runs.
    let (program, cases) = std::thread::scope(|scope| {
        let cases = scope.spawn(|| grade::cases(&spec, &tests, seed));
        let program = grade::compile(&toolchain, &workbook, &spec, &source, gpu.as_ref());
        (program, cases.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (program, cases) = (program?, cases?);
    let machine = Machine::new(&program, gpu)?;
    let backend = machine.backend();
    // The stream's errors are dealt with where the exit code is made.
    reporter
        .start(&RunInfo {
            puzzle: puzzle.number,
            title: spec.title.clone(),
            file: program.compiled.source.path.clone(),
            source: program.compiled.source.text.clone(),
            warnings: program.compiled.warnings.clone(),
            backend: backend.name().to_owned(),
            backend_description: backend.describe(),
            seed,
            compile: Compile { cached: program.compiled.from_cache, time: program.compiled.time },
            tests: cases.iter().map(|case| case.test.clone()).collect(),
            command: command(args),
            chapter: workbook.relative(&puzzle.chapter).to_path_buf(),
        })
        .ok();
    let mut passed = 0;
    let mut hung = false;
    for case in &cases {
        if hung {
            reporter.not_run(&case.test, "the kernel does not end").ok();
            continue;
        }
        let (run, verdict) = grade::judge_case(&machine, &program, case)?;
        if let Some(dir) = &args.dump {
            npy::dump(dir, case, &run)?;
        }
        // Each further test would take as long again.
        hung = run.time > PATIENCE
            && run.findings.iter().any(|finding| {
                let kind = &finding.kind;
                matches!(kind, FindingKind::TimeOut { .. } | FindingKind::EndlessLoop { .. })
            });
        passed += usize::from(verdict.passed());
        reporter.test_finished(&verdict).ok();
    }
    Ok(Summary { total: cases.len(), passed })
}

fn source(args: &PuzzleArgs, puzzle: &Puzzle) -> PathBuf {
    match &args.file {
        Some(file) => file.clone(),
        None if args.solution => puzzle.solution.clone(),
        None => puzzle.stub.clone(),
    }
}

fn choose(backend: BackendChoice) -> Result<Option<Gpu>, Failure> {
    match backend {
        BackendChoice::Vm => Ok(None),
        BackendChoice::Gpu => gpu::detect().map(Some),
        BackendChoice::Auto => Ok(gpu::detect().ok()),
    }
}

/// What was typed, without the seed and the test: the report adds them.
fn command(args: &PuzzleArgs) -> String {
    let mut command = format!("grader puzzle {}", args.number);
    if args.solution {
        command.push_str(" --solution");
    }
    if let Some(file) = &args.file {
        command.push_str(" --file ");
        command.push_str(&file.display().to_string());
    }
    command.push_str(match args.backend {
        BackendChoice::Auto => "",
        BackendChoice::Gpu => " --backend gpu",
        BackendChoice::Vm => " --backend vm",
    });
    command
}

/// Six digits, new at every run: short enough to type again.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) % 1_000_000
}
