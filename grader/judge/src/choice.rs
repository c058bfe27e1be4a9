//! Do the wrong positions of a search (`argmax`) name elements that are as large as the right ones, or count from elsewhere?

use crate::trials::{Trial, Trials};
use crate::verdict::{TensorDiff, TestVerdict, WrongChoice};
use device::backend::Run;
use indexmath::{Approx, Candidate, candidate};
use puzzle::case::{Case, CaseTensor};
use puzzle::tensor::Tensor;
use std::rc::Rc;

/// Elements that are looked at.
const LOOKED_AT: usize = 256;
/// Further cases that are looked at.
const MOST_CASES: usize = 24;
/// So many wrong elements show that all count from elsewhere.
const LEAST: usize = 4;

/// Adds to a failing verdict how the positions of a search are wrong, if no wrong formula explains them. Where too few are wrong, a
/// further case may show it in more.
pub(crate) fn explain(
    trials: &Trials<'_, '_>,
    case: &Case,
    run: &Run,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    if diff.variant.is_none() && diff.unwritten_count == 0 && !diff.tensor.dtype.is_float() {
        let found = wrong_choice(case, run, diff, LEAST);
        let found = found.or_else(|| {
            let few = wrong_choice(case, run, diff, 1)?;
            let is_same = |trial: Rc<Trial<'_>>| {
                let (run, verdict) = (trial.run()?, trial.verdict()?);
                let is_it = |other: &&TensorDiff| other.tensor.name == diff.tensor.name;
                let other = verdict.diffs.iter().find(is_it).filter(|_| run.findings.is_empty())?;
                (wrong_choice(&trial.case, run, other, LEAST).as_ref() == Some(&few)).then_some(())
            };
            trials.small().take(MOST_CASES).find_map(is_same).map(|()| few)
        });
        verdict.diffs[at].choice = found;
    }
    verdict
}

/// How at least `least` positions are wrong, if all are wrong alike.
fn wrong_choice(case: &Case, run: &Run, diff: &TensorDiff, least: usize) -> Option<WrongChoice> {
    let (name, wrong) = (&*diff.tensor.name, &diff.wrong);
    let index = case.output(name)?;
    let (got, expected) = (&run.tensors.get(index)?.values, case.expected(name)?);
    let known = case.known_for(name);
    let of = |flat: usize, at: f64| candidate(&case.formula, &known, (name, flat), at as i64);
    let right = |flat: usize| of(flat, expected[flat].value);
    let all_wrong: Vec<usize> =
        (0..wrong.len()).filter(|&flat| wrong[flat]).take(LOOKED_AT).collect();
    let are_enough = all_wrong.len() >= least;
    let is_tie = |&flat: &usize| {
        let value = |candidate: Candidate| candidate.value;
        let (right, other) = (right(flat).map(value), of(flat, got[flat]).map(value));
        got[flat] > expected[flat].value && right.is_some() && right == other
    };
    let is_in_slices = || {
        let inputs = case.tensors.iter();
        let ties =
            |input: &CaseTensor| is_tie_in_slices(input, &diff.tensor, &all_wrong, got, expected);
        are_enough && inputs.into_iter().any(|input| ties(input) == Some(true))
    };
    if all_wrong.iter().all(is_tie) || is_in_slices() {
        return Some(WrongChoice::Tie);
    }
    let counts_on = |input: &&CaseTensor| {
        counts_on(input, &diff.tensor, (&all_wrong, least), got, expected) == Some(true)
    };
    if let Some(input) = case.tensors.iter().find(counts_on) {
        return Some(WrongChoice::AcrossSlices(input.tensor.name.clone()));
    }
    let (tensor, _) = right(*all_wrong.first()?)?.element?;
    let shape = &case.tensors.iter().find(|t| t.tensor.name == tensor)?.tensor.shape;
    let slice: usize = shape.iter().rev().take(2).product();
    let all = |count: &dyn Fn(usize) -> usize| {
        let mut holds = all_wrong.iter().map(|&flat| {
            let (_, at) = right(flat)?.element?;
            Some(count(at) as f64 == got[flat])
        });
        are_enough && holds.all(|holds| holds == Some(true))
    };
    // With a single slice both are the same, and the smaller one is what others mean by it.
    if all(&|flat| flat % slice.max(1)) {
        return Some(WrongChoice::InSlice(tensor));
    }
    all(&|flat| flat).then_some(WrongChoice::InTensor(tensor))
}

