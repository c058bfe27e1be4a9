//! Patterns in the values: each follows from the expected value, or from an input's, in another way than it should.

use super::order::axes;
use super::values::{
    EQUAL, difference, is_off_by, is_times, largest_difference, rises_evenly, slack,
};
use super::view::View;
use crate::verdict::Cause;
use std::collections::BTreeSet;

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
    let mut names: Vec<(f64, f64, usize)> = Vec::new();
    for (&got, expected) in view.got.iter().zip(view.expected) {
        match names.iter_mut().find(|name| name.0 == expected.value) {
            Some(name) if name.1 == got => name.2 += 1,
            Some(_) => return None,
            None => names.push((expected.value, got, 1)),
        }
    }
    let is_seen_twice = names.iter().any(|(expected, got, count)| expected != got && *count > 1);
    let mut pairs: Vec<(f64, f64)> =
        names.iter().filter(|name| name.0 != name.1).map(|name| (name.0, name.1)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
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

/// got = factor * expected + by, everywhere, with the numbers of two elements that are far from each other.
pub(super) fn line(view: &View) -> Option<Cause> {
    let n = view.got.len();
    let wanted = |i: usize| view.expected[i].value;
    let order = |a: &usize, b: &usize| wanted(*a).total_cmp(&wanted(*b));
    let (least, most) = ((0..n).min_by(order)?, (0..n).max_by(order)?);
    let range = wanted(most) - wanted(least);
    let factor = (view.got[most] - view.got[least]) / range;
    let by = view.got[least] - factor * wanted(least);
    // Nearer to 1, the differences may be anything else.
    let is_clear =
        n >= LEAST_ON_LINE && factor.is_finite() && factor != 0.0 && (factor - 1.0).abs() > EQUAL;
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
    // A line through two values always exists, and one through many that are right.
    let mut values: Vec<u64> = (0..n).map(|i| wanted(i).to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    let is_clear = values.len() >= LEAST_ON_LINE && 2 * view.wrong_count() >= n;
    (is_clear && (0..n).all(holds)).then_some(Cause::Line { factor, by })
}

/// Different values that show that all lie on a line.
const LEAST_ON_LINE: usize = 8;

/// Elements have one of two values: the lower one where less than some number is expected, and the higher one elsewhere.
pub(super) fn two_steps(view: &View) -> Option<Cause> {
    let n = view.got.len();
    let low = (0..n).map(|i| view.got[i]).fold(f64::INFINITY, f64::min);
    let high = (0..n).map(|i| view.got[i]).fold(f64::NEG_INFINITY, f64::max);
    let wanted = |i: usize| view.expected[i].value;
    let of = |value: f64| (0..n).filter(move |&i| view.got[i] == value).map(wanted);
    let (lows, highs) = (of(low).count(), of(high).count());
    let below = of(low).fold(f64::NEG_INFINITY, f64::max);
    let above = of(high).fold(f64::INFINITY, f64::min);
    let mut values: Vec<u64> = (0..n).map(|i| wanted(i).to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    let is_clear = lows.min(highs) > 1 && values.len() >= LEAST_ON_LINE && low < high;
    let holds = is_clear && lows + highs == n && below < above && !view.written.contains(&false);
    holds.then_some(Cause::TwoSteps { low, high, below, above })
}

/// So many numbers that have become others are listed.
const MOST_NAMES: usize = 6;
