//! Which wrong formula gives exactly this output?

use crate::evaluate::data::Values;
use crate::integer::evaluate::Dims;
use crate::rounding::bound::Approx;
use crate::sized_formula::SizedFormula;
use crate::variants::enumerate::{Changed, Draft, drafts};
use crate::variants::machine::{Machine, Replacement};
use crate::variants::tree::Model;
use crate::variants::tried::Tried;
use crate::variants::value::{UNIT, Value};

/// What a kernel made of a tensor, with all that it was computed from.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The correct formula, at the sizes of the test.
    pub formula: &'a SizedFormula,
    /// What the kernel was given.
    pub known: &'a Values,
    /// The tensor, by its name in the formula.
    pub tensor: &'a str,
    /// What the kernel made of it.
    pub got: &'a [f64],
    /// The expected values, with their error bounds.
    pub expected: &'a [Approx],
    /// Numbers of the launch that may be confused with sizes, by the names that they have in kernels.
    pub constants: &'a [(String, i64)],
}

/// A formula with one or two slips, which gave exactly what was observed.
#[derive(Clone, Debug)]
pub struct Variant {
    changed: Changed,
    /// What is different, as the end of a sentence: "your result is what the formula gives if ...".
    pub says: String,
    /// How simple it is; 1 is a plain slip.
    pub rank: u8,
}

/// How a variant compares with an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It gives what was observed, and the correct formula does not.
    Explains,
    /// It gives what was observed, but cannot be told from the correct formula there.
    Silent,
    /// It gives something else, or cannot be computed.
    Contradicts,
}

/// Reads in a search with all its variants, and for one variant on a whole tensor.
const SEARCH: u64 = 40_000_000;
const WHOLE: u64 = 4_000_000;
const SAMPLE: u64 = 400_000;
/// Pairs of slips are tried where the formula is that cheap.
const PAIRS: u64 = 30_000_000;
/// Elements that a variant is compared in, at most.
const MAX_ELEMENTS: usize = 4096;
/// A run contradicts a variant where a value is farther from it than this, as a part of its size.
const ROUNDED_ELSEWHERE: f64 = 1e-5;
/// A wrong element must be so many error bounds away from the expected value.
const CLEAR: f64 = 4.0;

/// The variants that explain the observation, the simplest first; with one slip, or where there is none with two.
pub fn search(seen: &Observation) -> Vec<Variant> {
    let Some(model) = seen.model() else { return Vec::new() };
    let dims = seen.dims();
    let Some(machine) = Machine::new(&model, &dims, seen.known) else { return Vec::new() };
    if machine.len(model.parts[model.parts.len() - 1].target) != seen.got.len() || !seen.is_wrong()
    {
        return Vec::new();
    }
    let names = seen.constants.iter().filter(|(_, value)| *value > 1).map(|(name, _)| name.clone());
    let names: Vec<String> = names.collect();
    let products = products(seen.formula, 2).map(|(name, _)| name).collect::<Vec<_>>();
    let all = drafts(&model, &dims, &names, &products);
    let comparison = Comparison::new(seen, &machine);
    let mut found = comparison.explaining(&all, &model, SEARCH);
    if found.is_empty() {
        let plain: Vec<&Draft> = all.iter().filter(|draft| draft.rank == 1).collect();
        found = pairs(&comparison, &model, &plain);
    }
    found
}

/// The products of two sizes that are `least` or more, with names that no size has.
fn products(formula: &SizedFormula, least: i64) -> impl Iterator<Item = (String, i64)> {
    let sizes: Vec<(&String, &i64)> =
        formula.dims().iter().filter(|(_, value)| **value >= least).collect();
    let pairs =
        sizes.iter().enumerate().flat_map(|(at, a)| sizes[at + 1..].iter().map(move |b| (*a, *b)));
    let named = pairs.map(|(a, b)| (format!("{} * {}", a.0, b.0), a.1.saturating_mul(*b.1)));
    named.collect::<Vec<_>>().into_iter()
}

