//! Which step of the formula does host code have wrongly in memory? That is known where the formula, with these values in the place of the
//! step, gives exactly the output that came out.

use crate::formula_variant::{self, Look, Seen};
use crate::host_steps::{Progress, Suspect};
use crate::trials::{Trial, Trials};
use crate::verdict::WrongStep;
use device::backend::Run;
use device::host::{HostBackend, TracedArg};
use indexmath::Approx;
use puzzle::case::Case;
use puzzle::comparison::is_within_bound;
use puzzle::tensor::element_name;

/// The first memory that explains the output `name`, taken for the step that `progress` misses.
pub(crate) fn find(
    host: &HostBackend,
    trials: &Trials<'_, '_>,
    (case, run): (&Case, &Run),
    name: &str,
    progress: &Progress,
) -> Option<WrongStep> {
    let step = &progress.steps.missing;
    // Of an output there is no rest of the formula.
    if progress.steps.misses_output() {
        return None;
    }
    let known = case.known_for(name);
    let expected = case.formula.evaluate(&known, &[step]).ok()?.remove(step)?;
    let got = &run.tensors[case.output(name)?].values;
    let is_whole = expected.iter().all(|element| element.value.fract() == 0.0);
    let explains = |suspect: &&Suspect| {
        wrong(&expected, &suspect.values).next().is_some()
            && (!is_whole || suspect.values.iter().all(|value| value.fract() == 0.0))
            && gives(case, name, (step, &suspect.values), got)
    };
    let wanted = case.expected(name)?;
    let memory = |suspect: &Suspect| InMemory {
        host,
        at: suspect.at,
        output: name,
        step,
        right: &progress.seen,
    };
    let is_sure = |suspect: &&Suspect| {
        let told = evidence(case, wanted, got);
        told >= SURE || memory(suspect).explains(trials, told)
    };
    let suspect = progress.suspects.iter().filter(explains).find(is_sure)?;
    let mut all = wrong(&expected, &suspect.values);
    let first = all.next()?;
    let look = memory(suspect);
    let seen = Seen::of_step(case, step, &progress.seen, suspect.values.clone());
    let variant = seen.and_then(|seen| formula_variant::search_on_host(trials, case, &seen, &look));
    Some(WrongStep {
        call: suspect.call.clone(),
        stored: suspect.stored,
        element: element_name(step, case.formula.shape(step)?, first),
        expected: expected[first].value,
        got: suspect.values[first],
        count: 1 + all.count(),
        of: expected.len(),
        variant,
    })
}

/// So much evidence comes out of other memory by chance in no program, and so much of several runs.
const SURE: usize = 24;
const TOGETHER: usize = 4;
/// Further runs that must show the same where there is less.
const RUNS: usize = 4;
/// A number with many digits counts as so many that are parts of a size, such as counts and means of them.
const DIGITS: usize = 4;

/// How much the different wrong values tell, counted until that is sure.
fn evidence(case: &Case, expected: &[Approx], got: &[f64]) -> usize {
    let is_part = |value: f64| {
        let near = |size: f64| (value * size - (value * size).round()).abs() <= 1e-4;
        near(1.0) || case.dims.values().any(|&size| near(size as f64))
    };
    let mut found: Vec<u64> = Vec::new();
    let mut told = 0;
    for at in wrong(expected, got) {
        if told >= SURE {
            break;
        }
        if !found.contains(&got[at].to_bits()) {
            found.push(got[at].to_bits());
            told += if is_part(got[at]) { 1 } else { DIGITS };
        }
    }
    told
}

/// The positions of wrong elements.
fn wrong<'v>(expected: &'v [Approx], values: &'v [f64]) -> impl Iterator<Item = usize> + 'v {
    let pairs = expected.iter().zip(values).enumerate();
    pairs.filter(|(_, (expected, got))| !is_within_bound(**got, expected)).map(|(at, _)| at)
}

/// Whether the formula, with these values of a step, gives what came out.
fn gives(case: &Case, name: &str, (step, values): (&str, &[f64]), got: &[f64]) -> bool {
    let mut known = case.known_for(name).into_owned();
    known.insert(step.to_owned(), values.to_vec());
    let computed = case.formula.evaluate(&known, &[name]).ok();
    let given = computed.and_then(|mut computed| computed.remove(name));
    given.is_some_and(|given| {
        given.len() == got.len() && got.iter().zip(&given).all(|(got, e)| is_within_bound(*got, e))
    })
}

/// The same memory in further runs.
struct InMemory<'a> {
    host: &'a HostBackend,
    /// The launch and its argument, by their positions.
    at: (usize, usize),
    output: &'a str,
    step: &'a str,
    right: &'a [String],
}

impl InMemory<'_> {
    /// Whether this memory explains the output in further runs, where all of them tell enough.
    fn explains(&self, trials: &Trials<'_, '_>, mut told: usize) -> bool {
        let mut runs = 0;
        for trial in trials.iter() {
            let case = &*trial.case;
            let got =
                trial.run().filter(|run| run.findings.is_empty()).zip(case.output(self.output));
            let Some(got) = got.map(|(run, output)| &run.tensors[output].values) else { continue };
            let Some(values) = self.values(case) else { continue };
            if !gives(case, self.output, (self.step, &values), got) {
                return false;
            }
            told += case.expected(self.output).map_or(0, |expected| evidence(case, expected, got));
            runs += 1;
            if runs >= RUNS {
                break;
            }
        }
        runs > 0 && told >= TOGETHER
    }

    /// What it is in a run of another case.
    fn values(&self, case: &Case) -> Option<Vec<f64>> {
        let interpreted = self.host.interpreted();
        let host = interpreted.as_ref().unwrap_or(self.host);
        let stored = host.stored(case, case.output(self.output)?).ok()?;
        let TracedArg::Buffer(buffer) = stored.launches.get(self.at.0)?.args.get(self.at.1)? else {
            return None;
        };
        let elements = case.formula.shape(self.step)?.iter().product();
        let words = if buffer.is_changed() { &buffer.after } else { &buffer.before };
        Some(words.get(..elements)?.iter().map(|&word| word.into()).collect())
    }
}

impl Look for InMemory<'_> {
    fn see<'t>(&self, trial: &'t Trial<'_>) -> Option<Seen<'t>> {
        Seen::of_step(&trial.case, self.step, self.right, self.values(&trial.case)?)
    }
}
