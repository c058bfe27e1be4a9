//! Which value on the way to a wrong element is wrong? Found by putting in the place of each value that the kernel computed what
//! the formula gives for each of its parts: where the element is as expected then, this value was the mistake. It is believed where
//! the same part and the same line explain other elements and other data too.

use crate::formula_variant::{first_cause, formula};
use crate::grade::{self, Machine, Program};
use crate::other_cases::OtherCases;
use crate::verdict::{Mismatch, PartKind, TestVerdict, WrongPart};
use cpptext::statements::is_head;
use device::finding::SourceLoc;
use device::provenance::Place;
use device::vm::VmBackend;
use device::vm::expansion::{Effort, Followed, ReplacedValue, RoundedOnTheWay};
use indexmath::{Approx, PartValue, parts};
use puzzle::case::Case;

/// Further elements of the case that are looked at.
const MORE_ELEMENTS: usize = 2;
/// Further cases that are looked at.
const MORE_CASES: usize = 2;
/// Cases that are tried for them.
const MOST_TRIED: usize = 5;
/// An element tells something where its bound is no larger than this part of its error.
const CLEAR: f64 = 1e-2;
/// The same, where the element must be right without a rounding.
const SLIGHT: f64 = 0.5;
/// So near to a whole number a part may be it, but for rounding.
const NEUTRAL: f64 = 1e-6;
/// Parts that are looked at more closely.
const MOST_SUSPECTS: usize = 4;

/// A wrong element of a run.
struct Wrong<'a> {
    case: &'a Case,
    name: &'a str,
    /// Its tensor in the case, and its position.
    place: Place,
    got: f64,
    /// Its block in the one launch that computes it, where that is known already.
    block: Option<[u32; 3]>,
}

impl Wrong<'_> {
    /// Its block in the one launch of the case.
    fn block(&self, vm: &VmBackend) -> Option<[u32; 3]> {
        self.block.or_else(|| {
            let writer = vm.last_writer(self.case, self.place.tensor, self.place.flat).ok()??;
            Some(writer.1.block)
        })
    }
}

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
/// The kernel runs on the virtual machine for this, wherever it ran before.
pub(crate) fn explain(
    machine: &Machine,
    program: &Program,
    others: &OtherCases<'_>,
    case: &Case,
    mut verdict: TestVerdict,
) -> TestVerdict {
    let own;
    let vm = match machine {
        Machine::Vm(vm) => vm,
        Machine::Gpu(_) => match program.virtual_machine() {
            Ok(vm) => {
                own = vm;
                &own
            }
            Err(_) => return verdict,
        },
        Machine::Host(_) => return verdict,
    };
    // What comes of a run with mistakes has no single cause.
    if !verdict.findings.is_empty() {
        return verdict;
    }
    let Some(at) = first_cause(case, &verdict) else { return verdict };
    let search = |closed| wrong_part(vm, others, case, &verdict, at, closed);
    let rounded = || rounding(vm, others, case, &verdict, at);
    let taken = || not_finite(vm, case, &verdict, at);
    let mut found = rounded().or_else(taken).or_else(|| search(true)).or_else(|| search(false));
    // The head of a loop computes no such value: the compiler moved it there.
    let source = &program.compiled.source.text;
    if let Some(part) = &mut found {
        part.line = part.line.take().filter(|line| !is_head(source, line.line));
    }
    verdict.diffs[at].part = found;
    verdict
}