/// Two plain slips, neither in what the other has replaced.
fn pairs(comparison: &Comparison, model: &Model, plain: &[&Draft]) -> Vec<Variant> {
    let mut alike = Tried::default();
    for (at, draft) in plain.iter().enumerate() {
        // What changes nothing here is, with another slip, that slip alone.
        match draft.replacements(comparison.machine) {
            Some(replaced) if !replaced.is_empty() => {
                alike.entry(replaced, |_| Vec::new()).push(at);
            }
            _ => {}
        }
    }
    let alike = alike.into_all();
    let mut found = Vec::new();
    let mut left = PAIRS;
    let all = alike.iter().enumerate();
    for (one, other) in all.flat_map(|(at, one)| alike[at + 1..].iter().map(move |b| (one, b))) {
        if left == 0 {
            break;
        }
        let both = one.1.iter().flat_map(|&a| other.1.iter().map(move |&b| (a.min(b), a.max(b))));
        let mut apart = both.filter(|&(a, b)| plain[a].is_apart_from(plain[b])).peekable();
        let replaced: Vec<&Replacement> = one.0.iter().chain(&other.0).collect();
        if apart.peek().is_some() && comparison.fit(&replaced, 0.0, &mut left) == Fit::Explains {
            found.extend(apart);
        }
    }
    // As if they had been tried one by one.
    found.sort_unstable();
    let variant = |(a, b): (usize, usize)| {
        let (first, second) = (plain[a], plain[b]);
        let edits = first.edits.iter().chain(&second.edits).cloned().collect();
        let says = format!("{}, and {}", first.says, second.says);
        Variant::of(&Draft { edits, says, rank: 4 }, model)
    };
    found.into_iter().map(variant).collect()
}

impl Variant {
    fn of(draft: &Draft, model: &Model) -> Self {
        let (changed, says) = (draft.changed(model), draft.says.clone());
        Self { changed, says, rank: draft.rank }
    }
}

/// How each variant compares with another observation of the same formula: other data, other sizes.
pub fn compare(variants: &[Variant], seen: &Observation) -> Vec<Fit> {
    let contradicted = || vec![Fit::Contradicts; variants.len()];
    let Some(model) = seen.model() else { return contradicted() };
    let dims = seen.dims();
    let Some(machine) = Machine::new(&model, &dims, seen.known) else { return contradicted() };
    let comparison = Comparison::new(seen, &machine);
    variants.iter().map(|variant| comparison.variant(variant, &model)).collect()
}

impl Observation<'_> {
    /// Each element of the correct formula as variants of it are computed, and how far that of a kernel in f32 may be from it. For
    /// this crate's tests, which would take the whole crate with them if they stood beside the machine.
    #[doc(hidden)]
    pub fn correct_as_variants_are(&self) -> Option<Vec<(f64, f64)>> {
        let model = self.model()?;
        let machine = Machine::new(&model, &self.dims(), self.known)?;
        machine.budget.set(WHOLE);
        let part = model.parts.last()?;
        let same = machine.replaced_part(part.target, &part.body)?;
        let mut all = Vec::new();
        machine.elements(&[&same], 0..machine.len(part.target), |_, value| {
            all.push((value.value, value.error));
            true
        })?;
        Some(all)
    }

    fn model(&self) -> Option<Model> {
        Model::new(self.formula.program(), self.tensor, &|name| self.known.contains_key(name))
    }

    fn dims(&self) -> Dims {
        let mut dims = self.formula.dims().clone();
        dims.extend(self.constants.iter().cloned());
        dims.extend(products(self.formula, 0));
        dims
    }

    fn is_wrong(&self) -> bool {
        self.got.iter().zip(self.expected).any(|(got, expected)| !is_correct(*got, expected, 0.0))
    }

    /// The elements to compare, those that tell most first: a few wrong ones, a few correct ones, then all.
    fn order(&self) -> Vec<usize> {
        let is_wrong = |&i: &usize| !is_correct(self.got[i], &self.expected[i], 0.0);
        let n = self.got.len();
        let wrong: Vec<usize> = (0..n).filter(is_wrong).collect();
        let mut order: Vec<usize> = wrong.iter().take(2).chain(wrong.last()).copied().collect();
        order.extend([0, n / 2, n.saturating_sub(1)]);
        let step = n.div_ceil(MAX_ELEMENTS).max(1);
        order.extend((0..n).step_by(step));
        order.extend(wrong.iter().take(64));
        order
    }
}

/// An observation, with what variants need to be compared with it.
struct Comparison<'m, 'a> {
    seen: &'m Observation<'m>,
    machine: &'m Machine<'a>,
    order: Vec<usize>,
}

impl<'m, 'a> Comparison<'m, 'a> {
    fn new(seen: &'m Observation<'m>, machine: &'m Machine<'a>) -> Self {
        Self { seen, machine, order: seen.order() }
    }

