//! Mutation testing of a puzzle: finds the changes of the solution that its tests do not notice.

use super::bench::{Bench, Loaded};
use crate::mutants::{Mutant, mutants};
use device::gpu;
use device::host::Usage;
use diagnostic::Failure;
use judge::batch_compile::{self, Variant};
use judge::grade::{self, Machine, Program};
use judge::judgement;
use puzzle::case::Case;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use toolchain::spinner::Progress;

/// Host code may use so many times as much as the solution does for the same test ...
const TIMES: u32 = 4;

/// ... and so much in any case: on the device 500 launches, or as many instructions as a second of the virtual machine.
const LEAST: Usage = Usage { host: Duration::from_secs(1), device: Duration::from_millis(1) };

/// A test that takes the solution's host code longer than this on the virtual machine runs on the GPU, where solutions also run there.
const LONG: Duration = Duration::from_secs(4);

/// The outcome for all mutants of a solution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutation {
    /// The number of mutants.
    pub total: usize,
    /// The number of mutants that do not compile.
    pub rejected: usize,
    /// The number of mutants that compile to the same instructions as the solution, so that no test can distinguish
    /// them.
    pub same_code: usize,
    /// The number of mutants that fail a test.
    pub killed: usize,
    /// How many of these are host code that took several times as much as the solution, and counts as endless.
    pub endless: usize,
    /// The number of mutants that pass every test, and are listed as equivalent, with a reason.
    pub explained: usize,
    /// The mutants that pass every test and are not explained.
    pub survivors: Vec<Survivor>,
    /// The reasons of listed equivalents that are wrong: a test fails, or there is no such mutant.
    pub stale: Vec<String>,
}

/// A mutant that passes every test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The line of the change in the solution, from 1.
    pub line: u32,
    /// A text of the solution that occurs in it exactly once.
    pub from: String,
    /// The text that replaces it.
    pub to: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MutantResult {
    Rejected,
    SameCode,
    Killed,
    Endless,
    Survived,
}

/// A test, and what host code may use for it; kernels have limits of their own.
struct Trial<'a> {
    case: &'a Case,
    limit: Option<Usage>,
    on_gpu: bool,
}

/// Generates the mutants of the solution, compiles them and runs them on the virtual machine; the longest tests of host code on the
/// GPU, if the bench has one. (What passes on a GPU is judged on the virtual machine as well, so kernels need not run on both.)
///
/// # Errors
/// The compiler does not work.
pub fn mutation(bench: &Bench<'_>, loaded: &Loaded<'_>) -> Result<Mutation, Failure> {
    let mutants = mutants(&loaded.solution);
    let trials = trials(bench, loaded)?;
    let progress =
        Progress::steps(&format!("mutants of {}", loaded.puzzle.stem), mutants.len() as u64);
    let results: Vec<Result<Vec<MutantResult>, Failure>> = mutants
        .par_chunks(batch_compile::SIZE - 1)
        .map(|chunk| results(bench, loaded, &trials, chunk, &progress))
        .collect();
    drop(progress);
    let mut report = Mutation { total: mutants.len(), ..Mutation::default() };
    let mut unused: BTreeMap<&str, &str> = loaded
        .wrong_kernels
        .equivalents
        .iter()
        .map(|e| (e.source.as_str(), e.reason.as_str()))
        .collect();
    let results = results.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    for (mutant, result) in mutants.iter().zip(results) {
        match result {
            MutantResult::Rejected => report.rejected += 1,
            MutantResult::SameCode => {
                // Another version of the compiler may find fewer equal kernels.
                unused.remove(mutant.source.as_str());
                report.same_code += 1;
            }
            MutantResult::Killed => report.killed += 1,
            MutantResult::Endless => {
                report.killed += 1;
                report.endless += 1;
            }
            MutantResult::Survived if unused.remove(mutant.source.as_str()).is_some() => {
                report.explained += 1;
            }
            MutantResult::Survived => report.survivors.push(Survivor::of(mutant, &loaded.solution)),
        }
    }
    report.stale = unused.into_values().map(str::to_owned).collect();
    report.stale.dedup();
    Ok(report)
}

/// The tests, with what host code may use for each and where it runs; kernels run on the virtual machine.
fn trials<'a>(bench: &Bench<'_>, loaded: &'a Loaded<'_>) -> Result<Vec<Trial<'a>>, Failure> {
    let kernels = |case| Trial { case, limit: None, on_gpu: false };
    if !loaded.spec.is_host() {
        return Ok(loaded.cases.iter().map(kernels).collect());
    }
    let Bench { toolchain, workbook, .. } = bench;
    let program = grade::compile(toolchain, workbook, &loaded.spec, &loaded.puzzle.solution, None)?;
    let trial = |case| {
        let start = Instant::now();
        let (mut usage, mut on_gpu) = (usage(&program, case, false)?, false);
        if bench.on_gpu && start.elapsed() > LONG {
            (usage, on_gpu) = (self::usage(&program, case, true)?, true);
        }
        let (host, device) = (usage.host * TIMES, usage.device * TIMES);
        let limit = Usage { host: host.max(LEAST.host), device: device.max(LEAST.device) };
        Ok(Trial { case, limit: Some(limit), on_gpu })
    };
    loaded.cases.par_iter().map(trial).collect()
}

