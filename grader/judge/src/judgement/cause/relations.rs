//! Patterns in the values: each follows from the expected value, or from an input's, in another way than it should.

use super::order::axes;
use super::values::{
    EQUAL, difference, is_off_by, is_times, largest_difference, rises_evenly, slack,
};
use super::view::View;
use crate::verdict::Cause;
use puzzle::tensor::DType;
use std::collections::{BTreeMap, BTreeSet};

/// `got = expected - vector[coordinate] + vector[another]` in every wrong element: the element of a vector from another place.
pub(super) fn other_addend(view: &View) -> Option<Cause> {
    let scale = largest_difference(view);
    let wrong: Vec<usize> = view.wrong_places().collect();
    if wrong.len() < LEAST_ADDENDS {
        return None;
    }
    for (size, stride) in axes(view) {
        for (name, vector) in view.vectors.iter().filter(|(_, v)| v.len() == size && size > 1) {
            let own = |i: usize| i / stride % size;
            let other = |i: usize| {
                let by = |other: usize| vector[other] - vector[own(i)];
                (0..size).find(|&j| by(j) != 0.0 && is_off_by(view, i, by(j), scale))
            };
            let first = wrong[0];
            // What differs by little else than a few amounts is off by one of them soon.
            let amounts = view.wrong_places().map(|i| difference(view, i).to_bits());
            let varied = amounts.collect::<BTreeSet<_>>().len() > 1;
            if varied
                && let Some(got) = other(first)
                && wrong.iter().all(|&i| other(i).is_some())
            {
                let (vector, expected) = ((*name).to_owned(), own(first));
                return Some(Cause::OtherAddend { vector, flat: first, expected, got });
            }
        }
    }
    None
}

/// Wrong elements that show that each has another addend: of fewer it may be chance.
const LEAST_ADDENDS: usize = 8;

/// Of whole numbers: what stands in an element follows from what is expected there, as where places are counted in another order.
pub(super) fn renamed(view: &View) -> Option<Cause> {
    if view.dtype.is_float() || view.written.contains(&false) {
        return None;
    }
    // Tens of thousands of places may have as many names.
    let mut names: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for (&got, expected) in view.got.iter().zip(view.expected) {
        let name = names.entry(expected.value as i64).or_insert((got, 0));
        if name.0 != got {
            return None;
        }
        name.1 += 1;
    }
    let other = |(&expected, &(got, count)): (&i64, &(f64, usize))| {
        let expected = expected as f64;
        (expected != got).then_some((expected, got, count))
    };
    let other: Vec<(f64, f64, usize)> = names.iter().filter_map(other).collect();
    let is_seen_twice = other.iter().any(|(.., count)| *count > 1);
    let pairs: Vec<(f64, f64)> = other.into_iter().map(|(from, to, _)| (from, to)).collect();
    let (first, rest) = pairs.split_first()?;
    let by = first.1 - first.0;
    if pairs.len() == names.len() && !rest.is_empty() && rest.iter().all(|p| p.1 - p.0 == by) {
        return Some(Cause::OffsetWhereWrong { by });
    }
    // Of several that are one number, that number says more.
    let is_one = !rest.is_empty() && rest.iter().all(|pair| pair.1 == first.1);
    let is_clear = is_seen_twice && !is_one && names.len() > 1 && pairs.len() <= MOST_NAMES;
    is_clear.then_some(Cause::Renamed { pairs })
}

