//! Cases that no test names: sizes and data drawn from the seed of a run, as `[draw]` of the spec says.
//!
//! A kernel that is right for the sizes of the tests alone fails in one of them. [`plans`] draws what is cheap to keep, and
//! [`build`] makes a case of one; so a run that fails early computes no more than it runs.

mod permitted;
mod sizes;
mod values;

use crate::case::Case;
use crate::oracle;
use crate::rng::Stream;
use diagnostic::Failure;
use indexmath::{DimExpr, Dims};
use permitted::{Allowed, Permitted, chooses};
use sizes::Drawer;
use spec::{DRAWN, Data, DataKind, Draw, DrawnSizes, Spec, Test, kernel_sets};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
pub use values::Flavour;

/// Small cases with exact integers.
const EXACT: usize = 28;

/// How often each flavour of data comes up in small cases, if the tests launch one set of kernels: twice for each set, so that two inputs
/// have their turns.
const ROUNDS: usize = 3;

/// The most times that it comes up.
const MOST_ROUNDS: usize = 4;

/// Cases with a size that is a multiple of a block, one less or one more; more of them where there are more pairs of size and block.
const AT_BLOCKS: usize = 12;

/// Cases in which all sizes that a block divides are just past a multiple of it.
const CORNERS: usize = 12;

/// As many of these come with infinities as well.
const INFINITE_CORNERS: usize = 4;

/// Cases in which two sizes are equal and others are as small as they can be.
const EQUAL: usize = 12;

/// The size of numbers that do no harm in any formula.
const ORDINARY: RangeInclusive<f64> = 1e-6..=1e6;

/// Cases with the numbers that a kernel compares with.
const WITH_LITERALS: usize = 4;

/// Cases at a kernel's sizes with numbers as small as a constant of the formula.
const WITH_CONSTANTS: usize = 8;

/// Cases at a kernel's sizes with real values: it may round them for these sizes alone.
const WITH_REALS: usize = 8;

/// The same far from zero, where differences cancel.
const WITH_OFFSETS: usize = 3;

/// The number of the first case at a kernel's literals, beyond those of all others.
const AT_LITERALS: usize = 10_000;

/// What a small case may cost, in multiplications and additions. It keeps a whole run within a tenth of a second.
const SMALL_STEPS: u64 = 30_000;

/// The sizes, kernels and data of a drawn case.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its number in the run, from which its random data follow.
    pub number: usize,
    /// The values of the free sizes.
    pub free: Dims,
    /// The kernels that it launches.
    pub kernels: Vec<String>,
    /// The data of the inputs that `[draw]` leaves open.
    pub flavour: Flavour,
    /// How many plans before this one have the same kernels and flavour: where a flavour is for some inputs alone, these take turns.
    pub turn: usize,
    /// With [`Flavour::Compared`], the numbers that the kernel compares with.
    pub literals: Vec<f64>,
    /// With [`Flavour::AfterOthers`], the free sizes at which the kernels run before.
    pub before: Option<Dims>,
}

/// The sizes that `spec` draws; `None` if it says that the shapes are fixed, or nothing.
pub fn drawn(spec: &Spec) -> Option<&DrawnSizes> {
    match &spec.draw {
        Some(Draw::Sizes(drawn)) => Some(drawn),
        Some(Draw::Fixed(_)) | None => None,
    }
}

