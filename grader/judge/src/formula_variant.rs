//! Which wrong formula gives exactly what the kernel computed? Found with the data of the failing test, and believed once the
//! kernel has run with other data, and where the spec has such tests at other sizes, and gave the same wrong formula's values again.

use crate::judgement;
use crate::trials::{Trial, Trials};
use crate::verdict::{Cause, FormulaVariant, TestVerdict};
use device::backend::Run;
use indexmath::{
    Approx, Fit, Observation, SizedFormula, Values, Variant, compare_variants, search_variants,
};
use puzzle::case::{Case, CaseLaunch, last_launch_with};
use puzzle::comparison::is_within_bound;
use std::borrow::Cow;

/// After so many cases a single variant is believed. Several that fit all of them go through the others: sizes that were equal by
/// chance differ there.
const ENOUGH: usize = 16;
/// The same where host code runs in a process of its own each time.
const ENOUGH_ON_HOST: usize = 6;
/// Where more variants than this fit all cases, the data tell too little.
const MOST: usize = 8;
/// Lanes of a warp.
const WARP: u32 = 32;
/// So few numbers may be the same in all cases.
const FEW: usize = 4;
/// So few different mistakes in whole numbers, such as a flag that is set and should not be, many formulas make.
const FEW_FLAGS: usize = 2;
/// So many runs tell a wrong constant from one of the many other reasons why a whole number stands for another.
const MANY: usize = 5;
/// A factor may be a size that is so near to it, as a part of it.
const NEAR: f64 = 1e-4;

/// Adds to a failing verdict the variant of the formula that the kernel computes, if there is one and further runs confirm it.
pub(crate) fn explain(
    trials: &Trials<'_, '_>,
    case: &Case,
    run: &Run,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    // A formula that gives what was there before says less.
    if verdict.diffs[at].cause == Some(Cause::Unchanged) {
        return verdict;
    }
    let name = verdict.diffs[at].tensor.name.clone();
    let Some(seen) = Seen::of(case, run, &name) else { return verdict };
    // The form that a person would write explains best.
    for closed in [true, false] {
        let Some(formula) = formula(case, &name, closed) else { continue };
        let fitting = search_variants(&seen.observation(formula));
        let search = Search { trials, case, closed, enough: ENOUGH };
        let variant = search.confirmed(&seen, fitting, &Results { name: &name, right: &[] });
        if variant.is_some() {
            verdict.diffs[at].variant = variant;
            break;
        }
    }
    if let Some(Cause::Factor { factor, size }) = &mut verdict.diffs[at].cause {
        *size = size_of_factor(trials, case, &name, *factor);
    }
    verdict
}

/// The wrong formula that gives an output of host code, if the steps `right` are as they should be: from there the formula is cheap, and
/// what is wrong comes after that.
pub(crate) fn from_steps(
    trials: &Trials<'_, '_>,
    (case, run): (&Case, &Run),
    name: &str,
    right: &[String],
) -> Option<FormulaVariant> {
    // Of whole numbers so few runs tell too little.
    let seen = Seen::from_steps(case, run, name, right).filter(|seen| !seen.is_whole)?;
    search_on_host(trials, case, &seen, &Results { name, right })
}

/// The wrong formula that gives what was seen of host code, where `look` sees the same in further runs.
pub(crate) fn search_on_host(
    trials: &Trials<'_, '_>,
    case: &Case,
    seen: &Seen<'_>,
    look: &dyn Look,
) -> Option<FormulaVariant> {
    let fitting = search_variants(&seen.observation(&case.formula));
    let search = Search { trials, case, closed: false, enough: ENOUGH_ON_HOST };
    search.confirmed(seen, fitting, look)
}

