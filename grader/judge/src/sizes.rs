//! For which sizes is a program correct? Room for so many elements, or a loop for so many threads, shows as a border between sizes; it is
//! found by bisection, and said where all sizes that are tried on both sides of it agree. A rest that is left out shows as multiples; what
//! a kernel does not ask for, such as a padding, as the least value of a size.

use crate::grade;
use crate::other_cases::OtherCases;
use crate::verdict::{CorrectSizes, LeastSizes, SizeLimit, TensorDiff, TestVerdict};
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
/// A program that is correct for fewer sizes than that has no room for so many, unless for the least alone.
const LEAST: i64 = 4;
/// Groups of sizes of which each makes the output correct by its least value: of more none says what is wrong.
const MOST_GROUPS: usize = 2;

/// Adds to a failing verdict for which sizes the program computes the output correctly, if it has no other cause.
pub(crate) fn explain(
    backend: &dyn Backend,
    others: &OtherCases<'_>,
    case: &Case,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let elements = case.elements();
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

impl<'s> Search<'_, 's> {
    /// Whether the output is wrong with these data, too, at the sizes of the case.
    fn fails(&self) -> bool {
        !self.others.ranges().is_empty() && self.passes(&[]) == Some(false)
    }

    fn limit(&self) -> Option<SizeLimit> {
        let value = |range: &'s SizeRange| Some((range, *self.case.dims.get(&range.name)?));
        let ranges: Vec<(&SizeRange, i64)> =
            self.others.ranges().iter().map(value).collect::<Option<_>>()?;
        let (mut least, mut others) = (Vec::new(), Vec::new());
        for (range, value) in ranges {
            if value == range.min || self.passes(&[(&range.name, range.min)]) != Some(true) {
                others.push((range, value));
                continue;
            }
            match self.border(range, value)? {
                right if right == range.min => least.push(vec![range]),
                right if self.is_clear(range, right) => {
                    let near = |threads: &i64| [right, right + 1].contains(threads);
                    return Some(self.of(CorrectSizes::UpTo {
                        size: range.name.clone(),
                        largest: right,
                        threads: self.case.launches.iter().map(threads).find(near),
                    }));
                }
                _ => {}
            }
        }
        if least.is_empty() {
            least = pairs(&others);
            least.retain(|pair| self.passes(&at_least(pair)) == Some(true));
        }
        if (1..=MOST_GROUPS).contains(&least.len()) && least.iter().all(|g| self.is_all_of(g)) {
            let group = |sizes: Vec<&SizeRange>| LeastSizes {
                value: sizes[0].min,
                sizes: sizes.into_iter().map(|range| range.name.clone()).collect(),
            };
            return Some(self.of(CorrectSizes::Least(least.into_iter().map(group).collect())));
        }
        others.into_iter().find_map(|(range, value)| {
            let step = self.multiples(range, value)?;
            Some(self.of(CorrectSizes::MultiplesOf { size: range.name.clone(), step }))
        })
    }

    fn of(&self, correct: CorrectSizes) -> SizeLimit {
        SizeLimit { correct, tried: TRIES - self.left.get() }
    }

    /// A value of a size for which the output is correct, and wrong for the next one; it is correct for the least, and wrong for `wrong`.
    fn border(&self, range: &SizeRange, mut wrong: i64) -> Option<i64> {
        let mut right = range.min;
        while wrong - right > 1 {
            let middle = right + (wrong - right) / 2;
            *(if self.passes(&[(&range.name, middle)])? { &mut right } else { &mut wrong }) =
                middle;
        }
        Some(right)
    }

    /// Whether all sizes up to `right` are correct and all beyond are wrong, of some that are tried.
    fn is_clear(&self, range: &SizeRange, right: i64) -> bool {
        let (passes, wrong) = (|value: i64| self.passes(&[(&range.name, value)]), right + 1);
        let below = [right - 1, right - 2, right - 3, right / 2, right / 2 - 1, right / 3];
        let below = below.into_iter().filter(|&below| below > range.min);
        let above = [wrong + 1, wrong + 2, wrong + 3, wrong + wrong / 2, wrong + wrong / 3];
        let above = above.into_iter().filter(|&above| above <= range.longest);
        // Of sizes that no case can have nothing is known.
        right - range.min + 1 >= LEAST
            && below.into_iter().all(|size| passes(size) != Some(false))
            && above.into_iter().all(|size| passes(size) != Some(true))
            && self.agrees(range, right, wrong)
    }

    /// Whether the least values of these sizes decide: with other data, too, and however large another size is, the output is correct
    /// where all have them, and wrong where one is larger.
    fn is_all_of(&self, group: &[&SizeRange]) -> bool {
        let least = at_least(group);
        let larger: Vec<Option<bool>> = group
            .iter()
            .map(|range| self.passes(&with(&least, (&range.name, range.min + 1))))
            .collect();
        let other = |range: &SizeRange| {
            let value = 2 * self.case.dims.get(&range.name)? + 1;
            let is_other = !group.iter().any(|own| own.name == range.name);
            (is_other && value <= range.longest)
                .then(|| self.passes(&with(&least, (&range.name, value))))
                .flatten()
        };
        larger.contains(&Some(false))
            && !larger.contains(&Some(true))
            && self.others.ranges().iter().filter_map(other).all(|passes| passes)
            && (1..=OTHER_DATA).all(|nth| {
                self.passes_with(&least, nth) == Some(true)
                    && self.passes_with(&[], nth) == Some(false)
            })
    }

    /// The number of whose multiples the output is correct, and wrong for the values between them, among them `wrong`.
    fn multiples(&self, range: &SizeRange, wrong: i64) -> Option<i64> {
        let passes = |value: i64| self.passes(&[(&range.name, value)]);
        let is_small = |step: &i64| 3 * *step * self.elements as i64 <= FEW_ELEMENTS as i64 * wrong;
        let whole = |step: &i64| (1..=3).all(|n| passes(n * step) == Some(true));
        let step = STEPS.into_iter().take_while(is_small).find(whole)?;
        let between = [step / 2, step - 1, step + 1, step + step / 2, 2 * step - 1, 3 * step + 1];
        let agree = between.into_iter().all(|size| passes(size) == Some(false));
        (agree && self.agrees(range, step, step + 1)).then_some(step)
    }

    /// Whether other data agree: what depends on them has no border, or another one with other data.
    fn agrees(&self, range: &SizeRange, right: i64, wrong: i64) -> bool {
        let passes = |value, nth| self.passes_with(&[(&range.name, value)], nth);
        (1..=OTHER_DATA)
            .all(|nth| passes(right, nth) == Some(true) && passes(wrong, nth) == Some(false))
    }

    /// Whether the output is correct where some sizes are other ones, and all else is as it is; `None` if no such case can be run.
    fn passes(&self, changes: &[(&str, i64)]) -> Option<bool> {
        self.passes_with(changes, 0)
    }

    /// [`Self::passes`] with the `nth` data.
    fn passes_with(&self, changes: &[(&str, i64)], nth: u64) -> Option<bool> {
        self.left.set(self.left.get().checked_sub(1)?);
        let case = self.others.resized(self.case, (self.flavour, nth), changes)?;
        let (_, verdict) = grade::run_and_judge(self.backend, &case).ok()?;
        let is_it = |diff: &TensorDiff| diff.tensor.name == self.name;
        if verdict.passed() {
            return Some(true);
        }
        // What fails in another way belongs to neither side.
        verdict.diffs.iter().any(is_it).then_some(false)
    }
}

