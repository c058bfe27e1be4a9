//! The proof that plain subscripts stay inside their tensors, at fixed sizes.

use crate::affine::{Affine, ELEMENT, Sub, interval, value};
use crate::ast::{Int, IntKind, IntOp};
use crate::error::{Error, Result};
use crate::ir::IndexId;
use crate::pretty::IntText;
use crate::span::Span;

/// Subscripts whose interval is too wide are tried at every point of a space up to this size.
const MAX_POINTS: i64 = 1 << 20;
/// Beyond this no subscript can be meant; keeps all later arithmetic inside 64 bits.
const MAX_SUBSCRIPT: i64 = 1 << 40;

/// The same for subscripts with elements of tensors, which are checked when they are read.
const MAX_GATHER: i64 = 1 << 62;

/// What a subscript belongs to.
pub(crate) struct Place<'a> {
    pub tensor: &'a str,
    pub axis: usize,
    pub size: i64,
    /// The size as it is declared.
    pub size_text: &'a str,
    pub padded: bool,
    /// Names of the indices.
    pub names: &'a [String],
}

/// Checks one subscript; index `i` runs over `0 .. ranges[i]`. One with elements in it must only be small
/// enough to be computed: where it lies is seen when it is read.
pub(crate) fn check(written: &Int, sub: &Sub, place: &Place<'_>, ranges: &[i64]) -> Result<()> {
    let (mut low, mut high) = reach(written, sub, ranges)?;
    if matches!(sub, Sub::Gather(_)) || place.padded || (low >= 0 && high < place.size) {
        return Ok(());
    }
    if let Sub::General(int) = sub
        && let Some(exact) = enumerate(int, ranges)
    {
        (low, high) = exact;
        if low >= 0 && high < place.size {
            return Ok(());
        }
    }
    Err(outside(written, place, low, high))
}

/// Checks an integer expression that stands as a number: it can be computed at all iterations.
pub(crate) fn check_number(written: &Int, sub: &Sub, ranges: &[i64]) -> Result<()> {
    reach(written, sub, ranges).map(|_| ())
}

/// An interval that holds all values.
fn reach(written: &Int, sub: &Sub, ranges: &[i64]) -> Result<(i64, i64)> {
    let plain = match sub {
        Sub::Affine(affine) => plain(affine, written.span)?,
        Sub::General(int) => int.clone(),
        Sub::Gather(gather) => gather.int.clone(),
    };
    let range = |id: IndexId| ranges.get(id).map_or(ELEMENT, |range| (0, range - 1));
    let (low, high) = interval(&plain, &range)?;
    let most = if matches!(sub, Sub::Gather(_)) { MAX_GATHER } else { MAX_SUBSCRIPT };
    if low < -most || high > most { Err(too_large(written.span)) } else { Ok((low, high)) }
}

fn too_large(span: Span) -> Error {
    Error::new(span, "this subscript is too large").help("subscripts stay below 2^40")
}

/// The affine form as an expression again, each index once, so that its interval is exact.
fn plain(affine: &Affine, span: Span) -> Result<Int> {
    let large = |value: i64| !(-MAX_SUBSCRIPT..=MAX_SUBSCRIPT).contains(&value);
    if large(affine.constant) || affine.terms.iter().any(|(_, coefficient)| large(*coefficient)) {
        return Err(too_large(span));
    }
    let constant = |value| Int::new(IntKind::Const(value), span);
    Ok(affine.terms.iter().fold(constant(affine.constant), |sum, (id, coefficient)| {
        let index = Int::new(IntKind::Index(*id), span);
        let product = Int::binary(IntOp::Mul, constant(*coefficient), index);
        Int::new(IntKind::Binary(IntOp::Add, Box::new(sum), Box::new(product)), span)
    }))
}

/// The least and the greatest value, by trying all; `None` if there are too many points.
fn enumerate(int: &Int, ranges: &[i64]) -> Option<(i64, i64)> {
    let indices = int.indices();
    let mut points = 1_i64;
    for &id in &indices {
        points = points.checked_mul(ranges[id]).filter(|points| *points <= MAX_POINTS)?;
    }
    let mut at = vec![0; indices.len()];
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for _ in 0..points {
        let of = |id| indices.iter().position(|other| *other == id).map_or(0, |place| at[place]);
        let found = value(int, &of);
        (low, high) = (low.min(found), high.max(found));
        // The next point: count up, the last index first.
        for (place, &id) in indices.iter().enumerate().rev() {
            at[place] += 1;
            if at[place] < ranges[id] {
                break;
            }
            at[place] = 0;
        }
    }
    Some((low, high))
}

fn outside(written: &Int, place: &Place<'_>, low: i64, high: i64) -> Error {
    let text = IntText { int: written, names: place.names, tight: false };
    let reach =
        if high >= place.size { format!("can reach {high}") } else { format!("can fall to {low}") };
    let Place { tensor, axis, size, size_text, .. } = place;
    let named =
        if *size_text == size.to_string() { String::new() } else { format!(" ({size_text})") };
    Error::new(
        written.span,
        format!("index `{text}` {reach}, but axis {axis} of `{tensor}` has size {size}{named}"),
    )
    .help(format!(
        "mend the subscript or the shapes; if it shall read 0 outside, write `{tensor}?[...]`"
    ))
}