/// The only size of a case that `factor` is, or its inverse, if it follows that size in another case.
fn size_of_factor(trials: &Trials<'_, '_>, case: &Case, name: &str, factor: f64) -> Option<String> {
    let is = |size: i64, factor: f64| {
        let size = size as f64;
        [size, size.recip()].iter().any(|s| (factor - s).abs() <= NEAR * s)
    };
    let mut sizes: Vec<&String> = case
        .dims
        .iter()
        .filter(|(_, size)| **size > 1 && is(**size, factor))
        .map(|d| d.0)
        .collect();
    let mut followed = false;
    for trial in trials.iter() {
        if sizes.is_empty() {
            break;
        }
        let Some((run, verdict)) = trial.run().zip(trial.verdict()) else { continue };
        let other = &*trial.case;
        let verdict = judgement::with_causes(verdict.clone(), other, run);
        let diff = verdict.diffs.iter().find(|diff| diff.tensor.name == name);
        let factor = match diff.map(|diff| &diff.cause) {
            None => 1.0,
            Some(Some(Cause::Factor { factor, .. })) => *factor,
            Some(_) => continue,
        };
        sizes.retain(|name| other.dims.get(*name).is_some_and(|size| is(*size, factor)));
        followed |= sizes.iter().all(|name| other.dims.get(*name) != case.dims.get(*name));
    }
    match sizes[..] {
        [size] if followed => Some(size.clone()),
        _ => None,
    }
}

/// The formula of a tensor, as the spec states it in closed form or as it is derived.
pub(crate) fn formula<'a>(case: &'a Case, name: &str, closed: bool) -> Option<&'a SizedFormula> {
    if !closed {
        return Some(&case.formula);
    }
    let (formula, states) = case.closed.as_ref()?;
    states.iter().any(|stated| stated == name).then_some(formula)
}

/// Where variants that fit one case are tried.
struct Search<'a, 's, 't> {
    trials: &'t Trials<'a, 's>,
    case: &'t Case,
    /// Whether the formula is the one in closed form.
    closed: bool,
    /// After so many cases a single variant is believed.
    enough: usize,
}

impl Search<'_, '_, '_> {
    /// The simplest of the variants that fit in further runs too, where `look` sees the same tensor.
    fn confirmed(
        &self,
        first: &Seen<'_>,
        mut fitting: Vec<Variant>,
        look: &dyn Look,
    ) -> Option<FormulaVariant> {
        let &Search { trials, case, closed, enough } = self;
        let (name, mut confirmed, mut other_sizes) = (&*first.name, 0, false);
        let mut same = first.only_number();
        let mut is_one_mistake = first.is_whole && first.mistakes() <= 1;
        let is_telling = first.mistakes() > if first.is_whole { FEW_FLAGS } else { 1 };
        if fitting.is_empty() {
            return None;
        }
        for (at, trial) in trials.iter().enumerate() {
            if at >= enough && fitting.len() < 2 && confirmed > 0 {
                break;
            }
            let other = &*trial.case;
            let Some(seen) = look.see(&trial) else { continue };
            let Some(formula) = formula(other, name, closed) else { continue };
            let fits = compare_variants(&fitting, &seen.observation(formula));
            // What comes out the same again, with the same results to come out, is seen once; and few different mistakes tell little.
            let explains = fits.contains(&Fit::Explains) && (is_telling || seen.differs(first));
            confirmed += usize::from(explains);
            if explains && seen.only_number() != same {
                same = None;
            }
            is_one_mistake &= !explains || seen.mistake() == first.mistake();
            other_sizes |= explains && other.dims != case.dims;
            // Enough runs agree; the others only tell variants apart, and what underflows in them may contradict all. So may a NaN: what a
            // kernel makes of it follows from its comparisons, and not from the slip.
            let tells_apart = || (at >= enough && confirmed > 0) || seen.has_nan();
            if fits.iter().all(|fit| *fit == Fit::Contradicts) && tells_apart() {
                continue;
            }
            let mut fits = fits.into_iter();
            fitting.retain(|_| fits.next() != Some(Fit::Contradicts));
            if fitting.is_empty() {
                return None;
            }
        }
        // Whoever stores the same number always computes no formula.
        let is_clear = confirmed > 0 && same.is_none() && fitting.len() <= MOST;
        let (simplest, rest) = fitting.split_first().filter(|_| is_clear)?;
        // That one number stands for another is known, and not where it comes from, unless many runs agree.
        if is_one_mistake && confirmed < MANY && simplest.says.starts_with("the constant ") {
            return None;
        }
        // Of two numbers that would do, neither is known.
        let mut as_simple = rest.iter().filter(|other| other.rank == simplest.rank);
        if as_simple.any(|other| differ_by_a_number(&simplest.says, &other.says)) {
            return None;
        }
        // A single number, such as a flag, can come out so in many ways: that it does is known, and not how.
        let simple: Vec<&str> = fitting
            .iter()
            .filter(|other| other.rank == simplest.rank)
            .map(|other| other.says.as_str())
            .collect();
        let says = match number_changed_by(&simple, case) {
            Some(number) => format!("`{number}` comes out wrong"),
            // Flags come out the same after many changes of what is compared.
            None if first.is_flags() && !rest.is_empty() => return None,
            None => {
                let others: Vec<&str> = fitting.iter().map(|other| other.says.as_str()).collect();
                or_reversed(&without_term(&simplest.says, &others), &others)
            }
        };
        Some(FormulaVariant { says, confirmed, other_sizes })
    }
}

