//! Is a wrong element computed from the inputs that the formula computes it from? An element that misses some of them, or follows others, says
//! which part of the tensors a kernel leaves out or confuses, also where the formula is no sum of products.

use crate::formula_variant::formula;
use crate::subject::{Subject, Wrong, wrong_elements};
use crate::verdict::{Elements, TestVerdict, WrongInputs};
use device::finding::SourceLoc;
use device::vm::expansion::{Effort, OriginElement};
use indexmath::{InputElement, Values, inputs, slope};
use puzzle::case::{Case, CaseTensor, Role};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Further elements of the case that are looked at.
const MORE_ELEMENTS: usize = 2;
/// Elements of a tensor on which it is tried whether the formula follows them.
const TRIED: usize = 6;
/// Inputs whose effects are compared, times those of the element: work of some milliseconds.
const MOST_COMPARED: usize = 40_000;
/// Effects that differ by no more than this part are the same: a kernel rounds.
const SAME: f64 = 1e-2;
/// Effects that are smaller than this part of the largest are none.
const NOISE: f64 = 1e-4;
/// So few effects may be wrong, and so many more must be right.
const FEW: usize = 3;

/// Adds to a failing verdict what its first wrong element is computed from and should not be, or should be and is not, if nothing else
/// explains the element.
pub(crate) fn explain(subject: &Subject<'_>, mut verdict: TestVerdict, at: usize) -> TestVerdict {
    let diff = &verdict.diffs[at];
    if diff.variant.is_some() || diff.part.is_some() || diff.terms.compared.is_some() {
        return verdict;
    }
    let elements = wrong_elements(subject, &verdict, &diff.tensor.name, |_| true);
    let found = elements.split_first().and_then(|(first, more)| {
        let mut found = of(first)?;
        // One that is wrong, though its inputs are right, has another cause.
        let others = more.iter().take(MORE_ELEMENTS).map(of);
        found.confirmed = others.flatten().map(|other| !other.is_empty()).try_fold(0, count)?;
        (!found.is_empty()).then_some(found)
    });
    verdict.diffs[at].inputs = found;
    verdict
}

fn count(counted: usize, holds: bool) -> Option<usize> {
    holds.then_some(counted + 1)
}

/// The inputs of an element that are wrong; `None` where they could not be followed.
fn of(wrong: &Wrong<'_, '_>) -> Option<WrongInputs> {
    let Wrong { subject: &Subject { case, .. }, name, place, got, .. } = *wrong;
    let element = Element { case, known: case.known_for(name), name, flat: place.flat };
    let mut wanted = element.inputs(&element.known)?;
    let origins = wrong.follow(Effort::QUICK)?.origins(case, place, got)?;
    // A value that another launch, or another thread, left there is known only by where it lies. Nor does the formula tell what it would
    // be computed from, had it started from another tensor of those that it computes.
    let is_another = |tensor: usize| {
        let name = &case.tensors[tensor].tensor.name;
        element.is_computed(name) && !wanted.iter().any(|input| input.tensor == *name)
    };
    if origins.iter().any(|o| !element.is_input(o.tensor) || is_another(o.tensor)) {
        return None;
    }
    // What cancels in the form that a person would write, a correct kernel need not read.
    let closed = formula(case, name, true);
    let closed = closed.and_then(|closed| inputs(closed, &element.known, name, place.flat));
    if let Some(closed) = &closed {
        for input in &mut wanted {
            let is_same = |other: &InputElement| {
                other.computes && other.tensor == input.tensor && other.flat == input.flat
            };
            input.computes &= closed.iter().any(is_same);
        }
    }
    let (extra, line) = element.extra(&wanted, &origins)?;
    let mut found = WrongInputs {
        flat: place.flat,
        missing: element.named(element.missing(&wanted, &origins)),
        extra: element.named(extra),
        line,
        changed: Vec::new(),
        times: None,
        confirmed: 0,
    };
    if found.is_empty()
        && closed.is_none()
        && let Some((changed, times)) = element.changed(&wanted, &origins)
    {
        found.changed = element.named(changed);
        found.times = times;
    }
    Some(found)
}

/// An element as the formula computes it.
struct Element<'a> {
    case: &'a Case,
    /// What its formula starts from.
    known: Cow<'a, Values>,
    name: &'a str,
    flat: usize,
}

/// Elements of the tensors of a case.
type ByTensor = BTreeMap<usize, Vec<usize>>;

