//! The likely cause of an error, from the pattern that the wrong elements make.
//!
//! A cause is named only if it holds for every element it speaks of, and if enough different values took part that
//! chance is no explanation.

mod places;
mod special;
mod values;
mod view;

use crate::verdict::Cause;
pub(super) use view::{Alike, View};

/// The first pattern that fits, the most telling ones first.
pub(super) fn likely(view: &View) -> Option<Cause> {
    written(view)
        .or_else(|| unchanged(view))
        .or_else(|| values::same_everywhere(view))
        .or_else(|| values::factor(view))
        .or_else(|| values::addend(view))
        .or_else(|| values::offset(view))
        .or_else(|| values::factor_along(view))
        .or_else(|| values::rounding(view))
        .or_else(|| special::values(view))
        .or_else(|| places::moved(view))
        .or_else(|| places::only_first_correct(view))
        .or_else(|| places::region(view))
        .or_else(|| places::border(view))
}

/// Which elements were written at all?
fn written(view: &View) -> Option<Cause> {
    let count = view.written.iter().take_while(|&&w| w).count();
    if count == view.written.len() {
        return None;
    }
    if view.written[count..].contains(&true) {
        return places::part_written(view);
    }
    Some(match count {
        0 => Cause::NothingWritten,
        _ => Cause::OnlyStartWritten { count, block: view.block },
    })
}

/// Does a tensor that should change hold what it held before?
fn unchanged(view: &View) -> Option<Cause> {
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    view.start?.iter().zip(view.got).all(same).then_some(Cause::Unchanged)
}

#[cfg(test)]
mod tests;