/// The cases of the run with this seed, small ones first. The same seed gives the same plans.
pub fn plans(spec: &Spec, seed: u64) -> Vec<Plan> {
    let Some(drawn) = drawn(spec) else { return Vec::new() };
    let sets = kernel_sets(&spec.tests, &spec.launches);
    let mut stream = Stream::new(seed, DRAWN, "sizes");
    let flavours = Flavour::order(&mut stream);
    let mut drawer = Drawer::new(spec, drawn, &sets[0], stream);
    let mut all: Vec<Option<Dims>> = Vec::new();
    let mut how: Vec<(usize, Flavour)> = Vec::new();
    for i in 0..EXACT {
        // The longest chain has all kernels in most specs; every third case is one of the smaller sets.
        how.push((if i % 3 == 2 { i / 3 % sets.len() } else { 0 }, Flavour::Integers));
    }
    let allowed: Vec<Vec<Allowed>> = sets.iter().map(|set| allowed(spec, drawn, set)).collect();
    let is_possible = |set: usize, flavour: Flavour| allowed[set].iter().any(|a| flavour.fits(a));
    for round in 0..(2 * sets.len()).clamp(ROUNDS, MOST_ROUNDS) {
        let set = round % sets.len();
        // Ordinary data come in their place often enough.
        let possible = flavours.iter().filter(|flavour| round == 0 || is_possible(set, **flavour));
        how.extend(possible.map(|flavour| (set, *flavour)));
    }
    for i in 0..how.len() {
        all.push(drawer.small(i));
    }
    let mut before: BTreeMap<usize, Dims> = BTreeMap::new();
    for set in covering(&sets) {
        // What is kept may be too small for the launch after it, or of the wrong size for it.
        let Some((smaller, larger)) = drawer.smaller_and_larger() else { continue };
        for (first, second) in [(&smaller, &larger), (&larger, &smaller)] {
            before.insert(all.len(), first.clone());
            all.push(Some(second.clone()));
            how.push((set, Flavour::AfterOthers));
        }
        all.push(Some(larger.clone()));
        how.push((set, Flavour::InSameMemory));
        // Host code may keep what follows from some of the sizes until these change.
        for first in if spec.is_host() { drawer.differing_in_one(&larger) } else { Vec::new() } {
            before.insert(all.len(), first);
            all.push(Some(larger.clone()));
            how.push((set, Flavour::AfterOthers));
        }
    }
    all.extend(drawer.equal_beside_least(EQUAL).into_iter().map(Some));
    how.resize(all.len(), (0, Flavour::Integers));
    let at_blocks = drawer.at_blocks(AT_BLOCKS);
    // What a tile keeps of the one before shows where it is infinite, or not a number.
    let may_be_infinite = is_possible(0, Flavour::Infinite);
    for flavour in [Flavour::Integers, Flavour::Infinite] {
        if flavour == Flavour::Integers || may_be_infinite {
            all.extend(at_blocks.iter().cloned().map(Some));
            how.resize(all.len(), (0, flavour));
        }
    }
    // In a long sum of integers around 0 a small mistake is within the bound.
    all.extend(at_blocks.into_iter().filter(sizes::is_far).map(Some));
    how.resize(all.len(), (0, Flavour::LargestLast));
    let (between, (together, half_large)) = (drawer.between(), drawer.together());
    let (beside, shared) = (drawer.beside_partners(), drawer.shared());
    let none = Vec::new();
    let long_together = drawer.long_together();
    let (derived, just_past) = (drawer.derived_between(), drawer.just_past());
    // The largest set may lack a kernel, which needs large sizes as well.
    for &set in &covering(&sets) {
        for (sizes, flavour) in [
            (&between, Flavour::Integers),
            (&together, Flavour::Integers),
            (&half_large, Flavour::Integers),
            // Ties are seldom in the few small windows of other cases.
            (if chooses(spec) { &together } else { &none }, Flavour::Ties),
            (if may_be_infinite { &together } else { &none }, Flavour::Infinite),
            (if may_be_infinite { &between } else { &none }, Flavour::Infinite),
            (&long_together, Flavour::Integers),
            (&derived, Flavour::Integers),
            (&just_past, Flavour::Integers),
            (&beside, Flavour::LargestLast),
            (&shared, Flavour::Integers),
            // Parts that are large or have many bits, so that one that is rounded shows.
            (&shared, Flavour::LargestLast),
            (&shared, Flavour::Normal),
        ] {
            all.extend(sizes.iter().cloned().map(Some));
            how.resize(all.len(), (set, flavour));
        }
    }
    let long = drawer.long();
    let least = all.iter().flatten().min_by_key(|free| free.values().sum::<i64>());
    let mut large = least.map_or_else(Vec::new, |least| drawer.large(least, &long));
    if let Some(least) = least {
        let cases: Vec<Dims> = long.iter().chain(&large).cloned().collect();
        large.extend(drawer.many_planes(least, &cases));
    }
    for set in 0..sets.len() {
        // Again with other kernels, or with fewer where `[draw]` leaves open more of their data.
        let open = |set: usize| drawn.given(&spec.tensors, &sets[set]).map(|given| given.len());
        if covering(&sets).contains(&set)
            || open(set).zip(open(0)).is_some_and(|(fewer, all)| fewer < all)
        {
            all.extend(long.iter().cloned().map(Some));
            how.resize(all.len(), (set, Flavour::LargestLast));
        }
    }
    all.extend(large.into_iter().map(Some));
    how.resize(all.len(), (0, Flavour::Integers));
    let corners = drawer.corners(CORNERS);
    all.extend(corners.iter().cloned().map(Some));
    how.resize(all.len(), (0, Flavour::Integers));
    // Around a multiple of a block the other sizes are small, and what a tile keeps is seldom infinite in so few elements.
    if may_be_infinite {
        all.extend(corners.into_iter().take(INFINITE_CORNERS).map(Some));
        how.resize(all.len(), (0, Flavour::Infinite));
    }
    let of = |(number, free): (usize, Option<Dims>)| {
        let (set, flavour) = how[number];
        let before = before.get(&number).cloned();
        let (kernels, literals) = (sets[set].clone(), Vec::new());
        let turn = how[..number].iter().filter(|earlier| **earlier == how[number]).count();
        Some(Plan { number, free: free?, kernels, flavour, turn, literals, before })
    };
    all.into_iter().enumerate().filter_map(of).collect()
}

