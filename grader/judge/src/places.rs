//! Where do the wrong elements lie, in a case and in others like it? Every second element, or those where an input is negative.

use crate::trials::Trials;
use crate::verdict::{Cause, PlaceKind, TensorDiff, TestVerdict, WrongPlaces};
use puzzle::case::Case;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Further cases that are looked at.
const MOST_CASES: usize = 24;
/// So many wrong elements, and so many correct ones elsewhere, show a pattern; in so many cases.
const LEAST: usize = 12;
const LEAST_CASES: usize = 3;

/// Adds to a failing verdict where the wrong elements lie, if that is the same in further cases and no cause is known.
pub(crate) fn explain(
    trials: &Trials<'_, '_>,
    case: &Case,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    let is_special = matches!(diff.cause, Some(Cause::Special { .. }));
    if !diff.is_explained() && !diff.computes_nothing() && !is_special && diff.unwritten_count == 0
    {
        verdict.diffs[at].places = wrong_places(trials, case, diff);
    }
    verdict
}

/// The elements of an output in one case.
struct Elements {
    wrong: Vec<bool>,
    /// The inputs of the same shape, with their names.
    alike: Vec<(String, Vec<f64>)>,
}

impl Elements {
    fn of(case: &Case, diff: &TensorDiff) -> Self {
        let alike = case.tensors.iter().filter(|other| other.tensor.shape == diff.tensor.shape);
        let alike = alike.filter_map(|other| {
            let values = other.start()?;
            Some((other.tensor.name.clone(), values.to_vec()))
        });
        Self { wrong: diff.wrong.clone(), alike: alike.collect() }
    }
}

fn wrong_places(trials: &Trials<'_, '_>, case: &Case, diff: &TensorDiff) -> Option<WrongPlaces> {
    let mut all = vec![Elements::of(case, diff)];
    for trial in trials.small().take(MOST_CASES) {
        let Some(verdict) = trial.verdict().filter(|verdict| verdict.findings.is_empty()) else {
            continue;
        };
        let other = verdict.diffs.iter().find(|other| other.tensor.name == diff.tensor.name);
        all.extend(other.map(|other| Elements::of(&trial.case, other)));
    }
    told(&all)
}

/// The first kind of place that all wrong elements have, and many correct ones have not.
fn told(all: &[Elements]) -> Option<WrongPlaces> {
    let steps = [4, 2].into_iter().filter_map(|step| {
        let of = |elements: &Elements| {
            let wrong = (0..elements.wrong.len()).filter(|&i| elements.wrong[i]);
            wrong.map(|i| i % step).collect::<Vec<_>>()
        };
        let remainders: BTreeSet<usize> = all.iter().flat_map(of).collect();
        let remainder = *remainders.first().filter(|_| remainders.len() == 1)?;
        Some(PlaceKind::EveryNth { step, remainder })
    });
    let names = all.first()?.alike.iter().map(|(name, _)| name);
    let signs = names.filter_map(|tensor| {
        let of = |elements: &Elements| {
            let values = value_of(elements, tensor)?;
            let wrong = (0..elements.wrong.len()).filter(|&i| elements.wrong[i]);
            wrong.map(|i| values[i].partial_cmp(&0.0)).collect::<Option<BTreeSet<_>>>()
        };
        let signs = all.iter().map(of).collect::<Option<Vec<_>>>()?;
        let signs: Vec<Ordering> =
            signs.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
        (signs.len() < 3).then(|| PlaceKind::Sign { tensor: tensor.clone(), signs })
    });
    steps.chain(signs).find_map(|place| {
        let (mut wrong, mut elsewhere, mut there) = (0, 0, 0);
        for elements in all {
            for i in 0..elements.wrong.len() {
                let count = match (elements.wrong[i], holds(&place, elements, i)) {
                    (true, _) => &mut wrong,
                    (false, true) => &mut there,
                    (false, false) => &mut elsewhere,
                };
                *count += 1;
            }
        }
        let is_clear = wrong >= LEAST && elsewhere >= LEAST && 4 * elsewhere >= wrong;
        (is_clear && all.len() > LEAST_CASES).then(|| WrongPlaces {
            place,
            exactly: there == 0,
            cases: all.len() - 1,
        })
    })
}

fn value_of<'a>(elements: &'a Elements, tensor: &str) -> Option<&'a [f64]> {
    let found = elements.alike.iter().find(|(name, _)| name == tensor);
    found.map(|(_, values)| &values[..])
}

fn holds(place: &PlaceKind, elements: &Elements, i: usize) -> bool {
    match place {
        PlaceKind::EveryNth { step, remainder } => i % step == *remainder,
        PlaceKind::Sign { tensor, signs } => {
            let sign = value_of(elements, tensor).and_then(|values| values[i].partial_cmp(&0.0));
            sign.is_some_and(|sign| signs.contains(&sign))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(n: usize, wrong: fn(usize, f64) -> bool) -> Vec<Elements> {
        let case = |nth: usize| {
            let values: Vec<f64> = (0..16).map(|i| ((7 * i + 3 * nth) % 5) as f64 - 2.0).collect();
            let wrong = values.iter().enumerate().map(|(i, &value)| wrong(i, value)).collect();
            Elements { wrong, alike: vec![("z".to_owned(), values)] }
        };
        (0..n).map(case).collect()
    }

    #[test]
    fn every_second_element_and_signs_are_told() {
        let of = |wrong| told(&cases(5, wrong));
        let nth = |step, remainder| PlaceKind::EveryNth { step, remainder };
        let found = |place, exactly| Some(WrongPlaces { place, exactly, cases: 4 });
        assert_eq!(of(|i, _| i % 2 == 1), found(nth(2, 1), true));
        assert_eq!(of(|i, _| i % 4 == 3), found(nth(4, 3), true));
        let signs =
            |signs: &[Ordering]| PlaceKind::Sign { tensor: "z".into(), signs: signs.into() };
        let negative = signs(&[Ordering::Less]);
        assert_eq!(of(|_, z| z < 0.0), found(negative.clone(), true));
        assert_eq!(of(|_, z| z == -1.0), found(negative, false));
        assert_eq!(of(|_, z| z <= 0.0), found(signs(&[Ordering::Less, Ordering::Equal]), true));
        assert_eq!(of(|i, _| i % 3 == 0), None);
        assert_eq!(told(&cases(3, |i, _| i % 2 == 1)), None, "too few cases");
    }
}
