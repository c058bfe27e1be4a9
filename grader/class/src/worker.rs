//! The process that grades one task. It is the grader itself, started again: whatever a submission does to it, to the compiler or
//! to the virtual machine, no other submission notices, and its time and memory are limited from outside.

use crate::collect::{self, Buffers, Collector};
use crate::plan::Plan;
use crate::settings::{Backend, Limits};
use crate::task::{self, Counters, Ending, Graded, Outcome, Task};
use device::gpu::{self, RemoteGpu};
use diagnostic::{EXIT_ENVIRONMENT, Failure, FailureKind};
use judge::grade;
use puzzle::case::Case;
use puzzle::spec::Spec;
use puzzle::workbook::{Puzzle, Workbook};
use report::{Reporter, Summary};
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;
use toolchain::env::Env;
use toolchain::process::{self, Finished, Termination};
use toolchain::scratch::Scratch;
use toolchain::{Headers, Request, Toolchain, VirtualArch};

/// The word on the command line with which the grader starts itself as a worker.
pub const CHILD_COMMAND: &str = "--grade-a-submission";

/// Bytes that the worker may print: its result.
const OUTPUT: usize = 64 << 20;

/// The worker ends itself at the limit; this much later it is killed from outside.
const GRACE: Duration = Duration::from_secs(10);

/// Time between the end of a worker that was killed, and a second one.
const NEXT: Duration = Duration::from_secs(2);

/// With less room for temporary files, in bytes, no failure is a submission's: compilers crash, or say anything.
const ROOM: u64 = 64 << 20;

/// A kernel file to grade.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The instructor's workbook.
    pub workbook: &'a Workbook,
    /// The puzzle that the file should solve.
    pub puzzle: &'a Puzzle,
    /// Its spec, with the hidden tests.
    pub spec: &'a Spec,
    /// The kernel file.
    pub source: &'a Path,
    /// The seed of the data.
    pub seed: u64,
    /// The compiler and its cache.
    pub toolchain: &'a Toolchain,
}

/// Grades a kernel file, on a GPU if there is one, and reports the events, except `finish` and `failed`.
pub type Grade = fn(&Run<'_>, Option<RemoteGpu>, &mut dyn Reporter) -> Result<Summary, Failure>;

/// What the worker reads from stdin.
#[derive(Serialize, Deserialize)]
struct Order {
    workbook: PathBuf,
    nvcc: Option<PathBuf>,
    backend: Backend,
    limits: Limits,
    task: Task,
}

/// What the worker prints.
#[derive(Serialize, Deserialize)]
enum Answer {
    Graded(Box<Outcome>),
    /// The machine lacks something: what, and what to do.
    Failed(String, Vec<String>),
}

/// Grades a task in a process of its own, with so many threads.
///
/// # Errors
/// The process cannot be started, or the machine lacks something. What the submission causes is a result.
pub fn grade(plan: &Plan, task: &Task, threads: usize) -> Result<Outcome, Failure> {
    let failed = |title: String| {
        let help = "`grader doctor` says more; run the same command again, and it goes on";
        Failure::new(FailureKind::Environment, title, help)
    };
    let program = std::env::current_exe()
        .map_err(|e| failed(format!("cannot find the grader's own program: {e}")))?;
    let order = Order {
        workbook: plan.workbook.clone(),
        nvcc: plan.nvcc.clone(),
        backend: plan.backend,
        limits: plan.limits,
        task: task.clone(),
    };
    let input = serde_json::to_vec(&order).unwrap_or_default();
    let limit = Duration::from_secs(plan.limits.seconds);
    let limits = process::Limits { timeout: limit + GRACE, output: OUTPUT };
    let run = || {
        let mut command = Command::new(&program);
        command.arg(CHILD_COMMAND).env("RAYON_NUM_THREADS", threads.to_string());
        // A backtrace of a process that has no memory left would wait for itself for ever.
        command.env("RUST_BACKTRACE", "0");
        process::run(command, input.clone(), &limits)
            .map_err(|e| failed(format!("cannot start a process: {e}")))
    };
    let mut done = run()?;
    if was_killed(&done) && done.time < limit {
        // Whoever stops a job kills its processes one after another: this one may be next, and must not write down before
        // that the submission broke the worker down.
        thread::sleep(NEXT);
        done = run()?;
    }
    let mut outcome = match serde_json::from_slice(&done.stdout) {
        Ok(Answer::Graded(outcome)) if done.success() => *outcome,
        Ok(Answer::Failed(title, help)) => {
            let mut failure = failed(title);
            failure.diagnostics[0].help.splice(0..0, help);
            return Err(failure);
        }
        _ if done.ending == Termination::TimedOut || done.time >= limit => {
            let text = format!("The tests did not end within {} seconds.", plan.limits.seconds);
            without_verdict(task, Ending::TimeLimit, text, "")
        }
        _ => {
            let how = match done.ending {
                Termination::Signal(signal) => format!("signal {signal}"),
                Termination::Code(code) => format!("exit code {code}"),
                Termination::TimedOut => "the time limit".to_owned(),
            };
            let text = "This submission could not be graded: the process that ran it broke down. \
                        Your instructor has been told."
                .to_owned();
            let report = format!("The worker ended with {how}.\n{}", done.stderr_text());
            without_verdict(task, Ending::Crashed, text, &report)
        }
    };
    outcome.graded.seconds = done.time.as_secs_f64();
    Ok(outcome)
}

/// Was the process ended by a signal that others send?
fn was_killed(done: &Finished) -> bool {
    let sent = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];
    matches!(done.ending, Termination::Signal(signal) if sent.iter().any(|of| of.as_raw() == signal))
}