/// The literals of a kernel's comparisons, in which it may treat a size or a value in its own way.
#[derive(Clone, Debug, Default)]
pub struct Literals {
    /// The name of a kernel, and what it compares sizes with.
    pub sizes: Vec<(String, SizeLiteral)>,
    /// The name of a kernel, and an integer past which it may treat indices in another way.
    pub reaches: Vec<(String, i64)>,
    /// The name of a kernel, and a smaller integer past which it may treat several indices at once in another way.
    pub indices: Vec<(String, i64)>,
    /// The sizes of numbers that it compares values with.
    pub values: Vec<f64>,
}

/// An integer that a kernel compares an expression of sizes with.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeLiteral {
    /// The expression.
    pub of: DimExpr,
    /// The integer.
    pub at: i64,
    /// Whether it only asks if they are equal, so that the integers beside it are like all others.
    pub is_equality: bool,
}

/// Sizes, data and kernels of a case, and the sizes at which they run before.
type Drawn<'k> = (Dims, Flavour, &'k Vec<String>, Option<Dims>);

/// The cases of the run with this seed for a kernel with these comparisons: sizes at its literals, beside them, and at several of
/// them at once; indices past its reaches; and data with its numbers. By chance one run in hundreds meets a certain size.
pub fn plans_at(spec: &Spec, seed: u64, literals: &Literals) -> Vec<Plan> {
    let Some(drawn) = drawn(spec) else { return Vec::new() };
    let sets = kernel_sets(&spec.tests, &spec.launches);
    let mut all: Vec<Drawn<'_>> = Vec::new();
    let mut passed: BTreeSet<&(String, i64)> = BTreeSet::new();
    let mut together: BTreeSet<&(String, i64)> = BTreeSet::new();
    for (nth, kernels) in sets.iter().enumerate() {
        let sizes = literals.sizes.iter().filter(|(kernel, _)| kernels.contains(kernel));
        // Once for each kernel, since these cases are the largest.
        let reaches = literals.reaches.iter();
        let reaches = reaches.filter(|reach| kernels.contains(&reach.0) && passed.insert(*reach));
        let stream = Stream::new(seed, DRAWN, &format!("literals {nth}"));
        let mut drawer = Drawer::new(spec, drawn, kernels, stream);
        let sizes = drawer.at_literals(sizes.map(|(_, literal)| literal).collect()).into_iter();
        let sizes: Vec<Dims> = sizes.collect();
        let at_sizes = sizes.clone();
        // What a constant is added to may be left out for some sizes alone.
        let hides = allowed(spec, drawn, kernels).iter().any(|of| Flavour::NearConstants.fits(of));
        let step = sizes.len().div_ceil(WITH_CONSTANTS).max(1);
        let some = sizes.iter().step_by(step).filter(|_| hides);
        let some: Vec<(Dims, Flavour)> =
            some.map(|free| (free.clone(), Flavour::NearConstants)).collect();
        let step = sizes.len().div_ceil(WITH_REALS).max(1);
        let reals = sizes.iter().step_by(step).map(|free| (free.clone(), Flavour::Normal));
        let step = sizes.len().div_ceil(WITH_OFFSETS).max(1);
        let far = sizes.iter().step_by(step).filter(|free| drawer.costs_at_most_a_long_case(free));
        let far = far.map(|free| (free.clone(), Flavour::Offsets));
        let reals = reals.chain(far);
        let some: Vec<(Dims, Flavour)> = some.into_iter().chain(reals).collect();
        let mut cases: Vec<(Dims, Flavour)> =
            sizes.into_iter().map(|free| (free, Flavour::Integers)).chain(some).collect();
        let past = drawer.past(&reaches.map(|(_, reach)| *reach).collect());
        cases.extend(past.into_iter().map(|free| (free, Flavour::Integers)));
        let indices = literals.indices.iter();
        let indices = indices.filter(|at| kernels.contains(&at.0) && together.insert(*at));
        let past = drawer.past_together(&indices.map(|(_, at)| *at).collect());
        cases.extend(past.into_iter().map(|free| (free, Flavour::Integers)));
        if !literals.values.is_empty() {
            let small = (1..=WITH_LITERALS).filter_map(|nth| drawer.small(nth));
            cases.extend(small.map(|free| (free, Flavour::Compared)));
        }
        // Host code may keep what it chose for some of the sizes until these change.
        let after = if spec.is_host() { drawer.long_after_short(&at_sizes) } else { Vec::new() };
        all.extend(cases.into_iter().map(|(free, flavour)| (free, flavour, kernels, None)));
        let after = after.into_iter();
        all.extend(after.map(|(before, free)| (free, Flavour::AfterOthers, kernels, Some(before))));
    }
    let of = |(nth, (free, flavour, kernels, before)): (usize, Drawn<'_>)| {
        let (number, literals) = (AT_LITERALS + nth, literals.values.clone());
        let kernels = kernels.clone();
        Plan { number, free, kernels, flavour, turn: nth, literals, before }
    };
    all.into_iter().enumerate().map(of).collect()
}

