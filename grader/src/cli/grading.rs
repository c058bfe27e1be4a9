//! The common part of `grader puzzle` and `grader watch`: grades one kernel file and reports each event as it happens.

use super::args::BackendChoice;
use super::in_order::in_order;
use crate::npy;
use crate::original_stub;
use crate::student_progress::{Outcome, StudentProgress};
use device::backend::Run;
use device::gpu::{self, RemoteGpu};
use diagnostic::{Failure, FailureKind};
use judge::diagnosis::diagnose;
use judge::drawn;
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Detail, Machine};
use judge::judgement;
use judge::other_cases::OtherCases;
use judge::returns;
use judge::verdict::Picture;
use puzzle::case::Case;
use puzzle::spec::{Spec, Test};
use puzzle::workbook::{Puzzle, Workbook};
use report::picture;
use report::{Compile, Reporter, RunInfo, Summary};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use toolchain::Toolchain;
use toolchain::spinner::{self, DelayedSpinner};

/// If a test runs longer than this and does not terminate, the remaining tests are skipped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tests of host code that run at once on the virtual machine, where there are as many cores. Most of the time only one core computes
/// for a test: the host code or a launch of few blocks.
const AT_ONCE: usize = 2;

/// The folder for pictures in the workbook.
const PICTURES: &str = "pictures";

/// The kernel file to grade, its tests and how to run them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub workbook: &'a Workbook,
    pub puzzle: &'a Puzzle,
    pub spec: &'a Spec,
    /// The tests to run, in this order.
    pub tests: &'a [&'a Test],
    /// Whether the cases that the spec draws run too, if all tests pass.
    pub drawn: bool,
    /// The kernel file.
    pub source: &'a Path,
    pub seed: u64,
    /// Whether pictures of results are drawn into the workbook.
    pub pictures: bool,
    /// The folder for `.npy` files, if there is one.
    pub dump: Option<&'a Path>,
    /// The command that repeats this run, without test and seed.
    pub command: &'a str,
}

/// The GPU for this choice of backend; `None` for the virtual machine.
pub(super) fn choose(backend: BackendChoice) -> Result<Option<RemoteGpu>, Failure> {
    match backend {
        BackendChoice::Vm => Ok(None),
        BackendChoice::Gpu => gpu::detect().map(Some),
        BackendChoice::Auto => Ok(gpu::detect().ok()),
    }
}

/// What replays the kernel of `grader puzzle ...`. The virtual machine does, whatever ran it before.
fn replay_command(command: &str) -> String {
    let kernel = command.split(" --backend ").next().unwrap_or(command);
    kernel.replacen("puzzle", "replay", 1)
}

/// A new seed of six digits, short enough to type.
pub(super) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) % 1_000_000
}

/// Grades the job and reports its events, except `finish` and `failed`, which the caller reports.
pub(super) fn grade(
    job: &Job<'_>,
    toolchain: &Toolchain,
    gpu: Option<RemoteGpu>,
    reporter: &mut dyn Reporter,
) -> Result<Summary, Failure> {
    thread::scope(|scope| {
        let draw = || scope.spawn(|| DrawnCases::new(job.spec, job.seed));
        grade_with(job, (toolchain, gpu), reporter, draw)
    })
}

