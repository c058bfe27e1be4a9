//! Do the wrong elements hold another step of the formula: the number in a file's header in the place of the images it has, say?

use crate::verdict::{Cause, TestVerdict};
use device::backend::Run;
use puzzle::case::Case;
use puzzle::comparison::is_within_bound;

/// Different values in wrong elements, of which fewer are equal by chance.
const LEAST: usize = 3;

/// Adds to a failing verdict the step of the formula that all wrong elements hold, if nothing else explains them.
pub(crate) fn explain(case: &Case, run: &Run, mut verdict: TestVerdict, at: usize) -> TestVerdict {
    let diff = &verdict.diffs[at];
    if !diff.has_cause() && diff.cause.is_none() {
        let name = &diff.tensor.name;
        let got = case.output(name).map(|index| &run.tensors[index].values[..]);
        let found = got.and_then(|got| held(case, name, got, &diff.wrong));
        verdict.diffs[at].cause = found.map(|tensor| Cause::MultipleOf { tensor, factor: 1.0 });
    }
    verdict
}

/// The first step from which a tensor is computed, of the same shape, that all its wrong elements hold.
fn held(case: &Case, name: &str, got: &[f64], wrong: &[bool]) -> Option<String> {
    let mut values: Vec<u64> =
        got.iter().zip(wrong).filter(|g| *g.1).map(|g| g.0.to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    if values.len() < LEAST {
        return None;
    }
    let known = case.known_for(name);
    let shape = case.formula.shape(name)?;
    let sources = case.formula.sources(name);
    let mut alike = sources
        .iter()
        .filter(|source| !known.contains_key(*source) && case.formula.shape(source) == Some(shape));
    let holds = |source: &&String| {
        let computed = case.formula.evaluate(&known, &[source.as_str()]).ok();
        let step = computed.and_then(|mut computed| computed.remove(*source));
        let elements = |step: Vec<_>| {
            let mut all = got.iter().zip(&step).zip(wrong);
            all.all(|((&got, step), wrong)| !wrong || is_within_bound(got, step))
        };
        step.is_some_and(elements)
    };
    alike.find(holds).cloned()
}
