//! Which value on the way to a wrong element is wrong? Found by putting in the place of each value that the kernel computed what
//! the formula gives for each of its parts: where the element is as expected then, this value was the mistake. It is believed where
//! the same part and the same line explain other elements and other data too.

use crate::expansion::{ElementTerms, Row, RowKind};
use crate::formula_variant::formula;
use crate::grade::Program;
use crate::subject::{Subject, Wrong, wrong_elements};
use crate::trials::{Trial, Trials};
use crate::verdict::{PartKind, TestVerdict, WrongPart};
use cpptext::statements::is_head;
use device::finding::SourceLoc;
use device::provenance::Factor;
use device::vm::expansion::{ComputedStep, Effort, ReplacedValue, RoundedOnTheWay};
use indexmath::{Approx, PartValue, parts};
use std::rc::Rc;

/// Further elements of the case that are looked at.
const MORE_ELEMENTS: usize = 2;
/// Further cases that are looked at.
const MORE_CASES: usize = 2;
/// Cases that are tried for them.
const MOST_TRIED: usize = 5;
/// An element is right with another value on the way where no more than this part of its error is left, nor more than its bound.
const LEFT: f64 = 0.1;
/// The same, where the element must be right without a rounding.
const SLIGHT: f64 = 0.5;
/// So near to a whole number a part may be it, but for rounding.
const NEUTRAL: f64 = 1e-6;
/// Parts that are looked at more closely.
const MOST_SUSPECTS: usize = 4;

/// A part that explains an element, and the value that was wrong.
struct Suspect {
    part: PartValue,
    got: f64,
    line: Option<SourceLoc>,
    /// It should have been 0, 1 or -1 wherever it was seen: any factor or term too many looks like it.
    neutral: bool,
}

impl Suspect {
    /// The same part, computed at the line of the other, as far as that is known.
    fn confirms(&self, other: &Self) -> bool {
        self.part.text == other.part.text && (self.line.is_none() || self.line == other.line)
    }
}

/// Adds to a failing verdict the part of the formula that the kernel computed wrongly, if there is one and other data confirm it.
pub(crate) fn explain(
    subject: &Subject<'_>,
    program: &Program,
    trials: &Trials<'_, '_>,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let name = &verdict.diffs[at].tensor.name;
    let elements = |tells| wrong_elements(subject, &verdict, name, tells);
    let search = |closed| wrong_part(&elements(f64::is_finite), trials, closed);
    let rounded = || rounding(&elements(|_| true), trials);
    let taken = || not_finite(&elements(f64::is_nan));
    let overflow = || overflow(&elements(|got| !got.is_finite()));
    let digits = || lost_digits(&elements(f64::is_finite), trials);
    let mut found = rounded()
        .or_else(taken)
        .or_else(overflow)
        .or_else(digits)
        .or_else(|| search(true))
        .or_else(|| search(false));
    // The head of a loop computes no such value: the compiler moved it there.
    let source = &program.compiled.source.text;
    if let Some(part) = &mut found {
        part.line = part.line.take().filter(|line| !is_head(source, line.line));
    }
    let compared = verdict.diffs[at].terms.compared.as_ref();
    verdict.diffs[at].part =
        found.filter(|part| !compared.is_some_and(|terms| is_beside(part, terms)));
    verdict
}

/// Whether all terms of a part are right, and wrong ones stand beside it: a running sum holds them, too, and its value is then no mistake of
/// the part.
fn is_beside(part: &WrongPart, terms: &ElementTerms) -> bool {
    let mut wrong = terms.rows.iter().filter(|row| row.kind != RowKind::Correct).peekable();
    let names = |text: &str| -> Vec<String> {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        text.split(|c| !is_of_name(c)).map(str::to_owned).collect()
    };
    let of_part = names(&part.text);
    let is_outside = |row: &Row| {
        let is_other = |factor: &Factor| match factor {
            Factor::Element(element) => !of_part.contains(&element.tensor),
            _ => false,
        };
        !row.factors.is_empty() && row.factors.iter().all(is_other)
    };
    part.kind == PartKind::Value && wrong.peek().is_some() && wrong.all(is_outside)
}