/// The rounding that alone makes elements wrong, in other cases too.
fn rounding(
    vm: &VmBackend,
    others: &OtherCases<'_>,
    case: &Case,
    verdict: &TestVerdict,
    at: usize,
) -> Option<WrongPart> {
    let name = &verdict.diffs[at].tensor.name;
    let elements = wrong_elements(case, verdict, name, |_| true);
    let found = roundings_of(vm, &elements);
    let (first, more) = found.split_first()?;
    let alike = |all: &[RoundedOnTheWay]| all.iter().filter(|other| other.to == first.to).count();
    let mut cases = 0;
    for other in others.like(case, name).take(3 * MOST_TRIED) {
        let Ok((_, seen)) = grade::run_and_judge(vm, &other) else { continue };
        let mut wrong = wrong_elements(&other, &seen, name, |_| true);
        // At the same sizes the same block computes an element.
        let known = elements.iter().find(|wrong| wrong.block.is_some());
        if let Some(known) = known.filter(|_| other.dims == case.dims) {
            for wrong in wrong.iter_mut().filter(|wrong| wrong.place == known.place) {
                wrong.block = known.block;
            }
            wrong.sort_by_key(|wrong| wrong.block.is_none());
        }
        cases += alike(&roundings_of(vm, &wrong)).min(1);
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
fn not_finite(vm: &VmBackend, case: &Case, verdict: &TestVerdict, at: usize) -> Option<WrongPart> {
    let name = &verdict.diffs[at].tensor.name;
    let elements = wrong_elements(case, verdict, name, f64::is_nan);
    let first = elements.first()?;
    let expected = case.expected(name)?.get(first.place.flat)?;
    let followed = follow(vm, Effort::MORE, first)?;
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

/// Of the first wrong elements of a case that are far from right: the first rounding without which each would be right.
fn roundings_of(vm: &VmBackend, wrong: &[Wrong<'_>]) -> Vec<RoundedOnTheWay> {
    let clear = wrong.iter().filter_map(|wrong| {
        let expected = wrong.case.expected(wrong.name)?.get(wrong.place.flat)?;
        let error = (wrong.got - expected.value).abs();
        let is_clear = error.is_nan() || expected.bound <= SLIGHT * error;
        is_clear.then_some((wrong, expected))
    });
    let clear: Vec<_> = clear.take(1 + MORE_ELEMENTS).collect();
    let Some(followed) = clear.first().and_then(|(first, _)| follow(vm, Effort::MORE, first))
    else {
        return Vec::new();
    };
    let of = |(wrong, expected): (&Wrong<'_>, &Approx)| {
        let is_right = |value: f64| (value - expected.value).abs() <= expected.bound;
        let mut all = followed.roundings(wrong.case, wrong.place, wrong.got, &is_right);
        let first = all.first()?.loc.clone();
        let same = all.iter().all(|other| other.loc == first);
        let mut first = all.swap_remove(0);
        first.loc = first.loc.filter(|_| same);
        Some(first)
    };
    clear.into_iter().filter_map(of).collect()
}

fn wrong_part(
    vm: &VmBackend,
    others: &OtherCases<'_>,
    case: &Case,
    verdict: &TestVerdict,
    at: usize,
    closed: bool,
) -> Option<WrongPart> {
    let name = verdict.diffs[at].tensor.name.clone();
    let elements = wrong_elements(case, verdict, &name, f64::is_finite);
    let (first, more) = elements.split_first()?;
    let mut suspects = suspects(vm, first, closed)?;
    suspects.truncate(MOST_SUSPECTS);
    let keep = |left: &mut Vec<Suspect>, wrong: &Wrong<'_>| {
        let Some(there) = self::suspects(vm, wrong, closed) else { return 0 };
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
    for other in others.like(case, &name).take(MOST_TRIED) {
        if suspects.is_empty() || cases == MORE_CASES {
            break;
        }
        let Ok((_, seen)) = grade::run_and_judge(vm, &other) else { continue };
        let elements = wrong_elements(&other, &seen, &name, f64::is_finite);
        cases += elements.last().map_or(0, |wrong| keep(&mut suspects, wrong));
    }
    let told = suspects.into_iter().find(|suspect| !suspect.neutral);
    let Suspect { part, got, line, .. } = told.filter(|_| cases > 0)?;
    confirmed += cases;
    let (text, expected) = (part.text, part.value);
    Some(WrongPart { text, expected, got, line, confirmed, kind: PartKind::Value })
}

/// The wrong elements of an output of which `tells` holds, the one that the report shows first, and then far from each other.
fn wrong_elements<'a>(
    case: &'a Case,
    verdict: &TestVerdict,
    name: &'a str,
    tells: fn(f64) -> bool,
) -> Vec<Wrong<'a>> {
    let Some(diff) = verdict.diffs.iter().find(|diff| diff.tensor.name == name) else {
        return Vec::new();
    };
    let Some(tensor) =
        case.tensors.iter().position(|t| t.wanted().is_some_and(|(t, _)| t.name == name))
    else {
        return Vec::new();
    };
    let block = diff.terms.thread.as_ref().map(|thread| thread.id.block);
    let first = diff.terms.mismatch;
    let rest = diff.mismatches.iter().rev().filter(|m| m.flat != first.flat);
    let all = std::iter::once(&first).chain(rest).filter(|m| m.got.is_some_and(tells));
    let of = |(n, m): (usize, &Mismatch)| Wrong {
        case,
        name,
        place: Place { tensor, flat: m.flat },
        got: m.got.unwrap_or(f64::NAN),
        block: block.filter(|_| n == 0),
    };
    all.enumerate().map(of).collect()
}

fn follow<'a>(vm: &'a VmBackend, effort: Effort, wrong: &'a Wrong<'_>) -> Option<Followed<'a>> {
    if let Some(followed) = vm.follow(wrong.case, Effort::QUICK, None).ok()? {
        return Some(followed);
    }
    // What another launch computed is known only where all of its blocks were followed.
    if wrong.case.launches.len() > 1
        && let Some(followed) = vm.follow(wrong.case, effort, None).ok()?
    {
        return Some(followed);
    }
    vm.follow(wrong.case, effort, Some(wrong.block(vm)?)).ok()?
}

/// The parts that explain an element, those first that others are computed from; `None` if its values could not be followed.
fn suspects(vm: &VmBackend, wrong: &Wrong<'_>, closed: bool) -> Option<Vec<Suspect>> {
    let Wrong { case, name, place, got, .. } = *wrong;
    let formula = formula(case, name, closed)?;
    let expected = case.expected(name)?.get(place.flat)?;
    // Where rounding hides much of the error, any value might be as good.
    let error = (got - expected.value).abs();
    let is_clear = expected.bound <= CLEAR * error;
    if !is_clear {
        return None;
    }
    let known = case.known_for(name);
    let all = parts(formula, &known, name, place.flat);
    if all.is_empty() {
        return None;
    }
    let followed = follow(vm, Effort::QUICK, wrong)?;
    // What is exact for a kernel is not so for the parts of the formula in f64.
    let slack = expected.bound.max(1e-6 * expected.value.abs());
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
