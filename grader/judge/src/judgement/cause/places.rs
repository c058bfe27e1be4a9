//! Patterns in the places: correct values at wrong places, errors in one part only.

use super::boxes::{around, around_wrong, named, volume};
use super::values::{rises_evenly, same_where_wrong};
use super::view::View;
use crate::verdict::Cause;

/// With fewer wrong elements than this a pattern of places says nothing.
const MIN_WRONG: usize = 4;
/// How far a shift is looked for, in elements.
const MAX_SHIFT: i64 = 4;

/// Each slice over the last two axes is stored column by column, or in reverse.
pub(super) fn turned(view: &View) -> Option<Cause> {
    let n = view.got.len();
    let (rows, columns) = view.slice();
    if view.wrong_count() < MIN_WRONG || !view.varied(view.wrong_places()) {
        return None;
    }
    let per_slice = rows * columns;
    // `from` maps a place in a slice to the place whose value is found there.
    let explains = |from: &dyn Fn(usize, usize) -> (usize, usize)| {
        (0..n).all(|i| {
            let place = i % per_slice;
            let (row, column) = from(place / columns, place % columns);
            view.fits(i, i - place + row * columns + column)
        })
    };
    // Memory filled column by column: place p of the slice holds row p % rows, column p / rows.
    if rows > 1 && columns > 1 {
        let by_columns = |row: usize, column: usize| {
            let place = row * columns + column;
            (place % rows, place / rows)
        };
        if explains(&by_columns) {
            return Some(Cause::Transposed);
        }
    }
    let rank = view.shape.len();
    for (flip_rows, flip_columns) in [(true, true), (true, false), (false, true)] {
        let flip = |row: usize, column: usize| {
            let row = if flip_rows { rows - 1 - row } else { row };
            (row, if flip_columns { columns - 1 - column } else { column })
        };
        let possible = (!flip_rows || rows > 1) && (!flip_columns || columns > 1);
        if possible && explains(&flip) {
            let flips = [(flip_rows, 2), (flip_columns, 1)];
            let axes = flips.iter().filter(|(flipped, _)| *flipped).map(|(_, back)| rank - back);
            return Some(Cause::Mirrored { axes: axes.collect() });
        }
    }
    None
}

/// Right values at wrong places: each slice over the last two axes is moved by whole elements.
pub(super) fn shifted(view: &View) -> Option<Cause> {
    let (rows, columns) = view.slice();
    if view.wrong_count() < MIN_WRONG || !view.varied(view.wrong_places()) {
        return None;
    }
    // Where the expected values rise evenly, those next to them differ by a constant: that may be the mistake as well.
    if rises_evenly(view) {
        return None;
    }
    let shifts =
        (-MAX_SHIFT..=MAX_SHIFT).flat_map(|r| (-MAX_SHIFT..=MAX_SHIFT).map(move |c| (r, c)));
    let mut shifts: Vec<(i64, i64)> = shifts.filter(|&shift| shift != (0, 0)).collect();
    shifts.sort_by_key(|(r, c)| r.abs() + c.abs());
    let per_slice = rows * columns;
    let moved = |place: usize, by: i64, size: usize| {
        usize::try_from(place as i64 - by).ok().filter(|&p| p < size)
    };
    for (down, right) in shifts {
        let (mut covered, mut explained, mut fits) = (0, 0, true);
        for i in 0..view.got.len() {
            let place = i % per_slice;
            let row = moved(place / columns, down, rows);
            let Some((row, column)) = row.zip(moved(place % columns, right, columns)) else {
                continue;
            };
            if !view.fits(i, i - place + row * columns + column) {
                fits = false;
                break;
            }
            covered += 1;
            explained += usize::from(view.wrong[i]);
        }
        if fits && 2 * covered >= view.got.len() && explained >= MIN_WRONG {
            return Some(Cause::Shifted { rows: down, columns: right });
        }
    }
    None
}

/// Exactly those elements are written whose coordinates on two axes are equal, or every so many elements from some one on.
pub(super) fn scattered_written(view: &View) -> Option<Cause> {
    let written: Vec<usize> = (0..view.written.len()).filter(|&i| view.written[i]).collect();
    let axes = view.shape.len();
    let mut pairs = (0..axes).flat_map(|a| (a + 1..axes).map(move |b| (a, b)));
    let on_diagonal = |(a, b): &(usize, usize)| {
        let is_there = |i: usize| {
            let coords = view.coords(i);
            coords[*a] == coords[*b]
        };
        let size = view.shape[*a].min(view.shape[*b]);
        size > 1 && (0..view.written.len()).all(|i| view.written[i] == is_there(i))
    };
    if let Some((first, second)) = pairs.find(on_diagonal) {
        return Some(Cause::DiagonalWritten { first, second });
    }
    let (first, step) = match written[..] {
        [first, second, ..] => (first, second - first),
        _ => return None,
    };
    let is_even = (0..view.written.len())
        .all(|i| view.written[i] == (i >= first && (i - first).is_multiple_of(step)));
    (step > 1 && first < step && is_even).then_some(Cause::EveryNthWritten { first, step })
}

