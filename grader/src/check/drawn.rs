//! Checks the cases that a spec draws: it says what to draw, and the solution passes with several seeds.

use super::bench::{Bench, Loaded, SEED};
use super::item::Item;
use super::kernels::{machines, problem};
use device::gpu;
use diagnostic::Failure;
use judge::drawn;
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Machine};
use puzzle::spec::Draw;

/// The number of seeds with which the solution runs.
const SEEDS: usize = 3;

/// Checks that the spec has a `[draw]`, and that the solution passes what it draws; `first` has the cases of [`SEED`].
pub fn check(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    first: &DrawnCases<'_>,
) -> Result<Item, Failure> {
    let summary = match &loaded.spec.draw {
        Some(Draw::Sizes(_)) => format!("the solution passes those of {SEEDS} seeds"),
        Some(Draw::Fixed(reason)) => {
            return Ok(Item::new("drawn sizes", format!("none: {reason}"), Vec::new()));
        }
        None => {
            let missing = "the spec has no [draw]: give each free size a range, as in \
                           dims = { N = [1, 40] }, or say why it cannot change: fixed = \"...\"";
            return Ok(Item::new("drawn sizes", String::new(), vec![missing.to_owned()]));
        }
    };
    let mut problems = Vec::new();
    for &(name, on_gpu) in machines(bench) {
        match problem(failures(bench, loaded, first, on_gpu))? {
            Ok(failures) => {
                problems.extend(failures.iter().map(|text| format!("{text} on {name}")));
            }
            Err(text) => problems.push(text),
        }
    }
    Ok(Item::new("drawn sizes", summary, problems))
}

fn failures(
    bench: &Bench<'_>,
    loaded: &Loaded<'_>,
    first: &DrawnCases<'_>,
    on_gpu: bool,
) -> Result<Vec<String>, Failure> {
    let Loaded { spec, puzzle, .. } = loaded;
    let gpu = if on_gpu { Some(gpu::detect()?) } else { None };
    let source = &puzzle.solution;
    let program = grade::compile(bench.toolchain, bench.workbook, spec, source, gpu.as_ref())?;
    let machine = Machine::new(&program, gpu)?;
    let mut failures = Vec::new();
    for seed in (SEED..).take(SEEDS) {
        let other;
        let cases = if seed == SEED {
            first
        } else {
            other = DrawnCases::new(spec, seed);
            &other
        };
        match drawn::judge(&machine, &program, cases)? {
            Some(verdict) if !verdict.passed() => {
                let size = |name: &String| Some(format!("{name}={}", verdict.dims.get(name)?));
                let sizes: Vec<String> = verdict.used_dims.iter().filter_map(size).collect();
                failures.push(format!(
                    "the solution fails with seed {seed} at {}: see \
                     grader puzzle {} --solution --test {} --seed {seed};",
                    sizes.join(", "),
                    puzzle.number,
                    verdict.test
                ));
            }
            Some(verdict) => {
                let (missing, fault) = cases.impossible();
                if missing >= verdict.cases {
                    let titles = fault.iter().flat_map(|fault| &fault.diagnostics);
                    let why = titles.map(|d| format!(" ({})", d.title)).next().unwrap_or_default();
                    failures.push(format!(
                        "{missing} of {} drawn cases are not possible with seed {seed}{why}: does \
                         [draw] need other `dims`, or `data` for an input?",
                        missing + verdict.cases
                    ));
                }
            }
            None => {}
        }
    }
    Ok(failures)
}