/// The rounding that alone makes elements wrong, in other cases too.
fn rounding(elements: &[Wrong<'_, '_>], trials: &Trials<'_, '_>) -> Option<WrongPart> {
    let &Wrong { subject: &Subject { vm, case, .. }, name, .. } = elements.first()?;
    let found = roundings_of(elements);
    let (first, more) = found.split_first()?;
    let alike = |all: &[RoundedOnTheWay]| all.iter().filter(|other| other.to == first.to).count();
    let mut cases = 0;
    for trial in trials.iter().take(3 * MOST_TRIED) {
        let Some(seen) = trial.verdict() else { continue };
        let other = Subject::new(vm, &trial.case);
        let mut wrong = wrong_elements(&other, seen, name, |_| true);
        // At the same sizes the same block computes an element.
        let known = elements.iter().find(|wrong| wrong.block.is_some());
        if let Some(known) = known.filter(|_| trial.case.dims == case.dims) {
            for wrong in wrong.iter_mut().filter(|wrong| wrong.place == known.place) {
                wrong.block = known.block;
            }
            wrong.sort_by_key(|wrong| wrong.block.is_none());
        }
        cases += alike(&roundings_of(&wrong)).min(1);
        if cases == MORE_CASES {
            break;
        }
    }
    let text = match first.to {
        to if to.starts_with("f16") => "half precision",
        to if to.starts_with("bf16") => "bfloat16",
        _ => "a whole number",
    };
    let ((expected, got), line) = (first.values, first.loc.clone());
    let (text, confirmed) = (text.to_owned(), alike(more) + cases);
    (cases > 0).then_some(WrongPart {
        text,
        expected,
        got,
        line,
        confirmed,
        kind: PartKind::Rounding,
    })
}

/// The one element that is NaN or infinite and makes another one NaN, which would be right without it.
fn not_finite(elements: &[Wrong<'_, '_>]) -> Option<WrongPart> {
    let first = elements.first()?;
    let case = first.subject.case;
    let expected = case.expected(first.name)?.get(first.place.flat)?;
    let followed = first.follow(Effort::MORE)?;
    let is_right = |value: f64| (value - expected.value).abs() <= expected.bound;
    let found = followed.not_finite(case, first.place, first.got, &is_right);
    let [(element, value)] = &found[..] else { return None };
    Some(WrongPart {
        text: element.clone(),
        expected: 0.0,
        got: *value,
        line: None,
        confirmed: 0,
        kind: PartKind::NotFinite,
    })
}

/// The first value on the way to an element that should be finite and is not, which is computed from values that are; or the first NaN.
fn overflow(elements: &[Wrong<'_, '_>]) -> Option<WrongPart> {
    let first = elements.first()?;
    let case = first.subject.case;
    let expected = case.expected(first.name)?.get(first.place.flat)?;
    // Where an infinity is right, only NaN is not.
    let is_right: fn(f64) -> bool = match expected.value {
        value if value.is_finite() => f64::is_finite,
        value if value.is_infinite() && first.got.is_nan() => |value| !value.is_nan(),
        _ => return None,
    };
    let step = first.follow(Effort::MORE)?.first_without(case, first.place, first.got, is_right)?;
    let kind = PartKind::Overflow(step.operands);
    Some(WrongPart { confirmed: 0, ..part_of(step, kind) })
}