/// Of whole numbers: every element is the expected one with its bits in reverse, in a byte or a longer word.
pub(super) fn bits_reversed(view: &View) -> Option<Cause> {
    let is_whole = |value: f64| (0.0..f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0;
    let values = || (0..view.got.len()).map(|i| (view.expected[i].value, view.got[i]));
    let is_possible = !view.dtype.is_float() && !view.written.contains(&false);
    if !is_possible || !values().all(|(expected, got)| is_whole(expected) && is_whole(got)) {
        return None;
    }
    let reversed = |bits: u32| {
        let holds = |(expected, got): (f64, f64)| {
            let mirrored = (expected as u32).reverse_bits() >> (u32::BITS - bits);
            expected < 2f64.powi(bits as i32) && f64::from(mirrored) == got
        };
        view.varied(view.wrong_places()) && values().all(holds)
    };
    let bits = [8, 16, 32].into_iter().find(|bits| reversed(*bits))?;
    Some(Cause::BitsReversed { bits })
}

/// Elements are wrong exactly where another tensor of whole numbers has one value: a flag, a count, a label.
pub(super) fn wrong_where(view: &View) -> Option<Cause> {
    let wrong = view.wrong_count();
    // Among few elements every subset is that of some value.
    if wrong < LEAST_WHERE || view.wrong.len() - wrong < LEAST_ELSEWHERE {
        return None;
    }
    let first = view.wrong_places().next()?;
    let of = |other: &super::Alike, is_output: bool| {
        let value = other.values[first];
        let holds = |(other, wrong): (&f64, &bool)| (*other == value) == *wrong;
        let all = !other.dtype.is_float() && other.values.iter().zip(view.wrong).all(holds);
        let got = view.got[first];
        let is_one = view.wrong_places().all(|i| view.written[i] && view.got[i] == got);
        let got = is_one.then_some(got);
        all.then(|| Cause::WrongWhere { tensor: other.name.to_owned(), value, is_output, got })
    };
    let inputs = view.alike.iter().map(|other| (other, false));
    let outputs = view.outputs.iter().map(|other| (other, true));
    outputs.chain(inputs).find_map(|(other, is_output)| of(other, is_output))
}

/// Errors lie exactly at the first coordinates for which an input of whole numbers has one value: a seed, a size, a count.
pub(super) fn wrong_rows(view: &View) -> Option<Cause> {
    let rows = view.shape.first().copied().filter(|_| view.shape.len() > 1)?;
    let row = view.wrong.len() / rows.max(1);
    let wrong: Vec<bool> = view.wrong.chunks(row.max(1)).map(|row| row.contains(&true)).collect();
    let bad = wrong.iter().filter(|wrong| **wrong).count();
    if bad < LEAST_ROWS || wrong.len() - bad <= LEAST_ROWS {
        return None;
    }
    let first = wrong.iter().position(|wrong| *wrong)?;
    view.columns.iter().find_map(|(name, values)| {
        let value = values[first];
        let all = values.iter().zip(&wrong).all(|(other, wrong)| (*other == value) == *wrong);
        all.then(|| Cause::WrongRows { elements: name.clone(), value })
    })
}

/// First coordinates with errors that show that an input decides; without errors there must be more.
const LEAST_ROWS: usize = 2;

/// Wrong elements, and correct ones, that show that another tensor's value decides.
const LEAST_WHERE: usize = 4;
const LEAST_ELSEWHERE: usize = 2;

/// Every wrong element is the same multiple of what is expected, and others are right.
pub(super) fn factor_where_wrong(view: &View) -> Option<Cause> {
    let first = view.wrong_places().next()?;
    let factor = view.got[first] / view.expected[first].value;
    let mut expected: Vec<u64> =
        view.wrong_places().map(|i| view.expected[i].value.to_bits()).collect();
    expected.sort_unstable();
    expected.dedup();
    // Two whole numbers are hardly a large multiple of what they should be by chance.
    let is_large = !view.dtype.is_float() && factor.fract() == 0.0 && factor.abs() >= LARGE_FACTOR;
    let enough = if is_large { expected.len() > 1 } else { view.varied(view.wrong_places()) };
    let is_one = factor.is_finite() && factor != 0.0;
    let holds = enough && is_one && view.wrong_places().all(|i| is_times(view, i, factor));
    holds.then_some(Cause::FactorWhereWrong { factor })
}

/// See [`factor_where_wrong`].
const LARGE_FACTOR: f64 = 8.0;

/// Every wrong element is the same multiple of an input's element at its place.
pub(super) fn multiple_of_input(view: &View) -> Option<Cause> {
    view.alike.iter().find_map(|alike| {
        let value = |i: usize| alike.values[i];
        let largest = |a: &usize, b: &usize| value(*a).abs().total_cmp(&value(*b).abs());
        let largest = view.wrong_places().max_by(largest)?;
        let factor = view.got[largest] / value(largest);
        let mut values: Vec<u64> = view.wrong_places().map(|i| value(i).to_bits()).collect();
        values.sort_unstable();
        values.dedup();
        let is_clear = values.len() >= LEAST_MULTIPLES && factor.is_finite() && factor != 0.0;
        let holds = |i: usize| {
            let scaled = factor * value(i);
            view.written[i] && (view.got[i] - scaled).abs() <= slack(view, scaled.abs())
        };
        (is_clear && view.wrong_places().all(holds))
            .then(|| Cause::MultipleOf { tensor: alike.name.to_owned(), factor })
    })
}

/// Different values of which multiples stand in wrong elements: fewer may be chance.
const LEAST_MULTIPLES: usize = 4;

/// got = factor * expected + by, everywhere.
pub(super) fn line(view: &View) -> Option<Cause> {
    // Through many values that are right, a line goes anyway.
    let is_clear = 2 * view.wrong_count() >= view.got.len();
    let (factor, by) = is_clear.then(|| line_through(view, 0..view.got.len()))??;
    Some(Cause::Line { factor, by })
}

/// The same of all wrong elements, where others are correct.
pub(super) fn line_where_wrong(view: &View) -> Option<Cause> {
    let (factor, by) = line_through(view, view.wrong_places())?;
    Some(Cause::LineWhereWrong { factor, by })
}

/// What the values of these elements are multiplied with, and what is added then, by the numbers of two that are far from each other.
fn line_through(view: &View, places: impl Iterator<Item = usize> + Clone) -> Option<(f64, f64)> {
    let wanted = |i: usize| view.expected[i].value;
    let order = |a: &usize, b: &usize| wanted(*a).total_cmp(&wanted(*b));
    let (least, most) = (places.clone().min_by(order)?, places.clone().max_by(order)?);
    let range = wanted(most) - wanted(least);
    let factor = (view.got[most] - view.got[least]) / range;
    let by = view.got[least] - factor * wanted(least);
    // Nearer to 1, the differences may be anything else.
    let is_clear = factor.is_finite() && factor != 0.0 && (factor - 1.0).abs() > EQUAL;
    if !is_clear || by == 0.0 || !by.is_finite() || rises_evenly(view) {
        return None;
    }
    let holds = |i: usize| {
        let on_line = factor * wanted(i) + by;
        let rounding = (1.0 + factor.abs()) * view.expected[i].bound
            + 4.0 * slack(view, on_line.abs() + by.abs());
        let allowed = rounding.min(EQUAL * factor.abs() * range);
        view.written[i] && (view.got[i] - on_line).abs() <= allowed
    };
    // A line through two values always exists.
    let mut values: Vec<u64> = places.clone().map(|i| wanted(i).to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    let mut all = places;
    (values.len() >= LEAST_ON_LINE && all.all(holds)).then_some((factor, by))
}

/// Different values that show that all lie on a line.
const LEAST_ON_LINE: usize = 8;

/// Wrong elements have one of two values: the lower one where less than some number is expected, and the higher one elsewhere.
pub(super) fn two_steps(view: &View) -> Option<Cause> {
    let places = || view.wrong_places();
    let low = places().map(|i| view.got[i]).fold(f64::INFINITY, f64::min);
    let high = places().map(|i| view.got[i]).fold(f64::NEG_INFINITY, f64::max);
    let wanted = |i: usize| view.expected[i].value;
    let of = |value: f64| places().filter(move |&i| view.got[i] == value).map(wanted);
    let (lows, highs) = (of(low).count(), of(high).count());
    let below = of(low).fold(f64::NEG_INFINITY, f64::max);
    let above = of(high).fold(f64::INFINITY, f64::min);
    let mut values: Vec<u64> = places().map(|i| wanted(i).to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    let is_clear = lows.min(highs) > 1 && values.len() >= LEAST_ON_LINE && low < high;
    let is_whole = lows + highs == view.wrong_count() && !view.written.contains(&false);
    let holds = is_clear && is_whole && below < above;
    holds.then_some(Cause::TwoSteps { low, high, below, above })
}

/// So many numbers that have become others are listed.
const MOST_NAMES: usize = 6;

/// `got - start = factor * (expected - start)` in every element of a tensor that is changed in place: a step of another length, or in the
/// other direction.
pub(super) fn step_factor(view: &View) -> Option<Cause> {
    let start = view.start.filter(|start| start.iter().any(|&value| value != 0.0))?;
    let n = start.len();
    let wanted = |i: usize| view.expected[i].value - start[i];
    let largest = (0..n).max_by(|&a, &b| wanted(a).abs().total_cmp(&wanted(b).abs()))?;
    let factor = rounded((view.got[largest] - start[largest]) / wanted(largest));
    let mut steps: Vec<u64> =
        (0..n).map(wanted).filter(|step| *step != 0.0).map(f64::to_bits).collect();
    steps.sort_unstable();
    steps.dedup();
    let is_clear = steps.len() >= LEAST_MULTIPLES
        && factor.is_finite()
        && factor != 0.0
        && (factor - 1.0).abs() > EQUAL;
    // A factor is known only as far as the changes that it makes are.
    let known = EQUAL * factor.abs().min((factor - 1.0).abs()) * wanted(largest).abs();
    let holds = |i: usize| {
        let scaled = factor * wanted(i);
        let rounding = (1.0 + factor.abs()) * view.expected[i].bound
            + slack(view, view.got[i].abs() + start[i].abs() + scaled.abs());
        let allowed = rounding.min(known);
        view.written[i] && (view.got[i] - start[i] - scaled).abs() <= allowed
    };
    (is_clear && (0..n).all(holds)).then_some(Cause::StepFactor { factor })
}

/// A factor, or the simple fraction that it is but for rounding.
fn rounded(factor: f64) -> f64 {
    let fractions = simple_fractions().map(|(a, b)| a as f64 / b as f64);
    let mut near = fractions.filter(|near| (near - factor).abs() <= DOUBT * factor.abs());
    near.next().unwrap_or(if (factor + 1.0).abs() <= DOUBT { -1.0 } else { factor })
}

/// Every element is 1 less what is expected: the share of the other case.
pub(super) fn complement(view: &View) -> Option<Cause> {
    let holds = |i: usize| {
        let Some(expected) = irregular(view, i) else { return false };
        (0.0..=1.0).contains(&expected) && is_off_by(view, i, 1.0 - 2.0 * expected, 1.0)
    };
    (0..view.got.len()).all(holds).then_some(Cause::Line { factor: -1.0, by: 1.0 })
}

/// Each of a few wrong elements is a fraction of small whole numbers of what is expected, or a multiple.
pub(super) fn fractions(view: &View) -> Option<Cause> {
    let of = |i: usize| {
        // Of a share, such as an accuracy, every other one is a fraction.
        let is_telling = |value: &f64| !is_share(*value) || view.got[i].abs() > 1.0;
        let expected = irregular(view, i).filter(is_telling)?;
        let ratio = view.got[i] / expected;
        let doubt = (view.expected[i].bound + slack(view, expected.abs())) / expected.abs();
        let is_known = view.written[i] && doubt <= DOUBT;
        let is_near = |&(a, b): &(i64, i64)| {
            let fraction = a as f64 / b as f64;
            (ratio - fraction).abs() <= doubt * fraction.abs()
        };
        let found = is_known.then(|| simple_fractions().find(is_near))??;
        Some((i, found.0, found.1))
    };
    let is_few = view.wrong_count() <= MOST_FRACTIONS;
    let of = is_few.then(|| view.wrong_places().map(of).collect::<Option<Vec<_>>>())??;
    Some(Cause::Fractions { of })
}

/// Elements of which each has a fraction of its own.
const MOST_FRACTIONS: usize = 4;
/// How well a fraction must be known, as a part of it: one of the simple ones is hardly so near by chance.
const DOUBT: f64 = 2e-5;
/// The largest number in a fraction.
const MOST_PARTS: i64 = 16;
/// Other numbers that things are multiplied with or divided by.
const ROUND_NUMBERS: [i64; 4] = [100, 255, 256, 1000];

/// Fractions of small numbers, in lowest terms, but for 1, and of round ones.
fn simple_fractions() -> impl Iterator<Item = (i64, i64)> {
    let parts = || 1..=MOST_PARTS;
    let small = parts().flat_map(move |a| parts().map(move |b| (a, b)));
    let is_lowest = |&(a, b): &(i64, i64)| a != b && !(2..=b).any(|d| a % d == 0 && b % d == 0);
    let round = ROUND_NUMBERS.into_iter().flat_map(|n| [(n, 1), (1, n)]);
    small.filter(is_lowest).chain(round).flat_map(|(a, b)| [(a, b), (-a, b)])
}

/// The expected value of an element if it uses most digits of its type: of a few small whole numbers everything is a fraction.
fn irregular(view: &View, i: usize) -> Option<f64> {
    let value = view.expected[i].value;
    let digits = (value as f32).to_bits().trailing_zeros() < 8;
    let is_float = matches!(view.dtype, DType::F32 | DType::F64);
    (is_float && digits && value.is_finite()).then_some(value)
}

/// Whether a value may be a share of a small number, as of correct answers.
fn is_share(value: f64) -> bool {
    let is_of = |all: i64| {
        let parts = value * all as f64;
        (parts - parts.round()).abs() <= f64::from(f32::EPSILON) * parts.abs()
    };
    (1..=MOST_SHARES).any(is_of)
}

/// The largest number of which a value may be a share. Of values with the digits of a float, one in fifty is one by chance.
const MOST_SHARES: i64 = 512;

/// Every element is the expected one without its fraction, and not all are 0.
pub(super) fn truncated(view: &View) -> Option<Cause> {
    let is_float = matches!(view.dtype, DType::F32 | DType::F64);
    let holds = |i: usize| view.written[i] && view.got[i] == view.expected[i].value.trunc();
    let mut parts: Vec<u64> = view.got.iter().map(|got| got.to_bits()).collect();
    parts.sort_unstable();
    parts.dedup();
    let is_clear = is_float && parts.len() > 1 && view.varied(view.wrong_places());
    (is_clear && (0..view.got.len()).all(holds)).then_some(Cause::Truncated)
}