/// The part without axes that several variants all change, in ways of their own.
fn number_changed_by<'v>(variants: &[&'v str], case: &Case) -> Option<&'v str> {
    let part = |says: &'v str| {
        let says = says.split_once(", in the term ").map_or(says, |(says, _)| says);
        says.rsplit_once(" in `")?.1.strip_suffix('`')
    };
    let (first, others) = variants.split_first()?;
    let number = part(first).filter(|part| case.formula.shape(part) == Some(&[]))?;
    let all_there = others.iter().all(|other| part(other) == Some(number));
    (!others.is_empty() && all_there).then_some(number)
}

/// What a variant says; of a term with another sign, where it makes no difference that it is left out, that it is left out.
fn without_term(says: &str, fitting: &[&str]) -> String {
    let left_out = says.replace(" is added, not subtracted", " is not subtracted");
    if fitting.contains(&left_out.as_str()) { left_out } else { says.to_owned() }
}

/// What a variant says; of two reads that are taken for each other, that it may be either, where either makes the same difference: they
/// cancel each other.
fn or_reversed(says: &str, fitting: &[&str]) -> String {
    const PLACE: &str = " is read in the place of ";
    let parts = || {
        let (now, rest) = says.split_once(PLACE)?;
        let end = rest.strip_prefix('`')?.find('`')? + 2;
        let (correct, rest) = rest.split_at(end);
        let reversed = format!("{correct}{PLACE}{now}");
        let is_reversed = |other: &&str| -> bool {
            other.strip_prefix(&reversed).is_some_and(|rest| !rest.contains(", and "))
        };
        let both = format!("{now}{PLACE}{correct} (or the other way round){rest}");
        fitting.iter().any(is_reversed).then_some(both)
    };
    parts().unwrap_or_else(|| says.to_owned())
}

/// Whether two sentences are the same but for a number.
fn differ_by_a_number(a: &str, b: &str) -> bool {
    let text = |says: &str| -> String {
        let is_of_number = |c: &char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ' ');
        says.chars().filter(|c| !is_of_number(c)).collect()
    };
    a != b && text(a) == text(b)
}

/// The first output that is wrong and was not computed from a wrong one.
pub(crate) fn first_cause(case: &Case, verdict: &TestVerdict) -> Option<usize> {
    let from_wrong = |name: &str| {
        let sources = case.chained.get(name);
        sources.is_some_and(|all| verdict.diffs.iter().any(|diff| all.contains(&diff.tensor.name)))
    };
    verdict.diffs.iter().position(|diff| !from_wrong(&diff.tensor.name))
}