/// The result of a task whose worker gave none.
fn without_verdict(task: &Task, ending: Ending, feedback: String, report: &str) -> Outcome {
    let graded = Graded {
        key: task.key.clone(),
        puzzle: task.puzzle,
        seed: task.seed,
        ending,
        tests: Vec::new(),
        report: format!("{feedback}\n{report}"),
        feedback,
        seconds: 0.0,
        counters: None,
        host: task::host(),
    };
    Outcome { graded, document: RawValue::NULL.to_owned() }
}

/// The worker: reads its order from stdin, grades, and prints the result.
pub fn main(grade: Grade) -> ExitCode {
    let Ok(order) = serde_json::from_reader::<_, Order>(io::stdin().lock()) else {
        return ExitCode::from(EXIT_ENVIRONMENT);
    };
    confine(&order.limits);
    let answer = match work(&order, grade) {
        Ok(outcome) => Answer::Graded(Box::new(outcome)),
        Err(failure) => {
            let first = failure.diagnostics.into_iter().next();
            let (title, help) = first.map(|of| (of.title, of.help)).unwrap_or_default();
            Answer::Failed(title, help)
        }
    };
    let written = serde_json::to_writer(io::stdout().lock(), &answer).map_err(io::Error::from);
    match written.and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(EXIT_ENVIRONMENT),
    }
}

/// Limits this process. It ends when its parent does, and at the time limit; in both cases by the signal that makes it end its own
/// children first.
fn confine(limits: &Limits) {
    process::before_interrupt(|| ());
    // Where the system refuses, the limits from outside remain.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).ok();
    let bytes = Some(limits.memory_mb << 20);
    setrlimit(Resource::Data, Rlimit { current: bytes, maximum: bytes }).ok();
    let seconds = Duration::from_secs(limits.seconds);
    thread::spawn(move || {
        thread::sleep(seconds);
        kill_process(getpid(), Signal::TERM).ok();
    });
}

fn work(order: &Order, grade: Grade) -> Result<Outcome, Failure> {
    let task = &order.task;
    let workbook = Workbook::open(&order.workbook)?;
    let puzzle = workbook.puzzle(task.puzzle)?;
    let spec = Spec::load(&task.spec, &task.spec)?;
    let toolchain = Toolchain::locate(&Env::current(), order.nvcc.as_deref())?;
    let gpu = match order.backend {
        Backend::Vm => None,
        Backend::Gpu => Some(gpu::detect()?),
        Backend::Auto => gpu::detect().ok(),
    };
    let run = Run {
        workbook: &workbook,
        puzzle,
        spec: &spec,
        source: &task.source,
        seed: task.seed,
        toolchain: &toolchain,
    };
    let mut buffers = Buffers::default();
    let mut collector = Collector::new(&task.hidden, &mut buffers);
    let on_virtual_machine = gpu.is_none();
    let result = grade(&run, gpu, &mut collector);
    // Writing to memory cannot fail.
    match &result {
        Ok(summary) => collector.finish(summary).ok(),
        Err(failure) => collector.failed(failure).ok(),
    };
    let tests = collector.into_tests();
    if result.is_err() && !has_room(&std::env::temp_dir()) {
        let title = "the folder for temporary files is full".to_owned();
        let help = "free some space there, or set TMPDIR to another folder";
        return Err(Failure::new(FailureKind::Environment, title, help));
    }
    if let Err(failure) = &result
        && failure.kind != FailureKind::Kernel
        && on_virtual_machine
        && can_compile(&run)
    {
        // Others can be graded here, so it is this file that the grader does not understand.
        let text = "This submission could not be graded. Your instructor has been told.".to_owned();
        return Ok(without_verdict(task, Ending::Crashed, text, &failure.render(false)));
    }
    let mut outcome = collect::graded(task, tests, buffers, result)?;
    if task.leaderboard && outcome.graded.passed() && !spec.is_host() {
        outcome.graded.counters = counters(&run).ok().flatten();
    }
    Ok(outcome)
}

/// Is there room for temporary files in a folder?
fn has_room(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).map_or(true, |disk| disk.f_bavail * disk.f_frsize >= ROOM)
}

/// Does the compiler work, and is there room for its files?
fn can_compile(run: &Run<'_>) -> bool {
    let compile = || -> Option<bool> {
        let folder = Scratch::new("check").ok()?;
        let source = folder.path().join("check.cu");
        // A new text each time, which no cache has.
        let text = format!("// {}\n__global__ void check() {{}}\n", folder.path().display());
        std::fs::write(&source, text).ok()?;
        let root = run.workbook.root();
        let request = Request {
            source: &source,
            include_dirs: &[],
            headers: Headers::Offered { names: &[], workbook: root },
            base: root,
            arch: VirtualArch::default(),
            asynchronous: false,
            debugger: false,
            gpu: None,
        };
        Some(run.toolchain.compile(&request).is_ok())
    };
    compile().unwrap_or(false)
}

/// What the kernels of a file cost in the puzzle's largest test.
fn counters(run: &Run<'_>) -> Result<Option<Counters>, Failure> {
    let program = grade::compile(run.toolchain, run.workbook, run.spec, run.source, None)?;
    let vm = program.virtual_machine()?;
    let tests: Vec<_> = run.spec.tests.iter().collect();
    let cases = grade::cases(run.spec, &tests, run.seed)?;
    let bytes = |case: &&Case| case.tensors.iter().map(|t| t.tensor.bytes()).sum::<usize>();
    let Some(case) = cases.iter().max_by_key(bytes) else { return Ok(None) };
    let total = vm.count(case)?.total;
    let sectors = total.load_sectors + total.store_sectors;
    Ok(Some(Counters { instructions: total.instructions(), sectors }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_seen() {
        assert!(has_room(Path::new("/tmp")));
        assert!(!has_room(Path::new("/proc")), "it holds nothing of anybody's");
    }
}