/// The pairs of sizes of the same name but for its axis, of which both are larger than they must be.
fn pairs<'r>(ranges: &[(&'r SizeRange, i64)]) -> Vec<Vec<&'r SizeRange>> {
    let larger = || ranges.iter().filter(|(range, value)| *value > range.min).map(|found| found.0);
    let other = |range: &SizeRange| Some(format!("{}_w", range.name.strip_suffix("_h")?));
    let of = |range: &'r SizeRange| {
        let other = other(range)?;
        let found = larger().find(|found| found.name == other && found.min == range.min)?;
        Some(vec![range, found])
    };
    larger().filter_map(of).collect()
}

/// These sizes, but for one with another value.
fn with<'r>(sizes: &[(&'r str, i64)], change: (&'r str, i64)) -> Vec<(&'r str, i64)> {
    let others = sizes.iter().copied().filter(|(size, _)| *size != change.0);
    others.chain([change]).collect()
}

/// These sizes with their least values.
fn at_least<'r>(group: &[&'r SizeRange]) -> Vec<(&'r str, i64)> {
    group.iter().map(|range| (range.name.as_str(), range.min)).collect()
}

/// The threads of a block.
fn threads(launch: &CaseLaunch) -> i64 {
    launch.block.iter().map(|&size| i64::from(size)).product()
}