/// How a tensor is seen in further runs.
pub(crate) trait Look {
    /// What it is there; `None` if that run tells nothing of it.
    fn see<'t>(&self, trial: &'t Trial<'_>) -> Option<Seen<'t>>;
}

/// An output, as a run leaves it.
struct Results<'a> {
    name: &'a str,
    /// Steps that are taken as known.
    right: &'a [String],
}

impl Look for Results<'_> {
    fn see<'t>(&self, trial: &'t Trial<'_>) -> Option<Seen<'t>> {
        let run = trial.run().filter(|run| run.findings.is_empty())?;
        Seen::from_steps(&trial.case, run, self.name, self.right)
    }
}

/// A run's result for one tensor.
pub(crate) struct Seen<'a> {
    name: Cow<'a, str>,
    known: Cow<'a, Values>,
    got: Cow<'a, [f64]>,
    expected: Cow<'a, [Approx]>,
    /// Whether it is a tensor of whole numbers.
    is_whole: bool,
    constants: Vec<(String, i64)>,
}

impl<'a> Seen<'a> {
    /// `None` if the run left elements out.
    fn of(case: &'a Case, run: &'a Run, name: &str) -> Option<Self> {
        let index = case.output(name)?;
        let got = run.tensors.get(index)?;
        let (tensor, expected) = case.tensors[index].wanted()?;
        let is_whole = !tensor.dtype.is_float();
        if got.values.len() != expected.len() || got.written.contains(&false) {
            return None;
        }
        let constants = last_launch_with(&case.launches, index).map(constants).unwrap_or_default();
        let (got, expected) = (Cow::Borrowed(&got.values[..]), Cow::Borrowed(expected));
        let (known, name) = (case.known_for(name), Cow::Owned(name.to_owned()));
        Some(Self { name, known, got, expected, is_whole, constants })
    }

    /// The same, with some steps of the formula as known.
    fn from_steps(case: &'a Case, run: &'a Run, name: &str, right: &[String]) -> Option<Self> {
        let mut seen = Self::of(case, run, name)?;
        if !right.is_empty() {
            seen.known = Cow::Owned(with_steps(case, name, right)?);
        }
        Some(seen)
    }

    /// What a buffer holds in the place of a step of the formula, computed from `right`.
    pub fn of_step(case: &'a Case, name: &str, right: &[String], got: Vec<f64>) -> Option<Self> {
        let known = with_steps(case, name, right)?;
        let expected = case.formula.evaluate(&known, &[name]).ok()?.remove(name)?;
        if expected.len() != got.len() {
            return None;
        }
        let name = Cow::Owned(name.to_owned());
        let (got, expected) = (Cow::Owned(got), Cow::Owned(expected));
        Some(Self {
            name,
            known: Cow::Owned(known),
            got,
            expected,
            is_whole: false,
            constants: Vec::new(),
        })
    }

    /// Whether an input is NaN somewhere.
    fn has_nan(&self) -> bool {
        self.known.values().flatten().any(|value| value.is_nan())
    }

    /// Whether all elements are 0 or 1, and should be.
    fn is_flags(&self) -> bool {
        let is_flag = |value: f64| value == 0.0 || value == 1.0;
        let mut pairs = self.got.iter().zip(self.expected.iter());
        self.is_whole && pairs.all(|(&got, expected)| is_flag(got) && is_flag(expected.value))
    }

    /// The number that all elements are, of a few or of any number of flags and counts.
    fn only_number(&self) -> Option<u64> {
        let first = self.got.first().filter(|_| self.got.len() <= FEW || self.is_whole)?;
        (first.is_finite() && self.got.iter().all(|got| got == first)).then(|| first.to_bits())
    }

    /// The only pair of an expected and another value, if there is no other one.
    fn mistake(&self) -> Option<(u64, u64)> {
        let pairs = self.got.iter().zip(self.expected.iter());
        let mut wrong = pairs
            .filter(|(got, expected)| !is_within_bound(**got, expected))
            .map(|(got, expected)| (expected.value.to_bits(), got.to_bits()));
        let first = wrong.next()?;
        wrong.all(|other| other == first).then_some(first)
    }