/// What the inputs may hold whose data `[draw]` leaves open, in a test that launches these kernels.
fn allowed(spec: &Spec, drawn: &DrawnSizes, kernels: &[String]) -> Vec<Allowed> {
    let given = drawn.given(&spec.tensors, kernels);
    let open = |name: &str| given.as_ref().is_some_and(|given| !given.contains(name));
    let launches = |test: &&Test| {
        let mut launched = test.calls.iter().map(|call| &spec.launches[call.launch].kernel);
        launched.len() == kernels.len() && launched.all(|kernel| kernels.contains(kernel))
    };
    let of = |test: &Test| {
        let permitted = Permitted::of(spec, test);
        let inputs = test.inputs.iter().filter(|t| open(&t.name) && t.dtype.is_float());
        inputs.map(|input| permitted.for_input(spec, &input.name)).collect()
    };
    spec.tests.iter().find(launches).map_or_else(Vec::new, of)
}

/// Some of the sets of kernels, the first among them, that together have all kernels.
fn covering(sets: &[Vec<String>]) -> Vec<usize> {
    let mut covered: BTreeSet<&String> = BTreeSet::new();
    let adds = |set: &usize| sets[*set].iter().filter(|k| covered.insert(*k)).count() > 0;
    (0..sets.len()).filter(adds).collect()
}

/// The case of a plan, and the flavour of its data. Where the formula does not allow the plan's data, because a correct
/// kernel could give another result, the data are ordinary ones; `None` if those are not possible either, or the sizes are
/// not.
pub fn build(spec: &Spec, plan: &Plan, seed: u64) -> Option<(Case, Flavour)> {
    let drawn = drawn(spec)?;
    let test = test(spec, drawn, plan)?;
    let mut flavours = vec![plan.flavour, Flavour::Normal, Flavour::Integers];
    flavours.dedup();
    let case =
        |flavour| Some((with_flavour(spec, drawn, (test.clone(), plan), flavour, seed)?, flavour));
    flavours.into_iter().find_map(case)
}

/// The elements of all tensors of the case of a plan, which is not built for it; `None` if the sizes are not possible.
pub fn elements(spec: &Spec, plan: &Plan) -> Option<usize> {
    let test = test(spec, drawn(spec)?, plan)?;
    let tests = [Some(&test), test.before.as_deref()].into_iter().flatten();
    Some(tests.flat_map(|test| &test.buffers).map(|buffer| buffer.tensor.len()).sum())
}

/// As [`build`], but with the plan's data or not at all.
pub fn build_exactly(spec: &Spec, plan: &Plan, seed: u64) -> Option<Case> {
    let drawn = drawn(spec)?;
    with_flavour(spec, drawn, (test(spec, drawn, plan)?, plan), plan.flavour, seed)
}

/// Why the case of a plan cannot be built even with ordinary data; `None` if it can.
pub fn fault(spec: &Spec, plan: &Plan, seed: u64) -> Option<Failure> {
    let test = test(spec, drawn(spec)?, plan)?;
    oracle::build_case(spec, &test, seed).err()
}

