//! For which sizes is a program correct? Room for so many elements, or a loop for so many threads, shows as a border between sizes; it is
//! found by bisection, and said where all sizes that are tried on both sides of it agree. A rest that is left out shows as multiples.

use crate::grade;
use crate::other_cases::OtherCases;
use crate::verdict::{CorrectSizes, SizeLimit, TensorDiff, TestVerdict};
use device::backend::Backend;
use puzzle::case::{Case, CaseLaunch};
use puzzle::draw::Flavour;
use puzzle::spec::SizeRange;
use std::cell::Cell;

/// Cases that are run at most.
const TRIES: usize = 64;
/// Numbers of whose multiples a program may be correct alone: vectors, warps, tiles and blocks.
const STEPS: [i64; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Elements of all tensors of a case that is run again at other sizes.
const MAX_ELEMENTS: usize = 1 << 18;
/// As many, where it is known what the first wrong element should not be computed from.
const FEW_ELEMENTS: usize = 1 << 13;
/// Further data with which the sizes on both sides of the border are tried.
const OTHER_DATA: u64 = 3;
/// A program that is correct for fewer sizes than that is wrong in another way.
const LEAST: i64 = 4;

/// Adds to a failing verdict for which sizes the program computes the output correctly, if it has no other cause.
pub(crate) fn explain(
    backend: &dyn Backend,
    others: &OtherCases<'_>,
    case: &Case,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let elements: usize = case.tensors.iter().map(|t| t.tensor.len()).sum();
    let diff = &verdict.diffs[at];
    let most = if diff.is_explained() { FEW_ELEMENTS } else { MAX_ELEMENTS };
    if diff.has_cause() || diff.computes_nothing() || elements > most {
        return verdict;
    }
    let flavours = match verdict.smallest {
        Some(flavour) => vec![flavour],
        None => vec![Flavour::Integers, Flavour::Normal],
    };
    let search = |flavour| {
        let name = &diff.tensor.name;
        Search { backend, others, case, name, elements, flavour, left: Cell::new(TRIES) }
    };
    let failing = flavours.into_iter().map(search).find(Search::fails);
    verdict.diffs[at].size_limit = failing.and_then(|search| search.limit());
    verdict
}

struct Search<'a, 's> {
    backend: &'a dyn Backend,
    others: &'a OtherCases<'s>,
    case: &'a Case,
    /// The output that is wrong.
    name: &'a str,
    /// Of all tensors of the case.
    elements: usize,
    flavour: Flavour,
    left: Cell<usize>,
}

impl Search<'_, '_> {
    /// Whether the output is wrong with these data, too, at the sizes of the case.
    fn fails(&self) -> bool {
        let same = |range: &SizeRange| {
            let value = *self.case.dims.get(&range.name)?;
            self.passes(&range.name, value)
        };
        self.others.ranges().first().and_then(same) == Some(false)
    }

    fn limit(&self) -> Option<SizeLimit> {
        self.others.ranges().iter().find_map(|range| {
            let value = *self.case.dims.get(&range.name)?;
            let correct = match self.passes(&range.name, range.min) {
                Some(true) => self.border(range, value).map(CorrectSizes::UpTo),
                _ => self.multiples(range, value).map(CorrectSizes::MultiplesOf),
            }?;
            let of_threads = |threads: &i64| match correct {
                CorrectSizes::UpTo(largest) => [largest, largest + 1].contains(threads),
                CorrectSizes::MultiplesOf(_) => false,
            };
            Some(SizeLimit {
                size: range.name.clone(),
                correct,
                threads: self.case.launches.iter().map(threads).find(of_threads),
                tried: TRIES - self.left.get(),
            })
        })
    }

    /// The largest value of a size up to which the output is correct, where it is wrong for `wrong`.
    fn border(&self, range: &SizeRange, mut wrong: i64) -> Option<i64> {
        let passes = |value: i64| self.passes(&range.name, value);
        let mut right = range.min;
        while wrong - right > 1 {
            let middle = right + (wrong - right) / 2;
            *(if passes(middle)? { &mut right } else { &mut wrong }) = middle;
        }
        let below = [right - 1, right - 2, right - 3, right / 2, right / 2 - 1, right / 3];
        let below = below.into_iter().filter(|&below| below > range.min);
        let above = [wrong + 1, wrong + 2, wrong + 3, wrong + wrong / 2, wrong + wrong / 3];
        let above = above.into_iter().filter(|&above| above <= range.longest);
        // Of sizes that no case can have nothing is known.
        let agree = right - range.min + 1 >= LEAST
            && below.into_iter().all(|size| passes(size) != Some(false))
            && above.into_iter().all(|size| passes(size) != Some(true));
        (agree && self.agrees(range, right, wrong)).then_some(right)
    }

    /// The number of whose multiples the output is correct, and wrong for the values between them, among them `wrong`.
    fn multiples(&self, range: &SizeRange, wrong: i64) -> Option<i64> {
        let passes = |value: i64| self.passes(&range.name, value);
        let is_small = |step: &i64| 3 * *step * self.elements as i64 <= FEW_ELEMENTS as i64 * wrong;
        let whole = |step: &i64| (1..=3).all(|n| passes(n * step) == Some(true));
        let step = STEPS.into_iter().take_while(is_small).find(whole)?;
        let between = [step / 2, step - 1, step + 1, step + step / 2, 2 * step - 1, 3 * step + 1];
        let agree = between.into_iter().all(|size| passes(size) == Some(false));
        (agree && self.agrees(range, step, step + 1)).then_some(step)
    }

    /// Whether other data agree: what depends on them has no border, or another one with other data.
    fn agrees(&self, range: &SizeRange, right: i64, wrong: i64) -> bool {
        let passes = |value, nth| self.passes_with(&range.name, value, nth);
        (1..=OTHER_DATA)
            .all(|nth| passes(right, nth) == Some(true) && passes(wrong, nth) == Some(false))
    }

    /// Whether the output is correct where a size is another one, and all else is as it is; `None` if no such case can be run.
    fn passes(&self, size: &str, value: i64) -> Option<bool> {
        self.passes_with(size, value, 0)
    }

    /// [`Self::passes`] with the `nth` data.
    fn passes_with(&self, size: &str, value: i64, nth: u64) -> Option<bool> {
        self.left.set(self.left.get().checked_sub(1)?);
        let case = self.others.resized(self.case, (self.flavour, nth), size, value)?;
        let (_, verdict) = grade::run_and_judge(self.backend, &case).ok()?;
        let is_it = |diff: &TensorDiff| diff.tensor.name == self.name;
        if verdict.passed() {
            return Some(true);
        }
        // What fails in another way belongs to neither side.
        verdict.diffs.iter().any(is_it).then_some(false)
    }
}

/// The threads of a block.
fn threads(launch: &CaseLaunch) -> i64 {
    launch.block.iter().map(|&size| i64::from(size)).product()
}
