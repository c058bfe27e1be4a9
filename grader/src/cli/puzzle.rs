//! The command `grader puzzle N`.

use super::args::{BackendChoice, PuzzleArgs};
use super::console;
use super::grading::{self, Job};
use super::next;
use crate::contents;
use crate::student_progress::StudentProgress;
use crate::terminal;
use diagnostic::{Failure, FailureKind};
use puzzle::draw;
use puzzle::oracle;
use puzzle::spec::{DRAWN, Spec};
use report::style::Style;
use report::{Reporter, Summary, TextReporter};
use std::io;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// Grades a puzzle and returns the exit code.
pub(super) fn run(args: &PuzzleArgs, workbook: Option<&Path>, nvcc: Option<&Path>) -> u8 {
    let stdout = io::stdout();
    let style = Style::detect(&stdout);
    let columns = terminal::size().map(|size| size.columns);
    let mut reporter = (args.format.reporter)(Box::new(console::stdout()), style, columns);
    // A closed pipe (`grader puzzle 10 | head`) does not change the verdict: the exit code reports it.
    match grade(args, workbook, nvcc, reporter.as_mut()) {
        Ok((summary, after)) => {
            reporter.finish(&summary).ok();
            drop(reporter);
            if !args.format.is_document {
                console::print(&after);
            }
            summary.exit_code()
        }
        Err(failure) => {
            // A kernel that does not compile is a verdict; a failure of the grader to reach one is an error.
            if !args.format.is_document && failure.kind != FailureKind::Kernel {
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
) -> Result<(Summary, String), Failure> {
    let workbook = console::workbook(workbook)?;
    let puzzle = workbook.puzzle(args.number)?;
    let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec))?;
    let only_drawn = args.input.test.as_deref() == Some(DRAWN) && draw::drawn(&spec).is_some();
    let tests = if only_drawn { Vec::new() } else { args.input.tests(&spec)? };
    let toolchain = Toolchain::locate(&Env::current(), nvcc)?;
    let gpu = grading::choose(args.backend)?;
    let job = Job {
        workbook: &workbook,
        puzzle,
        spec: &spec,
        tests: &tests,
        drawn: only_drawn || args.input.test.is_none(),
        source: args.input.source.of(puzzle),
        seed: args.input.seed.unwrap_or_else(grading::fresh_seed),
        pictures: true,
        dump: args.dump.as_deref(),
        command: &command(args),
    };
    let progress = StudentProgress::of(&workbook);
    let summary = grading::grade_and_record(&job, &toolchain, gpu, reporter, &progress)?;
    let solved = job.source == puzzle.stub && job.drawn && summary.passed == summary.total;
    let after = match progress.next_after(puzzle) {
        _ if !solved || args.input.test.is_some() => String::new(),
        Some(next) => {
            format!("next:       grader watch {}   {}\n", next.number, contents::title(next))
        }
        None => next::all_solved(&workbook),
    };
    Ok((summary, time_gates(&spec, args.number) + &after))
}

/// Where bounds on the time are judged: not here, since they take a GPU and many runs.
fn time_gates(spec: &Spec, number: u32) -> String {
    let bounds: Vec<String> = spec.time_gates.iter().map(|gate| format!("`{gate}`")).collect();
    if bounds.is_empty() {
        return String::new();
    }
    format!("not judged: {}; `grader bench {number}` does, on a GPU\n", bounds.join(", "))
}

/// The command that repeats this run, without the seed and the test, which the report adds.
fn command(args: &PuzzleArgs) -> String {
    let mut command = format!("grader puzzle {}", args.number);
    if args.input.source.solution {
        command.push_str(" --solution");
    }
    if let Some(file) = &args.input.source.file {
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