impl Element<'_> {
    /// The inputs that it is computed from, if so much is known.
    fn inputs(&self, known: &Values) -> Option<Vec<InputElement>> {
        inputs(&self.case.formula, known, self.name, self.flat)
    }

    fn slope(&self, input: &InputElement) -> Option<f64> {
        slope(&self.case.formula, &self.known, (self.name, self.flat), input)
    }

    /// Whether a tensor of the case is an input of this element, and can be followed.
    fn is_input(&self, tensor: usize) -> bool {
        let CaseTensor { tensor, role } = &self.case.tensors[tensor];
        let in_memory = matches!(role, Role::Input(_) | Role::InPlace { .. });
        in_memory && self.known.contains_key(&tensor.name) && tensor.dtype.is_float()
    }

    /// The place of an input in the case, where a tensor of the same name may be an output too.
    fn place(&self, input: &InputElement) -> Option<(usize, usize)> {
        let tensors = &self.case.tensors;
        let is_it =
            |&tensor: &usize| tensors[tensor].tensor.name == input.tensor && self.is_input(tensor);
        Some(((0..tensors.len()).find(is_it)?, input.flat))
    }

    /// Whether the formula computes a tensor itself: a kernel may do so anew.
    fn is_computed(&self, tensor: &str) -> bool {
        !self.case.formula.sources(tensor).is_empty()
    }

    /// What it should be computed from, and is not.
    fn missing(&self, wanted: &[InputElement], origins: &[OriginElement]) -> ByTensor {
        let there: BTreeSet<(usize, usize)> = origins.iter().map(|o| (o.tensor, o.flat)).collect();
        let mut missing: BTreeMap<usize, Vec<&InputElement>> = BTreeMap::new();
        for input in wanted.iter().filter(|input| input.computes) {
            if let Some(place) = self.place(input)
                && !there.contains(&place)
                && !self.is_computed(&input.tensor)
            {
                missing.entry(place.0).or_default().push(input);
            }
        }
        missing.retain(|_, inputs| self.follows_most(inputs));
        let flats = |inputs: Vec<&InputElement>| inputs.iter().map(|input| input.flat).collect();
        missing.into_iter().map(|(tensor, inputs)| (tensor, flats(inputs))).collect()
    }

    /// Whether it follows most of some inputs, tried on a few of them: a factor of 0 hides others.
    fn follows_most(&self, inputs: &[&InputElement]) -> bool {
        let tried = inputs.iter().step_by(inputs.len().div_ceil(TRIED).max(1));
        let tried: Vec<Option<f64>> = tried.map(|input| self.slope(input)).collect();
        2 * tried.iter().flatten().filter(|&&slope| slope != 0.0).count() >= tried.len()
    }

    /// What it is computed from, and should not be, with the line that loads the first of them; `None` where that is not known.
    fn extra(
        &self,
        wanted: &[InputElement],
        origins: &[OriginElement],
    ) -> Option<(ByTensor, Option<SourceLoc>)> {
        let mut given = self.known.clone().into_owned();
        given.retain(|name, _| !self.is_computed(name));
        let anew = if given.len() < self.known.len() { self.inputs(&given)? } else { Vec::new() };
        let allowed = wanted.iter().chain(&anew).filter_map(|input| self.place(input));
        let allowed: BTreeSet<(usize, usize)> = allowed.collect();
        let mut line = None;
        let mut extra: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for origin in origins.iter().filter(|origin| origin.slope != 0.0) {
            if !allowed.contains(&(origin.tensor, origin.flat)) {
                line = line.or_else(|| origin.line.clone());
                extra.entry(origin.tensor).or_default().insert(origin.flat);
            }
        }
        let flats = |flats: BTreeSet<usize>| flats.into_iter().collect();
        Some((extra.into_iter().map(|(tensor, all)| (tensor, flats(all))).collect(), line))
    }

    /// The few inputs that change it otherwise than they should, while all others change it as they should; and how many times as much, if
    /// that is the same for each.
    fn changed(
        &self,
        wanted: &[InputElement],
        origins: &[OriginElement],
    ) -> Option<(ByTensor, Option<f64>)> {
        let mut got: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for origin in origins {
            *got.entry((origin.tensor, origin.flat)).or_default() += origin.slope;
        }
        // Each of them is tried by computing the element, which reads all of them.
        if got.len() * wanted.len() > MOST_COMPARED || got.values().any(|slope| slope.is_nan()) {
            return None;
        }
        let input = |place| wanted.iter().find(|input| self.place(input) == Some(place));
        let expected = got.keys().map(|&place| self.slope(input(place)?));
        let expected = expected.collect::<Option<Vec<f64>>>()?;
        let largest = expected.iter().fold(0.0, |largest: f64, slope| largest.max(slope.abs()));
        let mut wrong = ByTensor::new();
        let mut times: Vec<f64> = Vec::new();
        for ((&(tensor, flat), &got), &expected) in got.iter().zip(&expected) {
            let allowed = SAME * got.abs().max(expected.abs()) + NOISE * largest;
            if (got - expected).abs() > allowed {
                wrong.entry(tensor).or_default().push(flat);
                times.push(got / expected);
            }
        }
        let first = *times.first()?;
        let same = times.iter().all(|other| (other - first).abs() <= SAME * first.abs());
        let is_clear = times.len() <= FEW && got.len() >= 2 * times.len() + FEW;
        is_clear.then_some((wrong, Some(first).filter(|first| same && first.is_finite())))
    }

    fn named(&self, elements: ByTensor) -> Vec<Elements> {
        let of = |(tensor, flats): (usize, Vec<usize>)| Elements {
            tensor: self.case.tensors[tensor].tensor.clone(),
            flats,
        };
        elements.into_iter().map(of).collect()
    }
}
