//! Is what a function gave good enough, where the formula does not say what it is?

use crate::backend::{Run, RunTensor};
use crate::case::{Case, CaseLaunch, CaseRequirement, Role};
use crate::finding::{Finding, FindingKind, Place};
use crate::tensor::Tensor;
use indexmath::Values;

/// A finding for a result with elements that were never written.
pub(super) fn unwritten(
    tensor: &Tensor,
    got: &RunTensor,
    launch: Option<&CaseLaunch>,
) -> Option<Finding> {
    let mut missing = (0..got.written.len()).filter(|&flat| !got.written[flat]);
    let first = missing.next()?;
    Some(Finding {
        kind: FindingKind::Unwritten { place: place(tensor, first) },
        kernel: launch.map(|l| l.kernel.clone()).unwrap_or_default(),
        line: None,
        thread: None,
        count: 1 + missing.count() as u64,
    })
}

/// A finding for each requirement that does not hold. Each statement of the formula is computed exactly from the values
/// of those before it: there is no rounding to allow for, and no tie that is left open.
pub(super) fn unmet(case: &Case, run: &Run) -> Vec<Finding> {
    let mut values = case.known.clone();
    for (tensor, got) in case.tensors.iter().zip(&run.tensors) {
        if matches!(tensor.role, Role::Result) {
            values.insert(tensor.tensor.name.clone(), got.values.clone());
        }
    }
    case.requirements.iter().filter_map(|required| judge(case, required, &mut values)).collect()
}

fn judge(case: &Case, required: &CaseRequirement, values: &mut Values) -> Option<Finding> {
    let CaseRequirement { tensor, steps, relation, bound, about } = required;
    let finding = |kind, count| {
        let kernel = case.launches.last().map(|l| l.kernel.clone()).unwrap_or_default();
        Some(Finding { kind, kernel, line: None, thread: None, count })
    };
    for step in steps {
        if values.contains_key(step) {
            continue;
        }
        match case.formula.evaluate(values, &[step]) {
            Ok(mut computed) => {
                let elements = computed.remove(step).unwrap_or_default();
                values.insert(step.clone(), elements.iter().map(|a| a.value).collect());
            }
            Err(error) => {
                let (tensor, message) = (tensor.name.clone(), error.message);
                return finding(FindingKind::NotMeasurable { tensor, message }, 1);
            }
        }
    }
    let measured = values.get(&tensor.name).map(Vec::as_slice).unwrap_or_default();
    let mut short = (0..tensor.len())
        .filter(|&flat| !measured.get(flat).is_some_and(|&value| relation.holds(value, *bound)));
    let first = short.next()?;
    let kind = FindingKind::UnmetRequirement {
        place: place(tensor, first),
        value: measured.get(first).copied().unwrap_or(f64::NAN),
        relation: *relation,
        bound: *bound,
        about: about.clone(),
    };
    finding(kind, 1 + short.count() as u64)
}

fn place(tensor: &Tensor, flat: usize) -> Place {
    Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat: flat as i64 }
}
