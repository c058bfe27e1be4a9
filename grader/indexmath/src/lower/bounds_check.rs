//! The proof that plain subscripts stay inside their tensors, at fixed sizes.

use crate::error::{Error, Result};
use crate::integer::affine::{Affine, overflow};
use crate::integer::evaluate::evaluate_proved;
use crate::integer::interval::Interval;
use crate::lower::nest::{LoweredGuard, Subscript};
use crate::span::Span;
use crate::syntax::int_expr::IntExpr;
use crate::syntax::printer::IntText;

/// The number of iterations up to which a subscript is tried at every one, where its interval is too wide.
const MAX_ITERATIONS: i64 = 1 << 20;

/// The number of indices that are eliminated from a subscript, at most.
const MAX_ELIMINATED: usize = 3;

/// The largest subscript that is accepted. It keeps all later arithmetic within 64 bits.
const MAX_SUBSCRIPT: i64 = 1 << 40;

/// The same for indirect subscripts, which are checked against their axis when they are computed.
const MAX_INDIRECT: i64 = 1 << 62;

/// The axis that a subscript selects from, and how an error names it.
pub(crate) struct SubscriptSite<'a> {
    pub tensor: &'a str,
    pub axis: usize,
    pub size: i64,
    /// The size as it is declared.
    pub size_text: &'a str,
    pub padded: bool,
    /// The names of all indices.
    pub index_names: &'a [String],
}

/// Checks that a subscript, `written` in the formula, stays inside its axis where index `i` runs over `0 .. ranges[i]` and all
/// `guards` hold. A
/// padded or an indirect one must only be small enough to be computed: whether an indirect one lies inside is seen when it is
/// computed.
///
/// # Errors
/// A subscript that can leave its axis, that is too large, or whose divisor can be 0.
pub(crate) fn check_subscript(
    written: &IntExpr,
    subscript: &Subscript,
    site: &SubscriptSite<'_>,
    ranges: &[i64],
    guards: &[LoweredGuard],
) -> Result<()> {
    let inside = |values: Interval| values.low >= 0 && values.high < site.size;
    let mut values = interval(written, subscript, ranges)?;
    if matches!(subscript, Subscript::Indirect(_)) || site.padded || inside(values) {
        return Ok(());
    }
    let slacks: Vec<&Affine> = guards
        .iter()
        .filter_map(|guard| match &guard.slack {
            Subscript::Affine(slack) => Some(slack),
            Subscript::NonAffine(_) | Subscript::Indirect(_) => None,
        })
        .collect();
    if let Subscript::Affine(affine) = subscript {
        let negated = Affine::default().plus(-1, affine).ok_or_else(|| overflow(written))?;
        let depth = slacks.len().min(MAX_ELIMINATED);
        let low = least(affine, &slacks, ranges, depth);
        let high = least(&negated, &slacks, ranges, depth);
        values.low = values.low.max(low.unwrap_or(i64::MIN));
        values.high = values.high.min(high.map_or(i64::MAX, |high| -high));
        // Guards that can never hold leave nothing.
        if inside(values) || values.low > values.high {
            return Ok(());
        }
    }
    if slacks.is_empty() && matches!(subscript, Subscript::Affine(_)) {
        return Err(outside(written, site, values));
    }
    match exact_interval(subscript, &slacks, ranges) {
        Some(exact) if inside(exact) || exact.low > exact.high => return Ok(()),
        Some(exact) => values = exact,
        None => {}
    }
    Err(outside(written, site, values))
}

/// Checks that an integer expression whose value is a number can be computed at all iterations.
///
/// # Errors
/// An expression that is too large, or whose divisor can be 0.
pub(crate) fn check_number(written: &IntExpr, subscript: &Subscript, ranges: &[i64]) -> Result<()> {
    interval(written, subscript, ranges).map(|_| ())
}