/// Whether all wrong numbers, of which there are at least `least`, are the right ones, counted on through the slices of an input over its
/// last two axes. `None` if they cannot be positions in them.
fn counts_on(
    input: &CaseTensor,
    output: &Tensor,
    (wrong, least): (&[usize], usize),
    got: &[f64],
    expected: &[Approx],
) -> Option<bool> {
    let (size, own) = slices(input, output)?;
    let is_on =
        |&flat: &usize| got[flat] == expected[flat].value + (flat / own * size) as f64 && own > 1;
    Some(wrong.len() >= least && wrong.iter().all(is_on))
}

/// The elements of a slice over the last two axes of an input, and of an output that has as many of them. `None` if it has not, or the
/// input is of whole numbers.
fn slices(input: &CaseTensor, output: &Tensor) -> Option<(usize, usize)> {
    let planes = |shape: &[usize]| shape.len().checked_sub(2).map(|axes| shape[..axes].to_vec());
    let shape = &input.tensor.shape;
    let are_alike = input.tensor.dtype.is_float() && planes(shape)? == planes(&output.shape)?;
    let slice = |shape: &[usize]| shape.iter().rev().take(2).product::<usize>();
    are_alike.then(|| (slice(shape), slice(&output.shape)))
}

/// Whether all wrong numbers, as positions in the slices of an input over its last two axes, lead to an equal element behind the right one.
/// `None` if they cannot be such positions.
fn is_tie_in_slices(
    input: &CaseTensor,
    output: &Tensor,
    wrong: &[usize],
    got: &[f64],
    expected: &[Approx],
) -> Option<bool> {
    let values = input.start()?;
    let (size, own) = slices(input, output)?;
    let element = |flat: usize, at: f64| {
        let inside = (0.0..size as f64).contains(&at);
        inside.then(|| values[flat / own * size + at as usize])
    };
    let ties = |&flat: &usize| {
        let right = expected[flat].value;
        Some(got[flat] > right && element(flat, got[flat])? == element(flat, right)?)
    };
    wrong.iter().map(ties).collect::<Option<Vec<bool>>>().map(|all| !all.contains(&false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::case::Role;
    use puzzle::tensor::DType;

    #[test]
    fn positions_that_go_on_through_the_slices() {
        let tensor =
            |dtype, shape: &[usize]| Tensor { name: "t".into(), dtype, shape: shape.into() };
        let role = Role::Input(vec![0.0; 24]);
        let input = CaseTensor { tensor: tensor(DType::F32, &[2, 3, 4]), role };
        let output = tensor(DType::I32, &[2, 2, 2]);
        let exact = |value| Approx { value, bound: 0.0, magnitude: value, terms: 1 };
        let expected = [0.0, 3.0, 8.0, 11.0, 1.0, 3.0, 8.0, -1.0].map(exact);
        let got = [0.0, 3.0, 8.0, 11.0, 13.0, 15.0, 20.0, 11.0];
        let found = |wrong: &[usize]| counts_on(&input, &output, (wrong, LEAST), &got, &expected);
        assert_eq!(found(&[4, 5, 6, 7]), Some(true));
        assert_eq!(found(&[4, 5]), Some(false), "too few");
        let other = [12.0; 8];
        let counted = counts_on(&input, &output, (&[4, 5, 6, 7], LEAST), &other, &expected);
        assert_eq!(counted, Some(false));
        let vector = CaseTensor { tensor: tensor(DType::F32, &[3, 4]), ..input.clone() };
        assert_eq!(counts_on(&vector, &output, (&[4, 5, 6, 7], LEAST), &got, &expected), None);
    }
}
