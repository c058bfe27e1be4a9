//! Checks the kernels of a puzzle: the stub fails, the solution passes, each wrong kernel is caught.

use super::bench::{Bench, Loaded, SEED};
use super::broken;
use super::caught::{self, Search};
use super::item::Item;
use super::named_line::{self, NamedLine, Outcome};
use super::says;
use crate::wrong::{NamedBy, WrongKernel};
use device::gpu;
use diagnostic::{Failure, FailureKind};
use judge::batch_compile::{self, Namespace, Variant};
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Detail, Machine, Program};
use judge::other_cases::OtherCases;
use judge::verdict::TestVerdict;
use puzzle::spec::Spec;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The names of the machines that run programs, and whether each is the GPU.
pub(super) fn machines(bench: &Bench<'_>) -> &'static [(&'static str, bool)] {
    const ALL: [(&str, bool); 2] = [("the virtual machine", false), ("the GPU", true)];
    if bench.on_gpu { &ALL } else { &ALL[..1] }
}

/// A failure that the kernel causes is a problem of the puzzle; any other failure ends the check.
pub(super) fn problem<T>(result: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(failure) if failure.kind == FailureKind::Environment => Err(failure),
        Err(failure) => Ok(Err(failure.render(false))),
    }
}

/// The verdict of each test, with the time that it took.
type Timed = Vec<(TestVerdict, Duration)>;

/// Runs all tests: side by side on the virtual machine, one by one on the GPU.
fn verdicts(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    source: &Path,
    on_gpu: bool,
) -> Result<Timed, Failure> {
    let gpu = if on_gpu { Some(gpu::detect()?) } else { None };
    let program =
        grade::compile(bench.toolchain, bench.workbook, &loaded.spec, source, gpu.as_ref())?;
    let machine = Machine::new(&program, gpu)?;
    let judge = |case| {
        let start = Instant::now();
        // Whether it passes is all that is asked. On the virtual machine the details never change that.
        let (_, verdict) = if on_gpu {
            grade::judge_case(&machine, &program, case, Detail::Brief)?
        } else {
            grade::run_and_judge(machine.backend(), case)?
        };
        Ok((verdict, start.elapsed()))
    };
    if on_gpu {
        loaded.cases.iter().map(judge).collect()
    } else {
        loaded.cases.par_iter().map(judge).collect()
    }
}

/// Checks that the stub compiles and fails every test; or, if it gives kernels with mistakes, that each is flagged for the one
/// that the spec names.
pub fn stub(bench: &Bench<'_>, loaded: &Loaded<'_>) -> Result<Item, Failure> {
    let mut problems = Vec::new();
    for &(name, on_gpu) in machines(bench) {
        match problem(verdicts(bench, loaded, &loaded.puzzle.stub, on_gpu))? {
            Ok(verdicts) if !loaded.spec.broken.is_empty() => {
                let verdicts: Vec<TestVerdict> = verdicts.into_iter().map(|(v, _)| v).collect();
                let unflagged = broken::unflagged(&loaded.spec.broken, &verdicts);
                problems.extend(unflagged.into_iter().map(|text| format!("{text} (on {name})")));
            }
            Ok(verdicts) => {
                let passed = verdicts.iter().map(|(v, _)| v).filter(|v| v.passed());
                problems.extend(passed.map(|v| format!("the stub passes {} on {name}", v.test)));
            }
            Err(text) => problems.push(text),
        }
    }
    let summary = match loaded.spec.broken.len() {
        0 => "compiles and fails every test".to_owned(),
        all => {
            format!("compiles, and {all} of {all} broken kernels are flagged for their mistakes")
        }
    };
    Ok(Item::new("stub", summary, problems))
}

/// Checks that the solution passes every test, without a finding, on each machine. Then puts the tests into the order of the
/// time that they took, so that wrong kernels are caught soon.
pub fn solution(bench: &Bench<'_>, loaded: &mut Loaded<'_>) -> Result<Item, Failure> {
    let mut problems = Vec::new();
    let mut on = Vec::new();
    let mut times = HashMap::new();
    for &(name, on_gpu) in machines(bench) {
        on.push(name);
        match problem(verdicts(bench, loaded, &loaded.puzzle.solution, on_gpu))? {
            Ok(verdicts) => {
                let failed = verdicts.iter().map(|(v, _)| v).filter(|v| !v.passed());
                problems.extend(failed.map(|v| format!("the solution fails {} on {name}", v.test)));
                times.extend(verdicts.into_iter().map(|(verdict, time)| (verdict.test, time)));
            }
            Err(text) => problems.push(text),
        }
    }
    loaded.cases.sort_by_key(|case| times.get(&case.test).copied());
    Ok(Item::new("solution", format!("passes every test on {}", on.join(" and ")), problems))
}

/// Checks on the virtual machine that each wrong kernel is caught by the test or finding that it names, and notes the lines that
/// the reports name.
pub fn wrong(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    drawn: &DrawnCases<'_>,
) -> Result<(Item, Vec<NamedLine>), Failure> {
    let kernels = &loaded.wrong_kernels.kernels;
    let others = OtherCases::new(&loaded.spec, SEED);
    let batches: Vec<Result<Vec<Judged>, Failure>> = kernels
        .par_chunks(batch_compile::SIZE)
        .map(|batch| judge_batch(bench, loaded, (drawn, &others), batch))
        .collect();
    let (mut problems, mut lines) = (Vec::new(), Vec::new());
    for batch in batches {
        for Judged { problem, line } in batch? {
            problems.extend(problem);
            lines.extend(line);
        }
    }
    if kernels.is_empty() {
        problems.push(format!(
            "{} has no wrong kernel: list the mistakes that the tests must catch",
            bench.workbook.relative(&loaded.puzzle.wrong).display()
        ));
    }
    let all = kernels.len();
    let mut said = vec![format!("{all} of {all} caught by what they name")];
    said.extend((all > 0).then(|| causes(kernels, &loaded.spec)));
    let named = lines.iter().filter(|line| line.outcome == Outcome::Changed).count();
    if !lines.is_empty() {
        said.push(format!("line named for {named} of {} wrong values", lines.len()));
    }
    let summary = said.join("; ");
    Ok((Item::new("wrong kernels", summary, problems), lines))
}

/// For how many kernels the report is held to naming the cause, and by what.
fn causes(kernels: &[WrongKernel], spec: &Spec) -> String {
    let by = |wanted: Option<NamedBy>| {
        kernels.iter().filter(|kernel| kernel.named_by(spec) == wanted).count()
    };
    let [findings, words, none] = [Some(NamedBy::Finding), Some(NamedBy::Words), None].map(by);
    format!("cause named by a finding for {findings}, in words for {words}, not for {none}")
}

/// What became of a wrong kernel.
#[derive(Default)]
struct Judged {
    /// Why it is not in order.
    problem: Option<String>,
    /// The line that its report names, if it is one that can name a line.
    line: Option<NamedLine>,
}

impl Judged {
    fn problem(text: String) -> Self {
        Self { problem: Some(text), line: None }
    }
}

fn judge_batch(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    cases: (&DrawnCases<'_>, &OtherCases<'_>),
    kernels: &[WrongKernel],
) -> Result<Vec<Judged>, Failure> {
    let sources: Vec<&str> = kernels.iter().map(|kernel| kernel.source.as_str()).collect();
    let variants = batch_compile::compile(bench.toolchain, bench.workbook, &loaded.spec, &sources)?;
    let judged = kernels.par_iter().zip(&variants).enumerate().map(|(i, (kernel, variant))| {
        let Variant::Compiled(program) = variant else {
            return Ok(Judged::problem(format!("{:?} does not compile", kernel.name)));
        };
        let judged = judge_wrong(bench, loaded, cases, (kernel, program, Namespace(i)));
        let failed = |text| Judged::problem(format!("{:?}: {text}", kernel.name));
        Ok(problem(judged)?.unwrap_or_else(failed))
    });
    judged.collect()
}

/// Looks for the test that must catch the kernel, and at the report on it.
fn judge_wrong(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    (drawn, others): (&DrawnCases<'_>, &OtherCases<'_>),
    (kernel, program, own): (&WrongKernel, &Program, Namespace),
) -> Result<Judged, Failure> {
    let machine = Machine::new(program, None)?;
    let says = kernel.says.is_some();
    let caught = match caught::search(loaded, (drawn, others), (kernel, program), &machine, says)? {
        Search::Missed(verdicts) => return Ok(Judged::problem(uncaught(kernel, &verdicts))),
        Search::Drawn(verdict) => {
            let problem = says.then(|| says::unsaid(loaded, kernel, program, &verdict)).flatten();
            return Ok(Judged { problem, line: None });
        }
        Search::Caught(caught) => caught,
    };
    let has_line = program.host.is_none() && named_line::is_possible(caught.case, &caught.verdict);
    if !has_line && !says {
        return Ok(Judged::default());
    }
    let caught = caught.detailed(&machine, program);
    let line = has_line.then(|| named_line::of(loaded, kernel, (program, own), &caught.verdict));
    let explain =
        || caught.explained(bench.returns(loaded), others, &machine, (kernel, program, own));
    let verdict = says.then(explain);
    let problem = verdict.and_then(|verdict| says::unsaid(loaded, kernel, program, &verdict));
    Ok(Judged { problem, line: line.flatten() })
}

/// That the test or finding which must catch a kernel does not.
pub(super) fn uncaught(kernel: &WrongKernel, verdicts: &[TestVerdict]) -> String {
    let failed = verdicts.iter().filter(|v| !v.passed());
    let failed: Vec<&str> = failed.map(|v| v.test.as_str()).collect();
    let by = match &failed[..] {
        [] => "nothing".to_owned(),
        failed => failed.join(", "),
    };
    format!("{:?} is caught by {by}, not by {}", kernel.name, kernel.caught_by)
}