/// How far a start in the wrong place is looked for, in elements.
const MAX_LATE: i64 = 32;

/// Each wrong element holds the value that belongs so many elements before or after it in memory, within one row, slice, or more of them: what
/// was read from the wrong start.
pub(super) fn late(view: &View) -> Option<Cause> {
    if rises_evenly(view) || !view.varied(view.wrong_places()) {
        return None;
    }
    let wrong: Vec<usize> = view.wrong_places().collect();
    let mut run = 1;
    let runs: Vec<usize> = view
        .shape
        .iter()
        .rev()
        .map(|&size| {
            run *= size;
            run
        })
        .collect();
    let explains = |run: usize, by: i64| {
        let mut covered = 0;
        for &i in &wrong {
            let from = (i % run) as i64 - by;
            if (0..run as i64).contains(&from) {
                if !view.fits(i, i - i % run + from as usize) {
                    return false;
                }
                covered += 1;
            }
        }
        covered >= MIN_WRONG && 2 * covered >= wrong.len()
    };
    // Of the same value everywhere nobody can tell where it comes from.
    let mut values: Vec<u64> = wrong.iter().map(|&i| view.got[i].to_bits()).collect();
    values.sort_unstable();
    values.dedup();
    if values.len() <= MIN_WRONG {
        return None;
    }
    runs.into_iter().rev().find_map(|run| {
        let by = (1..=MAX_LATE).flat_map(|by| [by, -by]).find(|&by| explains(run, by))?;
        Some(Cause::Late { by })
    })
}

/// Coordinate 0 of an outer axis is correct, every other coordinate has errors.
pub(super) fn only_first_correct(view: &View) -> Option<Cause> {
    if view.wrong_count() < MIN_WRONG {
        return None;
    }
    let mut stride = view.wrong.len();
    for (axis, &size) in view.shape.iter().enumerate() {
        stride /= size.max(1);
        // A single row or column is no slice worth naming.
        if size < 2 || axis + 1 == view.shape.len() {
            continue;
        }
        let mut wrong_at = vec![0usize; size];
        for i in view.wrong_places() {
            wrong_at[i / stride % size] += 1;
        }
        if wrong_at[0] == 0 && wrong_at[1..].iter().all(|&wrong| wrong > 0) {
            return Some(Cause::OnlyFirstRight { axis });
        }
    }
    only_first_slice_correct(view)
}

/// Of all slices over the last two axes the first is correct, and every other one has errors.
fn only_first_slice_correct(view: &View) -> Option<Cause> {
    let (rows, columns) = view.slice();
    let slices: Vec<&[bool]> = view.wrong.chunks(rows * columns).collect();
    let (first, rest) = slices.split_first()?;
    let is_clear = view.shape.len() > 3 && !first.contains(&true);
    (is_clear && rest.iter().all(|slice| slice.contains(&true)))
        .then_some(Cause::OnlyFirstSliceRight)
}

/// The box of all elements that were not written, or of all that were.
pub(super) fn part_written(view: &View) -> Option<Cause> {
    let part = |written: bool| {
        let mut places = (0..view.written.len()).filter(|&i| view.written[i] == written);
        let ranges = around(view, &mut places);
        let count = view.written.iter().filter(|&&w| w == written).count();
        (volume(&ranges) == count)
            .then(|| Cause::PartWritten { ranges: named(view, &ranges), written })
    };
    part(false).or_else(|| part(true))
}

/// All errors lie in a part of the tensor. A few make one only if they fill half of it: around any two there is some.
pub(super) fn region(view: &View) -> Option<Cause> {
    let ranges = around_wrong(view)?;
    let is_few = view.wrong_count() < MIN_WRONG;
    if is_few && volume(&around(view, &mut view.wrong_places())) > 2 * view.wrong_count() {
        return None;
    }
    Some(Cause::Region { ranges, value: same_where_wrong(view) })
}

/// All errors near the edges of the slices, the inside correct.
pub(super) fn border(view: &View) -> Option<Cause> {
    let (rows, columns) = view.slice();
    if view.wrong_count() < MIN_WRONG || rows < 2 {
        return None;
    }
    let depth = |i: usize| {
        let place = i % (rows * columns);
        let (row, column) = (place / columns, place % columns);
        row.min(rows - 1 - row).min(column).min(columns - 1 - column)
    };
    let width = 1 + view.wrong_places().map(depth).max()?;
    // The inside must be large enough that its being correct means something.
    let inside = rows.saturating_sub(2 * width) * columns.saturating_sub(2 * width);
    (4 * inside >= rows * columns).then_some(Cause::Border { width })
}
