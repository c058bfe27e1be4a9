//! Does a kernel take the other branch of the formula? Where all wrong elements have the value of the branch that the formula does not
//! take there, the condition is what the kernel does not ask, or asks otherwise.

use crate::verdict::{Cause, TestVerdict, WrongBranch};
use device::backend::Run;
use indexmath::{Branch, branches};
use puzzle::case::Case;
use std::cmp::Ordering;

/// Wrong elements that are looked at, and correct ones.
const LOOKED_AT: usize = 64;
/// Comparisons of a condition that is named whole.
const MOST: usize = 3;
/// Two values that differ by no more than this part of them are the same: a kernel rounds.
const SAME: f64 = 1e-6;

/// Adds to a failing verdict which condition of the formula the wrong elements contradict, if no wrong formula explains them.
pub(crate) fn explain(case: &Case, run: &Run, mut verdict: TestVerdict, at: usize) -> TestVerdict {
    let diff = &verdict.diffs[at];
    // Where the same stands everywhere, no condition is behind it; of a single element it says nothing.
    let is_all_zero = diff.cause == Some(Cause::AllZero) && diff.wrong.len() > 1;
    let is_uniform = diff.computes_nothing() || is_all_zero;
    if diff.variant.is_some() || diff.unwritten_count > 0 || is_uniform {
        return verdict;
    }
    let found = wrong_branch(case, run, &diff.tensor.name, &diff.wrong);
    verdict.diffs[at].branch = found;
    verdict
}

fn wrong_branch(case: &Case, run: &Run, name: &str, wrong: &[bool]) -> Option<WrongBranch> {
    let index = case.output(name)?;
    let got = &run.tensors.get(index)?.values;
    let known = case.known_for(name);
    let of = |is_wrong: bool| {
        let flats: Vec<usize> =
            (0..wrong.len()).filter(|&i| wrong[i] == is_wrong).take(LOOKED_AT).collect();
        let found = branches(&case.formula, &known, name, &flats);
        flats.into_iter().zip(found).collect::<Vec<_>>()
    };
    let (bad, good) = (of(true), of(false));
    let (first, path) = bad.first()?;
    let mut candidates = path.iter().filter(|branch| is_same(branch.other, got[*first]));
    candidates.find_map(|candidate| {
        let at_it = |path: &[Branch]| path.iter().find(|b| is_alike(b, candidate)).cloned();
        let taken = bad.iter().map(|(flat, path)| {
            at_it(path).filter(|b| b.holds == candidate.holds && is_same(b.other, got[*flat]))
        });
        let taken: Vec<Branch> = taken.collect::<Option<_>>()?;
        let correct: Vec<Branch> = good.iter().filter_map(|(_, path)| at_it(path)).collect();
        of_branches(&taken, &correct)
    })
}

/// What the wrong elements' branches have in common, of a condition that holds in all or in none of them. `None` of a long one that is
/// not asked: nothing is known of it.
fn of_branches(wrong: &[Branch], correct: &[Branch]) -> Option<WrongBranch> {
    let Branch { holds, needs_all, ref comparisons, .. } = wrong[0];
    let all = 0..comparisons.len();
    let named = |each: bool, which: &[usize]| WrongBranch {
        holds,
        each,
        taken: wrong[0].other_read.clone(),
        comparisons: which.iter().map(|&i| comparisons[i].text.clone()).collect(),
        only_where: match which {
            [one] => side(wrong, correct, *one),
            _ => None,
        },
    };
    // Any one of the comparisons decides that not all hold, or that one does.
    if holds != needs_all {
        let decides = |branch: &Branch, i: usize| branch.comparisons[i].holds == holds;
        // It decides alone where the result is correct, so the kernel asks it.
        let is_asked = |i: usize| {
            let alone = |b: &Branch| all.clone().all(|other| decides(b, other) == (other == i));
            correct.iter().any(|b| b.holds == holds && alone(b))
        };
        let always: Vec<usize> =
            all.clone().filter(|&i| wrong.iter().all(|branch| decides(branch, i))).collect();
        let unasked = |all: &[usize]| -> Vec<usize> {
            all.iter().copied().filter(|&i| !is_asked(i)).collect()
        };
        if !always.is_empty() {
            let suspects = unasked(&always);
            return Some(named(true, if suspects.is_empty() { &always } else { &suspects }));
        }
        let sometimes: Vec<usize> =
            all.clone().filter(|&i| wrong.iter().any(|branch| decides(branch, i))).collect();
        let suspects = unasked(&sometimes);
        return Some(named(false, if suspects.is_empty() { &sometimes } else { &suspects }));
    }
    match all.clone().find(|&i| side(wrong, correct, i).is_some()) {
        Some(one) => Some(named(true, &[one])),
        None => (all.len() <= MOST).then(|| named(true, &all.collect::<Vec<_>>())),
    }
}