    /// How many different pairs of an expected and another value there are, counted until they are more than few.
    fn mistakes(&self) -> usize {
        let mut found: Vec<(u64, u64)> = Vec::new();
        for (got, expected) in self.got.iter().zip(self.expected.iter()) {
            let pair = (expected.value.to_bits(), got.to_bits());
            if !is_within_bound(*got, expected) && !found.contains(&pair) {
                found.push(pair);
            }
            if found.len() > FEW_FLAGS {
                break;
            }
        }
        found.len()
    }

    /// Whether it should give other values than another run, or gives others.
    fn differs(&self, other: &Self) -> bool {
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let expected =
            |seen: &Self| seen.expected.iter().map(|e| e.value.to_bits()).collect::<Vec<_>>();
        bits(&self.got) != bits(&other.got) || expected(self) != expected(other)
    }

    fn observation<'s>(&'s self, formula: &'s SizedFormula) -> Observation<'s> {
        Observation {
            formula,
            known: &self.known,
            tensor: &self.name,
            got: &self.got,
            expected: &self.expected,
            constants: &self.constants,
        }
    }
}

/// The inputs of a formula for a tensor, and some of its steps.
fn with_steps(case: &Case, name: &str, steps: &[String]) -> Option<Values> {
    let mut known = case.known_for(name).into_owned();
    let names: Vec<&str> =
        steps.iter().map(String::as_str).filter(|step| !known.contains_key(*step)).collect();
    let computed = case.formula.evaluate(&known, &names).ok()?;
    let values = |of: Vec<Approx>| of.into_iter().map(|element| element.value).collect();
    known.extend(computed.into_iter().map(|(step, of)| (step, values(of))));
    Some(known)
}

/// The numbers of a launch that a kernel can confuse with sizes, or multiply with.
fn constants(launch: &CaseLaunch) -> Vec<(String, i64)> {
    let axes = |name: &str, sizes: [u32; 3]| {
        let named = ["x", "y", "z"].into_iter().zip(sizes);
        named.map(|(axis, size)| (format!("{name}.{axis}"), i64::from(size))).collect::<Vec<_>>()
    };
    let warps = ("blockDim.x / 32".to_owned(), i64::from(launch.block[0] / WARP));
    [axes("blockDim", launch.block), axes("gridDim", launch.grid), vec![warps]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_reads_that_cancel_each_other_either_may_be_the_wrong_one() {
        let says = "`b[i]` is read in the place of `a[i]` inside `sum[c]`";
        let reversed = "`a[i]` is read in the place of `b[i]` inside `sum[c]`";
        let both = "`b[i]` is read in the place of `a[i]` (or the other way round) inside `sum[c]`";
        assert_eq!(or_reversed(says, &[says, reversed]), both);
        assert_eq!(or_reversed(says, &[says]), says);
        let third = "`a[i]` is read in the place of `c[i]` inside `sum[c]`";
        assert_eq!(or_reversed(says, &[says, third]), says);
        assert_eq!(or_reversed("`a` is left out", &["`a` is left out"]), "`a` is left out");
    }

    #[test]
    fn of_two_numbers_neither_is_known() {
        let limit = |n: u32| format!("the maximum over `c` covers the first {n} elements only");
        assert!(differ_by_a_number(&limit(32), &limit(64)));
        assert!(!differ_by_a_number(&limit(32), &limit(32)), "the same in two places");
        assert!(!differ_by_a_number(&limit(32), "the sum over `c` starts at 1, not at 0"));
        let to = |text: &str| format!("the sum over `p` runs to {text} in place of `pool_h`");
        assert!(differ_by_a_number(&to("blockDim.x / 32 (8)"), &to("blockDim.x / 32 + 1 (9)")));
    }
}