/// The line whose results have lost the digits that make elements wrong: all that are looked at, or, where there is only one, some of
/// other cases.
fn lost_digits(elements: &[Wrong<'_, '_>], trials: &Trials<'_, '_>) -> Option<WrongPart> {
    let of = |wrong: &Wrong<'_, '_>| {
        let case = wrong.subject.case;
        let expected = case.expected(wrong.name)?.get(wrong.place.flat)?;
        let is_right = |value: f64| (value - expected.value).abs() <= expected.bound;
        let followed = wrong.follow(Effort::MORE)?;
        followed.loses_digits(case, wrong.place, wrong.got, &is_right)
    };
    let (first, more) = elements.split_first()?;
    let step = of(first)?;
    let more: Vec<Option<ComputedStep>> = more.iter().take(MORE_ELEMENTS).map(of).collect();
    let agrees = |other: &Option<ComputedStep>| {
        other
            .as_ref()
            .is_some_and(|other| (other.operation, &other.loc) == (step.operation, &step.loc))
    };
    let in_cases = || {
        let of_trial = |trial: Rc<Trial<'_>>| {
            let other = Subject::new(first.subject.vm, &trial.case);
            let wrong = wrong_elements(&other, trial.verdict()?, first.name, f64::is_finite);
            wrong.first().map(of)
        };
        trials.iter().take(3 * MOST_TRIED).filter_map(of_trial).take(MORE_CASES).collect()
    };
    let more = if more.is_empty() { in_cases() } else { more };
    let confirmed = more.len();
    let holds = confirmed > 0 && more.iter().all(agrees);
    let kind = PartKind::LostDigits(step.operands);
    holds.then(|| WrongPart { confirmed, ..part_of(step, kind) })
}

fn part_of(step: ComputedStep, kind: PartKind) -> WrongPart {
    let ComputedStep { operation, value, exact, loc, .. } = step;
    let text = operation.to_owned();
    WrongPart { text, expected: exact, got: value, line: loc, confirmed: 0, kind }
}

/// Of the first wrong elements of a case that are far from right: the first rounding without which each would be right.
fn roundings_of(wrong: &[Wrong<'_, '_>]) -> Vec<RoundedOnTheWay> {
    let clear = wrong.iter().filter_map(|wrong| {
        let expected = wrong.subject.case.expected(wrong.name)?.get(wrong.place.flat)?;
        let error = (wrong.got - expected.value).abs();
        let is_clear = error.is_nan() || expected.bound <= SLIGHT * error;
        is_clear.then_some((wrong, expected))
    });
    let clear: Vec<_> = clear.take(1 + MORE_ELEMENTS).collect();
    let followed = clear.first().and_then(|(first, _)| first.follow(Effort::MORE));
    let Some(followed) = followed else { return Vec::new() };
    let of = |(wrong, expected): (&Wrong<'_, '_>, &Approx)| {
        let is_right = |value: f64| (value - expected.value).abs() <= expected.bound;
        let mut all = followed.roundings(wrong.subject.case, wrong.place, wrong.got, &is_right);
        let first = all.first()?.loc.clone();
        let same = all.iter().all(|other| other.loc == first);
        let mut first = all.swap_remove(0);
        first.loc = first.loc.filter(|_| same);
        Some(first)
    };
    clear.into_iter().filter_map(of).collect()
}

fn wrong_part(
    elements: &[Wrong<'_, '_>],
    trials: &Trials<'_, '_>,
    closed: bool,
) -> Option<WrongPart> {
    let (first, more) = elements.split_first()?;
    let mut suspects = suspects(first, closed)?;
    suspects.truncate(MOST_SUSPECTS);
    let keep = |left: &mut Vec<Suspect>, wrong: &Wrong<'_, '_>| {
        let Some(there) = self::suspects(wrong, closed) else { return 0 };
        left.retain_mut(|suspect| {
            let other = there.iter().find(|other| other.confirms(suspect));
            suspect.neutral &= other.is_none_or(|other| other.neutral);
            other.is_some()
        });
        1
    };
    let mut confirmed = 0;
    for wrong in more.iter().take(MORE_ELEMENTS) {
        confirmed += keep(&mut suspects, wrong);
    }
    let mut cases = 0;
    for trial in trials.iter().take(MOST_TRIED) {
        if suspects.is_empty() || cases == MORE_CASES {
            break;
        }
        let Some(seen) = trial.verdict() else { continue };
        let other = Subject::new(first.subject.vm, &trial.case);
        let elements = wrong_elements(&other, seen, first.name, f64::is_finite);
        cases += elements.last().map_or(0, |wrong| keep(&mut suspects, wrong));
    }
    let told = suspects.into_iter().find(|suspect| !suspect.neutral);
    let Suspect { part, got, line, .. } = told.filter(|_| cases > 0)?;
    confirmed += cases;
    let (text, expected) = (part.text, part.value);
    Some(WrongPart { text, expected, got, line, confirmed, kind: PartKind::Value })
}