/// An interval that holds all values of a subscript.
fn interval(written: &IntExpr, subscript: &Subscript, ranges: &[i64]) -> Result<Interval> {
    let range = |id: usize| match (ranges.get(id), subscript) {
        (Some(range), _) => Interval { low: 0, high: range - 1 },
        // Indices past the table stand for the elements of an indirect subscript.
        (None, Subscript::Indirect(indirect)) => indirect.elements[id - indirect.first].values,
        (None, _) => Interval { low: 0, high: 0 },
    };
    let values = match subscript {
        Subscript::Affine(affine) if has_large_part(affine) => {
            return Err(too_large(written.span));
        }
        Subscript::Affine(affine) => {
            Interval::of_affine(affine, &range).ok_or_else(|| overflow(written))?
        }
        Subscript::NonAffine(int) => Interval::of(int, &range)?,
        Subscript::Indirect(indirect) => Interval::of(&indirect.int, &range)?,
    };
    let most =
        if matches!(subscript, Subscript::Indirect(_)) { MAX_INDIRECT } else { MAX_SUBSCRIPT };
    if values.low < -most || values.high > most {
        return Err(too_large(written.span));
    }
    Ok(values)
}

fn has_large_part(affine: &Affine) -> bool {
    let large = |value: i64| !(-MAX_SUBSCRIPT..=MAX_SUBSCRIPT).contains(&value);
    large(affine.constant) || affine.terms.iter().any(|(_, coefficient)| large(*coefficient))
}

fn too_large(span: Span) -> Error {
    Error::new(span, "this subscript is too large").help("subscripts must be below 2^40")
}

/// A lower bound of `affine` where all `slacks` are 0 or more: `affine >= affine - factor * slack` for a positive factor, by which
/// one index after the other is eliminated, at most `depth` (Fourier and Motzkin's method for a single form).
fn least(affine: &Affine, slacks: &[&Affine], ranges: &[i64], depth: usize) -> Option<i64> {
    let range = |id: usize| Interval { low: 0, high: ranges[id] - 1 };
    let mut best = Interval::of_affine(affine, &range)?.low;
    if depth == 0 {
        return Some(best);
    }
    for slack in slacks {
        for &(id, of_slack) in &slack.terms {
            let factor = affine.coefficient(id) / of_slack;
            if factor < 1 || factor * of_slack != affine.coefficient(id) {
                continue;
            }
            let Some(rest) = affine.plus(-factor, slack) else { continue };
            best = best.max(least(&rest, slacks, ranges, depth - 1).unwrap_or(i64::MIN));
        }
    }
    Some(best)
}

/// The least and the greatest value where all `slacks` are 0 or more, found by trying all iterations; the least above the greatest
/// if there is none, and `None` if the iterations are too many.
fn exact_interval(subscript: &Subscript, slacks: &[&Affine], ranges: &[i64]) -> Option<Interval> {
    let mut indices = subscript.indices();
    for (id, _) in slacks.iter().flat_map(|slack| &slack.terms) {
        if !indices.contains(id) {
            indices.push(*id);
        }
    }
    let mut iterations = 1_i64;
    for &id in &indices {
        iterations = iterations.checked_mul(ranges[id]).filter(|count| *count <= MAX_ITERATIONS)?;
    }
    let mut at = vec![0; indices.len()];
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for _ in 0..iterations {
        let value_of =
            |id| indices.iter().position(|other| *other == id).map_or(0, |position| at[position]);
        let of_affine = |affine: &Affine| {
            let terms = affine.terms.iter().map(|&(id, factor)| factor * value_of(id));
            affine.constant + terms.sum::<i64>()
        };
        if slacks.iter().all(|slack| of_affine(slack) >= 0) {
            let found = match subscript {
                Subscript::Affine(affine) => of_affine(affine),
                Subscript::NonAffine(int) => evaluate_proved(int, &value_of),
                Subscript::Indirect(_) => return None,
            };
            (low, high) = (low.min(found), high.max(found));
        }
        // The next iteration: count up, the last index first.
        for (position, &id) in indices.iter().enumerate().rev() {
            at[position] += 1;
            if at[position] < ranges[id] {
                break;
            }
            at[position] = 0;
        }
    }
    Some(Interval { low, high })
}

fn outside(written: &IntExpr, site: &SubscriptSite<'_>, values: Interval) -> Error {
    let text = IntText { int: written, names: site.index_names, tight: false };
    let SubscriptSite { tensor, axis, size, size_text, .. } = site;
    let reach = if values.high >= *size {
        format!("can reach {}", values.high)
    } else {
        format!("can fall to {}", values.low)
    };
    let named =
        if *size_text == size.to_string() { String::new() } else { format!(" ({size_text})") };
    Error::new(
        written.span,
        format!("index `{text}` {reach}, but axis {axis} of `{tensor}` has size {size}{named}"),
    )
    .help(format!(
        "fix the subscript or the shapes; if it should read 0 outside, write `{tensor}?[...]`"
    ))
}