/// How the left value of a comparison lies to the right one in all wrong elements, and in none of the correct ones with the same branch.
fn side(wrong: &[Branch], correct: &[Branch], i: usize) -> Option<Ordering> {
    let ordering = |branch: &Branch| branch.comparisons[i].ordering;
    let side = ordering(&wrong[0])?;
    let mut alike =
        correct.iter().filter(|b| b.comparisons[i].holds == wrong[0].comparisons[i].holds);
    let differs = alike.next().is_some_and(|first| {
        ordering(first) != Some(side) && alike.all(|b| ordering(b) != Some(side))
    });
    (differs && wrong.iter().all(|branch| ordering(branch) == Some(side))).then_some(side)
}

/// Whether both are of the same `select`.
fn is_alike(a: &Branch, b: &Branch) -> bool {
    let texts = |branch: &Branch| -> Vec<String> {
        branch.comparisons.iter().map(|compared| compared.text.clone()).collect()
    };
    a.needs_all == b.needs_all && texts(a) == texts(b)
}

fn is_same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= SAME * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};
    use indexmath::Compared;

    /// A branch for whose condition all comparisons must hold; of each the values are given by how they lie to each other, and it wants
    /// them equal.
    fn branch(orderings: &[Ordering]) -> Branch {
        let compared = |(i, &ordering): (usize, &Ordering)| Compared {
            text: format!("`c{i}`"),
            holds: ordering == Equal,
            ordering: Some(ordering),
        };
        let comparisons: Vec<Compared> = orderings.iter().enumerate().map(compared).collect();
        let holds = comparisons.iter().all(|c| c.holds);
        Branch { holds, other: 1.0, other_read: None, needs_all: true, comparisons }
    }

    #[test]
    fn the_comparison_that_fails_in_all_wrong_elements_is_named() {
        let wrong = [branch(&[Equal, Less]), branch(&[Less, Less])];
        let found =
            of_branches(&wrong, &[branch(&[Less, Equal]), branch(&[Equal, Equal])]).unwrap();
        assert_eq!((found.holds, found.each), (false, true));
        assert_eq!(found.comparisons, ["`c1`"]);
    }

    #[test]
    fn what_a_correct_element_shows_to_be_known_is_no_suspect() {
        let wrong = [branch(&[Equal, Less, Equal]), branch(&[Equal, Equal, Less])];
        let found = of_branches(&wrong, &[branch(&[Less, Equal, Equal])]).unwrap();
        assert_eq!(
            (found.each, &found.comparisons[..]),
            (false, &["`c1`".into(), "`c2`".into()][..])
        );
    }

    #[test]
    fn a_bound_on_the_wrong_side_is_told_by_where_it_is_right() {
        let side =
            |correct: &[Branch]| of_branches(&[branch(&[Less])], correct).unwrap().only_where;
        assert_eq!(side(&[branch(&[Greater]), branch(&[Equal])]), Some(Less));
        assert_eq!(side(&[branch(&[Less])]), None);
    }

    #[test]
    fn a_condition_that_holds_is_named_whole() {
        let found = of_branches(&[branch(&[Equal, Equal])], &[branch(&[Equal, Less])]).unwrap();
        assert_eq!((found.holds, found.each, found.comparisons.len()), (true, true, 2));
        assert_eq!(of_branches(&[branch(&[Equal; 4])], &[]), None, "too long to tell");
    }
}