/// The parts that explain an element, those first that others are computed from; `None` if its values could not be followed.
fn suspects(wrong: &Wrong<'_, '_>, closed: bool) -> Option<Vec<Suspect>> {
    let Wrong { subject: &Subject { case, .. }, name, place, got, .. } = *wrong;
    let formula = formula(case, name, closed)?;
    let expected = case.expected(name)?.get(place.flat)?;
    let error = (got - expected.value).abs();
    let known = case.known_for(name);
    let all = parts(formula, &known, name, place.flat);
    if all.is_empty() {
        return None;
    }
    let followed = wrong.follow(Effort::QUICK)?;
    // What is exact for a kernel is not so for the parts of the formula in f64.
    let slack = expected.bound.max(1e-6 * expected.value.abs());
    // Where rounding hides much of the error, any value might be as good.
    let slack = slack.min(LEFT * error);
    let is_right = |value: f64| (value - expected.value).abs() <= slack;
    let values: Vec<f64> = all.iter().map(|part| part.value).collect();
    let replaced = followed.replaceable(case, place, got, &values, &is_right);
    let of = |(part, replaced): (PartValue, Vec<ReplacedValue>)| {
        let first = replaced.first()?;
        // Of several values with the same effect it is not clear which is meant.
        let same = replaced.iter().all(|other| other.loc == first.loc);
        let neutral = [-1.0, 0.0, 1.0].iter().any(|whole| (part.value - whole).abs() <= NEUTRAL);
        Some(Suspect { got: first.value, line: first.loc.clone().filter(|_| same), part, neutral })
    };
    Some(all.into_iter().zip(replaced).filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::Clue;
    use device::finding::ThreadId;
    use indexmath::ElementRef;

    fn row(tensor: &str, kind: RowKind) -> Row {
        let element = ElementRef { tensor: tensor.to_owned(), coords: vec![0] };
        Row {
            factors: vec![Factor::Element(element)],
            kind,
            formula: 1.0,
            kernel: 1.0,
            value: Some(1.0),
            indices: Vec::new(),
            line: None,
        }
    }

    fn terms(rows: Vec<Row>) -> ElementTerms {
        let clue = Clue::Added;
        let writer = ThreadId { block: [0; 3], thread: [0; 3] };
        ElementTerms {
            rows,
            line: None,
            clue,
            between_threads: false,
            writer,
            general: true,
            belongs_to: None,
        }
    }

    #[test]
    fn a_sum_that_a_wrong_term_was_added_to_as_well_is_no_wrong_part() {
        let part = WrongPart {
            text: "sum[k] x[k] * w[k]".to_owned(),
            expected: 61.0,
            got: 161.0,
            line: None,
            confirmed: 2,
            kind: PartKind::Value,
        };
        let bias = || row("b", RowKind::Repeated);
        let right = || row("x", RowKind::Correct);
        assert!(is_beside(&part, &terms(vec![bias(), right()])));
        assert!(!is_beside(&part, &terms(vec![bias(), row("x", RowKind::Missing)])));
        assert!(!is_beside(&part, &terms(vec![right()])), "nothing else is wrong");
        let rounded = WrongPart { kind: PartKind::Rounding, ..part };
        assert!(!is_beside(&rounded, &terms(vec![bias(), right()])));
    }
}
