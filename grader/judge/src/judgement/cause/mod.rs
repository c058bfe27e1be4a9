//! The likely cause of an error, from the pattern that the wrong elements make.
//!
//! A cause is named only if it holds for every element it speaks of, and if enough different values took part that
//! chance is no explanation.

mod boxes;
mod order;
mod places;
mod relations;
mod special;
mod values;
mod view;

use crate::verdict::Cause;
pub(super) use view::{Alike, View};

/// Of a tensor with more elements than that, whose patterns take seconds, it is asked only what was written and changed, and where.
const LARGE: usize = 1 << 22;

/// The first pattern that fits, the most telling ones first.
pub(super) fn likely(view: &View) -> Option<Cause> {
    let simple = written(view).or_else(|| unchanged(view));
    if view.got.len() > LARGE {
        return simple.or_else(|| places::region(view));
    }
    simple
        .or_else(|| values::same_everywhere(view))
        .or_else(|| relations::step_factor(view))
        .or_else(|| values::factor(view))
        .or_else(|| values::addend(view))
        .or_else(|| relations::other_addend(view))
        .or_else(|| values::offset(view))
        .or_else(|| values::offset_in_steps(view))
        .or_else(|| values::factor_along(view))
        .or_else(|| relations::line(view))
        .or_else(|| relations::two_steps(view))
        .or_else(|| values::cut_off(view))
        .or_else(|| relations::truncated(view))
        .or_else(|| values::rounding(view))
        .or_else(|| special::values(view))
        .or_else(|| unchanged_where_wrong(view))
        .or_else(|| places::turned(view))
        .or_else(|| order::layout(view))
        .or_else(|| order::permuted(view))
        .or_else(|| relations::bits_reversed(view))
        .or_else(|| places::shifted(view))
        .or_else(|| places::late(view))
        .or_else(|| relations::wrong_rows(view))
        .or_else(|| order::paired(view))
        .or_else(|| order::reordered(view))
        .or_else(|| order::repeated(view))
        .or_else(|| relations::factor_where_wrong(view))
        .or_else(|| relations::line_where_wrong(view))
        .or_else(|| relations::complement(view))
        .or_else(|| relations::fractions(view))
        .or_else(|| relations::multiple_of_input(view))
        .or_else(|| special::in_wrong(view))
        .or_else(|| places::only_first_correct(view))
        .or_else(|| values::offset_where_wrong(view))
        .or_else(|| relations::renamed(view))
        .or_else(|| relations::wrong_where(view))
        .or_else(|| places::region(view))
        .or_else(|| places::border(view))
        .or_else(|| values::same_where_wrong(view).map(|value| Cause::SameWhereWrong { value }))
}

/// Which elements were written at all?
fn written(view: &View) -> Option<Cause> {
    let count = view.written.iter().take_while(|&&w| w).count();
    if count == view.written.len() {
        return None;
    }
    if view.written[count..].contains(&true) {
        return places::part_written(view).or_else(|| places::scattered_written(view));
    }
    Some(match count {
        0 => Cause::NothingWritten,
        _ => Cause::OnlyStartWritten { count, block: view.block },
    })
}

/// Does a tensor that should change hold what it held before?
fn unchanged(view: &View) -> Option<Cause> {
    let start = view.start?;
    (0..start.len()).all(|i| is_unchanged(view, start, i)).then_some(Cause::Unchanged)
}

/// Do the wrong elements hold what they held before, and others not?
fn unchanged_where_wrong(view: &View) -> Option<Cause> {
    let start = view.start?;
    let all = view.wrong_places().all(|i| is_unchanged(view, start, i));
    let part = || boxes::part_wrong(view).or_else(|| boxes::around_wrong(view));
    all.then(|| Cause::UnchangedWhereWrong { ranges: part().unwrap_or_default() })
}

fn is_unchanged(view: &View, start: &[f64], i: usize) -> bool {
    let (was, is) = (start[i], view.got[i]);
    was.to_bits() == is.to_bits() || (was.is_nan() && is.is_nan())
}

#[cfg(test)]
mod tests;