/// What a thread computed.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// [`grade()`] with a thread that `draw_cases` starts, if cases are drawn.
fn grade_with<'s, 'd>(
    job: &Job<'_>,
    (toolchain, gpu): (&Toolchain, Option<RemoteGpu>),
    reporter: &mut dyn Reporter,
    draw_cases: impl FnOnce() -> ScopedJoinHandle<'s, DrawnCases<'d>>,
) -> Result<Summary, Failure> {
    let Job { workbook, puzzle, spec, .. } = *job;
    original_stub::check_present(workbook, puzzle, job.source)?;
    // Draws the data while the compiler runs.
    let (program, cases) = thread::scope(|scope| {
        let _spinner =
            DelayedSpinner::new(&format!("compiling {}", workbook.relative(job.source).display()));
        let cases = scope.spawn(|| grade::cases(spec, job.tests, job.seed));
        let program = grade::compile(toolchain, workbook, spec, job.source, gpu.as_ref());
        (program, joined(cases))
    });
    let (program, cases) = (program?, cases?);
    // A GPU is timed, and kernels on the virtual machine share all cores.
    let shares_cores = spec.is_host() && gpu.is_none();
    let threads = if shares_cores {
        thread::available_parallelism().map_or(1, usize::from).min(AT_ONCE)
    } else {
        0
    };
    let machine = Machine::new(&program, gpu)?.with_progress();
    let backend = machine.backend();
    // The caller handles the stream's errors, with the exit code.
    reporter
        .start(&RunInfo {
            puzzle: puzzle.number,
            title: spec.title.clone(),
            file: program.compiled.source.path.clone(),
            source: program.compiled.source.text.clone(),
            warnings: program.compiled.warnings.clone(),
            backend: backend.name().to_owned(),
            backend_description: backend.describe(),
            seed: job.seed,
            compile: Compile { cached: program.compiled.from_cache, time: program.compiled.time },
            tests: cases.iter().map(|case| case.test.clone()).collect(),
            command: job.command.to_owned(),
            replay: (!spec.is_host()).then(|| replay_command(job.command)),
            chapter: workbook.relative(&puzzle.chapter).to_path_buf(),
        })
        .ok();
    let others = OtherCases::new(spec, job.seed);
    let (mut judged, mut passed) = (0, 0);
    let (mut draw_cases, mut drawn) = (job.drawn.then_some(draw_cases), None);
    let work = |case: &Case| grade::run_and_judge(machine.backend(), case);
    in_order(&cases, threads, work, |case, wait| {
        // Host code may have a line of its own.
        let spinner =
            case.watched.is_empty().then(|| DelayedSpinner::new(&format!("running {}", case.test)));
        let detail = if reporter.explains(&case.test) { Detail::Full } else { Detail::Brief };
        let (run, verdict) = wait()?;
        let mut verdict = grade::detailed(&machine, &program, case, &run, verdict, detail);
        if !verdict.passed() && passed == judged {
            verdict = diagnose((&machine, &program), &others, (case, &run), verdict);
            let compiler = returns::Compiler { toolchain, workbook, spec };
            let source = &program.compiled.source.text;
            verdict = returns::explain(compiler, source, (case, &run), verdict);
        }
        judged += 1;
        drop(spinner);
        if job.pictures {
            verdict.notes.extend(draw(job, case, &run));
        }
        if let Some(dir) = job.dump {
            npy::dump(dir, case, &run)?;
        }
        passed += usize::from(verdict.passed());
        // Most programs that fail do so in the first test, and need none. The others go on while the tests keep one core busy.
        if passed == judged
            && let Some(draw_cases) = draw_cases.take()
        {
            drawn = Some(draw_cases());
        }
        spinner::above(|| reporter.test_finished(&verdict)).ok();
        // Each further test would take as long.
        let is_endless = run.findings.iter().any(|finding| finding.problem.is_endless());
        let hung = run.time > PATIENCE && is_endless;
        Ok(if hung { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    for case in &cases[judged..] {
        reporter.not_run(&case.test, "the kernel does not terminate").ok();
    }
    let mut total = cases.len();
    // A test with a name teaches more.
    if passed == total
        && let Some(drawn) = drawn.or_else(|| draw_cases.map(|draw_cases| draw_cases()))
    {
        let spinner = DelayedSpinner::new("running drawn sizes");
        let verdict = drawn::judge(&machine, &program, &joined(drawn))?;
        drop(spinner);
        if let Some(verdict) = verdict {
            total += 1;
            passed += usize::from(verdict.passed());
            reporter.test_finished(&verdict).ok();
        }
    }
    Ok(Summary { total, passed })
}

/// Draws the pictures of a run, and returns notes that say where they are.
fn draw(job: &Job<'_>, case: &Case, run: &Run) -> Vec<String> {
    let folder = job.workbook.root().join(PICTURES);
    let stem = format!("{:02}_{}", job.puzzle.number, case.test);
    let drawn = |drawing: &Picture| match picture::write(drawing, &folder, &stem) {
        Ok(path) => format!("{}: {}", drawing.style.title, job.workbook.relative(&path).display()),
        // A folder that cannot be written does not change the verdict.
        Err(error) => format!("{}: no picture, {error}", drawing.style.title),
    };
    judgement::pictures(case, run).iter().map(drawn).collect()
}

/// Like [`grade()`], but also records the verdict if it is on the student's own file.
pub(super) fn grade_and_record(
    job: &Job<'_>,
    toolchain: &Toolchain,
    gpu: Option<RemoteGpu>,
    reporter: &mut dyn Reporter,
    progress: &StudentProgress<'_>,
) -> Result<Summary, Failure> {
    let is_stub = job.source == job.puzzle.stub;
    let all_tests = job.drawn && job.tests.len() == job.spec.tests.len();
    let before = progress.fingerprint(job.puzzle).filter(|_| is_stub);
    let result = grade(job, toolchain, gpu, reporter);
    // If the file was saved during the grading, the verdict may belong to neither version.
    if let Some(key) = before.filter(|key| progress.fingerprint(job.puzzle) == Some(*key))
        && let Some(outcome) = outcome(&result, all_tests)
    {
        progress.record(job.puzzle, &key, outcome);
    }
    result
}

/// The outcome to record; `None` if the grader could not work, or if only some of the tests ran and all of them passed.
fn outcome(result: &Result<Summary, Failure>, all_tests: bool) -> Option<Outcome> {
    match result {
        Ok(Summary { total, passed }) if passed < total => Some(if all_tests {
            Outcome::Fails { passed: *passed, total: *total }
        } else {
            Outcome::SomeFail
        }),
        Ok(summary) if all_tests && summary.total > 0 => Some(Outcome::Solved),
        Ok(_) => None,
        Err(failure) => (failure.kind == FailureKind::Kernel).then_some(Outcome::NoKernel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_of_all_tests_solves_a_puzzle() {
        let ran = |passed, total| Ok(Summary { total, passed });
        let failed = |kind| Err(Failure::new(kind, "", ""));
        assert_eq!(outcome(&ran(9, 9), true), Some(Outcome::Solved));
        assert_eq!(outcome(&ran(8, 9), true), Some(Outcome::Fails { passed: 8, total: 9 }));
        assert_eq!(outcome(&ran(1, 1), false), None);
        assert_eq!(outcome(&ran(0, 1), false), Some(Outcome::SomeFail));
        assert_eq!(outcome(&ran(0, 0), true), None);
        assert_eq!(outcome(&failed(FailureKind::Kernel), true), Some(Outcome::NoKernel));
        assert_eq!(outcome(&failed(FailureKind::Usage), true), None);
        assert_eq!(outcome(&failed(FailureKind::Environment), true), None);
    }
}