/// What the host code of the solution uses for a case.
fn usage(solution: &Program, case: &Case, on_gpu: bool) -> Result<Usage, Failure> {
    match machine(solution, on_gpu)? {
        Machine::Host(host) => Ok(host.run_within(case, None)?.1),
        Machine::Vm(_) | Machine::Gpu(_) => Ok(LEAST),
    }
}

fn machine(program: &Program, on_gpu: bool) -> Result<Machine, Failure> {
    Machine::new(program, if on_gpu { Some(gpu::detect()?) } else { None })
}

/// `None` if the mutant passes this test.
fn failure(machine: &Machine, trial: &Trial<'_>) -> Option<MutantResult> {
    let &Trial { case, limit, .. } = trial;
    let passed = if let (Machine::Host(host), Some(limit)) = (machine, limit) {
        match host.run_within(case, Some(limit)) {
            Ok((_, usage)) if usage.exceeds(limit) => return Some(MutantResult::Endless),
            run => run.is_ok_and(|(run, _)| judgement::judge(case, &run).passed()),
        }
    } else {
        grade::run_and_judge(machine.backend(), case).is_ok_and(|(_, verdict)| verdict.passed())
    };
    (!passed).then_some(MutantResult::Killed)
}

fn results(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    trials: &[Trial<'_>],
    mutants: &[Mutant],
    progress: &Progress,
) -> Result<Vec<MutantResult>, Failure> {
    let mut sources = vec![loaded.solution.as_str()];
    sources.extend(mutants.iter().map(|mutant| mutant.source.as_str()));
    let variants = batch_compile::compile(bench.toolchain, bench.workbook, &loaded.spec, &sources)?;
    let original = match &variants[0] {
        Variant::Compiled(program) => batch_compile::fingerprint(&program.compiled.ptx, 0),
        Variant::Rejected => String::new(),
    };
    let result = |i: usize, variant: &Variant| {
        progress.advance(1);
        let Variant::Compiled(program) = variant else { return Ok(MutantResult::Rejected) };
        if program.host.is_none()
            && batch_compile::fingerprint(&program.compiled.ptx, i) == original
        {
            return Ok(MutantResult::SameCode);
        }
        let interpreted = machine(program, false)?;
        for trial in trials {
            let native = if trial.on_gpu { Some(machine(program, true)?) } else { None };
            if let Some(failed) = failure(native.as_ref().unwrap_or(&interpreted), trial) {
                return Ok(failed);
            }
        }
        Ok(MutantResult::Survived)
    };
    variants.par_iter().enumerate().skip(1).map(|(i, variant)| result(i, variant)).collect()
}

impl Survivor {
    /// The whole lines around the change, as few as occur only once.
    fn of(mutant: &Mutant, solution: &str) -> Self {
        let line_start = |at: usize| solution[..at].rfind('\n').map_or(0, |end| end + 1);
        let line_end = |at: usize| solution[at..].find('\n').map_or(solution.len(), |end| at + end);
        let (mut start, mut end) = (line_start(mutant.span.start), line_end(mutant.span.end));
        start += solution[start..mutant.span.start].len()
            - solution[start..mutant.span.start].trim_start().len();
        while solution.matches(&solution[start..end]).count() > 1
            && (start > 0 || end < solution.len())
        {
            if start > 0 {
                start = line_start(start.saturating_sub(1));
            } else {
                end = line_end(end + 1);
            }
        }
        let changed = end + mutant.source.len() - solution.len();
        Self {
            line: mutant.line,
            from: solution[start..end].to_owned(),
            to: mutant.source[start..changed].to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_told_by_text_that_occurs_once() {
        let solution = "int a;\n  x = 1;\nint b;\n  x = 1;\n";
        let survivors: Vec<Survivor> =
            mutants_of(solution).iter().map(|m| Survivor::of(m, solution)).collect();
        let expected =
            [("int a;\n  x = 1;", "int a;\n  x = 2;"), ("int b;\n  x = 1;", "int b;\n  x = 2;")];
        for (survivor, (from, to)) in survivors.iter().zip(expected) {
            assert_eq!(solution.matches(&survivor.from).count(), 1);
            assert_eq!(
                solution.replacen(&survivor.from, &survivor.to, 1),
                solution.replacen(from, to, 1)
            );
        }
    }

    fn mutants_of(solution: &str) -> Vec<Mutant> {
        let change = |(at, _): (usize, &str)| {
            let mut source = solution.to_owned();
            source.replace_range(at..=at, "2");
            let line = solution[..at].matches('\n').count() as u32 + 1;
            Mutant { span: at..at + 1, replacement: "2".to_owned(), line, source }
        };
        solution.match_indices('1').map(change).collect()
    }
}