fn test(spec: &Spec, drawn: &DrawnSizes, plan: &Plan) -> Option<Test> {
    let at = |free: &Dims, name: String| {
        let (names, of) = ((spec.text.as_str(), &spec.sizes), (&spec.tensors, &spec.launches[..]));
        let mut test = drawn.test(names, of, &name, &plan.kernels, free).ok()?;
        test.is_drawn = true;
        drawn.allows(spec, free).then_some(test)
    };
    let name = format!("{DRAWN}_{}", plan.number);
    let mut test = at(&plan.free, name.clone())?;
    let before = match plan.flavour {
        Flavour::AfterOthers => plan.before.as_ref(),
        Flavour::InSameMemory => Some(&plan.free),
        _ => None,
    };
    if let Some(before) = before {
        // The name decides about random data.
        test.before = Some(Box::new(at(before, name + "_before")?));
        test.in_same_memory = plan.flavour == Flavour::InSameMemory;
    }
    Some(test)
}

/// The case with data of `flavour`.
fn with_flavour(
    spec: &Spec,
    drawn: &DrawnSizes,
    (test, plan): (Test, &Plan),
    flavour: Flavour,
    seed: u64,
) -> Option<Case> {
    let of_test = [Flavour::Integers, Flavour::AfterOthers, Flavour::InSameMemory];
    let mut case = if of_test.contains(&flavour) {
        oracle::build_case(spec, &test, seed).ok()?
    } else {
        let with = |quarters| with_values(spec, drawn, (&test, plan), (flavour, quarters), seed);
        [0, 3, 4].into_iter().find_map(with)?
    };
    // The tests with names repeat launches and count; here it would cost as much again.
    case.bit_equal.clear();
    case.gates.clear();
    case.pictures.clear();
    DRAWN.clone_into(&mut case.test);
    Some(case)
}

/// The case with values of this flavour in the inputs that `[draw]` leaves open; with the magnitudes of so many
/// quarters of the inputs that come under a root or a logarithm, if there are some.
fn with_values(
    spec: &Spec,
    drawn: &DrawnSizes,
    (test, plan): (&Test, &Plan),
    (flavour, quarters): (Flavour, u32),
    seed: u64,
) -> Option<Case> {
    let given = drawn.given(&spec.tensors, &plan.kernels);
    let open = |name: &str| given.as_ref().is_some_and(|given| !given.contains(name));
    let permitted = Permitted::of(spec, test);
    let mut data: BTreeMap<String, Data> = BTreeMap::new();
    let mut positive = 0;
    let inputs = || test.inputs.iter().filter(|t| open(&t.name) && t.dtype.is_float());
    let last = inputs().count().saturating_sub(1);
    // It differs from seed to seed which one has the first turn.
    let chosen = (plan.turn as u64).wrapping_add(seed) % (last as u64 + 1);
    let chosen = chosen as usize;
    for (i, tensor) in inputs().enumerate() {
        let stream =
            |part: &str| Stream::new(seed, &test.name, &format!("{} {i}{part}", tensor.name));
        let mut allowed = permitted.for_input(spec, &tensor.name);
        // One input of each case, so that two large numbers are not multiplied.
        if i == chosen {
            let is_ordinary = |literal: &&f64| allowed.extreme || ORDINARY.contains(*literal);
            allowed.literals = plan.literals.iter().filter(is_ordinary).copied().collect();
        }
        // One input of each case, too: the product of two of the smallest numbers is 0. Integers times the smallest normal one are none
        // that is subnormal.
        let is_ordinary = match flavour {
            Flavour::Tiny => !allowed.alone && i != chosen,
            // Beside a number past which integers overflow, others must be integers too.
            Flavour::Compared => i != chosen && plan.turn / 2 % 2 == 0,
            _ => false,
        };
        let mut made = if is_ordinary {
            None
        } else {
            values::make((flavour, i == last), tensor, stream(""), &allowed)
        };
        // Not of all at first: a formula may square one and take the root of another, and the sign of the first counts.
        if allowed.under_root && stream(" sign").below(4) < quarters {
            positive += 1;
            let values = made.take().unwrap_or_else(|| values::normal(tensor, stream("")));
            made = Some(values.into_iter().map(f64::abs).collect());
        }
        let kind = || {
            let normal = DataKind::Normal { scale: 1.0, shift: 0.0 };
            Data::Kind(if is_ordinary { DataKind::Integers } else { normal })
        };
        data.insert(tensor.name.clone(), made.map_or_else(kind, Data::Values));
    }
    if quarters > 0 && positive == 0 {
        return None;
    }
    let mut test = test.clone();
    test.data.extend(data);
    oracle::build_case(spec, &test, seed).ok()
}

#[cfg(test)]
mod tests;
