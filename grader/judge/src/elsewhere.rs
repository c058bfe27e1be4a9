//! Does an output of whole numbers come out the same always? Of a flag or a count, one case tells little.

use crate::trials::Trials;
use crate::verdict::{AlwaysSame, TestVerdict};
use puzzle::case::{Case, CaseTensor};

/// Cases that are looked at, at most: host code starts a process for each.
const MOST: usize = 16;
/// So many must agree.
const LEAST: usize = 4;

/// Adds to a failing verdict the number that all elements of an output are, here and in all other cases, if nothing else explains it and
/// other numbers are expected there.
pub(crate) fn explain(
    trials: &Trials<'_, '_>,
    case: &Case,
    values: &[f64],
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    let is_known = diff.is_explained() || diff.tensor.dtype.is_float() || diff.unwritten_count > 0;
    let Some(value) = only(values).filter(|_| !is_known) else { return verdict };
    let name = diff.tensor.name.clone();
    let expected = |tensor: &CaseTensor| -> Vec<f64> {
        let wanted = tensor.wanted().map(|(_, expected)| expected).unwrap_or_default();
        wanted.iter().map(|element| element.value).collect()
    };
    let of = |case: &Case| case.output(&name).map(|index| expected(&case.tensors[index]));
    let mut all_expected: Vec<f64> = of(case).unwrap_or_default();
    let mut cases = 0;
    for trial in trials.small().take(MOST) {
        let Some(run) = trial.run().filter(|run| run.findings.is_empty()) else { continue };
        let Some(index) = trial.case.output(&name) else { continue };
        if only(&run.tensors[index].values) != Some(value) {
            return verdict;
        }
        all_expected.extend(of(&trial.case).unwrap_or_default());
        cases += 1;
    }
    if cases >= LEAST && only(&all_expected).is_none() {
        verdict.diffs[at].always = Some(AlwaysSame { value, cases });
    }
    verdict
}

/// The number that all are.
fn only(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    (first.is_finite() && values.iter().all(|value| *value == first)).then_some(first)
}