    /// Those of the drafts that explain the observation; `left` is what they may read in all.
    fn explaining(&self, drafts: &[Draft], model: &Model, mut left: u64) -> Vec<Variant> {
        let mut found = Vec::new();
        let mut tried = Tried::default();
        for draft in drafts {
            let Some(replaced) = draft.replacements(self.machine) else { continue };
            let fit = tried.entry(replaced, |replaced| {
                self.fit(&replaced.iter().collect::<Vec<_>>(), 0.0, &mut left)
            });
            if *fit == Fit::Explains {
                found.push(Variant::of(draft, model));
            }
            if left == 0 {
                break;
            }
        }
        found
    }

    fn variant(&self, variant: &Variant, model: &Model) -> Fit {
        // A part that is given there cannot show the slip.
        let parts =
            |(target, _): &&(usize, _)| model.parts.iter().any(|part| part.target == *target);
        let changed = variant.changed.iter().filter(parts);
        let replaced = changed.map(|(target, tree)| self.machine.replaced_part(*target, tree));
        let Some(replaced) = replaced.collect::<Option<Vec<_>>>() else { return Fit::Contradicts };
        let replaced: Vec<&Replacement> = replaced.iter().collect();
        let fits = |room: f64| self.fit(&replaced, room, &mut WHOLE.clone());
        match fits(0.0) {
            // A kernel may round in other places than the variant, and what it rounds may cancel. Where not even the correct
            // formula gives what it should (among values that are not finite), nothing is known.
            Fit::Contradicts
                if fits(ROUNDED_ELSEWHERE) != Fit::Contradicts || !self.is_reproduced() =>
            {
                Fit::Silent
            }
            fit => fit,
        }
    }

    /// Whether the correct formula gives what is expected.
    fn is_reproduced(&self) -> bool {
        self.machine.budget.set(WHOLE);
        let near = |flat: usize, value: Value| {
            let expected = &self.seen.expected[flat];
            is_correct(value.value, expected, allowed(value, expected))
        };
        self.machine.elements(&[], self.order.iter().copied(), near).is_some()
    }

    /// `room` is what a value may differ besides, as a part of it and of the expected value's terms.
    fn fit(&self, replaced: &[&Replacement], room: f64, left: &mut u64) -> Fit {
        let Observation { got, expected, .. } = *self.seen;
        if replaced.is_empty() {
            let mut all = got.iter().zip(expected);
            let correct = all.all(|(got, expected)| is_correct(*got, expected, 0.0));
            return if correct { Fit::Silent } else { Fit::Contradicts };
        }
        let budget = WHOLE.min((*left).max(SAMPLE));
        self.machine.budget.set(budget);
        let mut told = false;
        let all = self.machine.elements(replaced, self.order.iter().copied(), |flat, variant| {
            let (got, expected) = (got[flat], &expected[flat]);
            let size = expected.magnitude + variant.value.abs();
            let room = if size.is_finite() { room * size } else { 0.0 };
            let allowed = allowed(variant, expected).max(room);
            told |= !is_correct(got, expected, CLEAR * allowed);
            is_near(got, variant.value, allowed)
        });
        *left = left.saturating_sub(budget - self.machine.budget.get());
        match all {
            // As far as it could be computed it fits.
            None if self.machine.budget.get() == 0 => Fit::Silent,
            None => Fit::Contradicts,
            Some(()) if told => Fit::Explains,
            Some(()) => Fit::Silent,
        }
    }
}

/// How far a kernel with the variant's formula may be from its value: its own rounding, or that of the correct formula. Where sums
/// are exact in that, the kernel may still round each term: it may divide each of them, say.
fn allowed(variant: Value, expected: &Approx) -> f64 {
    let each = UNIT * expected.magnitude * (2.0 * (expected.terms as f64).sqrt() + 2.0);
    let usual = match expected.terms {
        2.. => expected.bound.max(each),
        _ if variant.error > 0.0 => expected.bound,
        _ => 0.0,
    };
    (2.0 * variant.error).max(if usual.is_finite() { usual } else { 0.0 })
}

fn is_near(got: f64, value: f64, allowed: f64) -> bool {
    if got.is_nan() || value.is_nan() {
        return got.is_nan() && value.is_nan();
    }
    got == value || (got.is_finite() && allowed.is_finite() && (got - value).abs() <= allowed)
}

fn is_correct(got: f64, expected: &Approx, room: f64) -> bool {
    is_near(
        got,
        expected.value,
        room.max(if expected.bound.is_finite() { expected.bound } else { 0.0 }),
    )
}
