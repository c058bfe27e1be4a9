//! Patterns in the values: the same everywhere, a common factor, a common offset.

use super::order::axes;
use super::view::View;
use crate::verdict::Cause;
use puzzle::tensor::DType;

/// Half the distance from 1 to the next larger value of the type.
fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::I32 | DType::I64 | DType::U8 => f64::EPSILON / 2.0,
        DType::F32 => f64::from(f32::EPSILON) / 2.0,
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
    }
}

/// A few roundings of a value of this size: a pattern holds for rounded values.
pub(super) fn slack(view: &View, size: f64) -> f64 {
    8.0 * unit_roundoff(view.dtype) * size
}

/// So many whole numbers are no pattern.
const FEW: usize = 4;

/// All elements are NaN, or all are zero.
pub(super) fn same_everywhere(view: &View) -> Option<Cause> {
    let all = |test: fn(f64) -> bool| {
        view.got.iter().zip(view.written).all(|(&got, &written)| written && test(got))
    };
    if all(f64::is_nan) {
        return Some(Cause::AllNan);
    }
    // A few whole numbers are flags or counts, and 0 is as good as any.
    let few = !view.dtype.is_float() && view.got.len() <= FEW;
    (!few && all(|got| got == 0.0)).then_some(Cause::AllZero)
}

/// got = factor * expected, everywhere.
pub(super) fn factor(view: &View) -> Option<Cause> {
    let size = |i: usize| view.expected[i].value.abs();
    let nonzero = || (0..view.got.len()).filter(|&i| size(i) > 0.0);
    let largest = nonzero().max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
    let factor = view.got[largest] / view.expected[largest].value;
    let count = nonzero().count();
    // The rounding of short floats hides a factor, and one that few elements show is none.
    let is_short = matches!(view.dtype, DType::F16 | DType::BF16);
    let is_shown = !is_short || 2 * view.wrong_count() >= count;
    let enough = count >= 4 && is_shown && view.varied(nonzero());
    if !enough || !factor.is_finite() || factor == 0.0 || factor == 1.0 {
        return None;
    }
    let holds = (0..view.got.len()).all(|i| is_times(view, i, factor));
    holds.then_some(Cause::Factor { factor, size: None })
}

/// Nearer to 1 than this a factor may be rounding, or a single small error.
const NEAR_ONE: f64 = 1e-3;

/// Is this element `factor` times what is expected, but for rounding? Where the factor is nearly 1, the rounding must be small beside
/// what the factor changes.
pub(super) fn is_times(view: &View, i: usize, factor: f64) -> bool {
    let expected = &view.expected[i];
    let scaled = factor * expected.value;
    let rounding = factor.abs() * expected.bound + slack(view, scaled.abs());
    let change = (factor - 1.0).abs();
    let hides = EQUAL * change * expected.value.abs();
    // Types of fewer digits hide more.
    let is_near_one = change < NEAR_ONE.max(64.0 * unit_roundoff(view.dtype));
    let allowed = if is_near_one { rounding.min(hides) } else { rounding };
    view.written[i] && (view.got[i] - scaled).abs() <= allowed
}

/// got = factor * expected, with a factor for each coordinate of one axis: a sum that all of a row is divided by, for example.
pub(super) fn factor_along(view: &View) -> Option<Cause> {
    let n = view.got.len();
    for (axis, (size, stride)) in axes(view).into_iter().enumerate() {
        if size < 2 || n / size < 4 {
            continue;
        }
        let group = |i: usize| i / stride % size;
        let factor = |g: usize| {
            // By their places: an axis may be as long as the tensor.
            let of_group = || {
                let starts = (0..n).step_by(size * stride).map(|start| start + g * stride);
                starts.flat_map(|start| start..start + stride)
            };
            let largest = |a: &usize, b: &usize| {
                view.expected[*a].value.abs().total_cmp(&view.expected[*b].value.abs())
            };
            let i = of_group().max_by(largest)?;
            let factor = view.got[i] / view.expected[i].value;
            let varied = view.varied(of_group());
            (varied && factor.is_finite() && factor != 0.0).then_some(factor)
        };
        let Some(factors) = (0..size).map(factor).collect::<Option<Vec<f64>>>() else { continue };
        if (0..n).all(|i| is_times(view, i, factors[group(i)])) {
            return Some(Cause::FactorAlong { axis, first: factors[0] });
        }
    }
    None
}

/// Differences that are called equal differ by no more than this part of the largest: where rounding hides more than that, nothing
/// is known of a pattern.
pub(super) const EQUAL: f64 = 1e-2;

/// Is (got - expected) of this element `by`, but for rounding, and but for a small part of `scale`, the size of such differences?
pub(super) fn is_off_by(view: &View, i: usize, by: f64, scale: f64) -> bool {
    let expected = &view.expected[i];
    let size = expected.value.abs() + view.got[i].abs() + by.abs();
    let rounding = 2.0 * expected.bound + slack(view, size);
    view.written[i] && (difference(view, i) - by).abs() <= rounding.min(EQUAL * scale)
}

/// The largest difference of an element.
pub(super) fn largest_difference(view: &View) -> f64 {
    (0..view.got.len()).map(|i| difference(view, i).abs()).fold(0.0, f64::max)
}

pub(super) fn difference(view: &View, i: usize) -> f64 {
    view.got[i] - view.expected[i].value
}

/// `got = expected + times * vector[coordinate]`.
pub(super) fn addend(view: &View) -> Option<Cause> {
    let n = view.got.len();
    let scale = largest_difference(view);
    for (size, stride) in axes(view) {
        for (name, vector) in view.vectors.iter().filter(|(_, v)| v.len() == size) {
            let largest = (0..size).max_by(|&a, &b| vector[a].abs().total_cmp(&vector[b].abs()))?;
            let times = (difference(view, largest * stride) / vector[largest]).round();
            // One element of the vector is a weak witness: only that it is left out or added twice is believed, and
            // not of a 1, of which everything is a multiple.
            let weak = size == 1 && (times.abs() != 1.0 || vector[0].abs() == 1.0);
            // Of flags everything that depends on them is a multiple.
            let mut sizes = vector.iter().map(|value| value.abs()).filter(|&value| value != 0.0);
            let varied =
                sizes.next().is_some_and(|one| size == 1 || sizes.any(|other| other != one));
            let possible = varied && n >= 4 && times != 0.0 && times.abs() < 1e6 && !weak;
            let holds = |i: usize| is_off_by(view, i, times * vector[i / stride % size], scale);
            if possible && (0..n).all(holds) {
                return Some(Cause::Addend { vector: (*name).to_owned(), times: times as i64 });
            }
        }
    }
    None
}

/// got = expected + constant, everywhere or for each coordinate of one axis.
pub(super) fn offset(view: &View) -> Option<Cause> {
    let n = view.got.len();
    // Where the expected values rise evenly, a value from the wrong place is off by a constant too.
    if n < 4 || rises_evenly(view) {
        return None;
    }
    let by = difference(view, 0);
    let scale = largest_difference(view);
    // Infinitely far is no amount.
    if !scale.is_finite() {
        return None;
    }
    if by != 0.0 && view.varied(0..n) && (0..n).all(|i| is_off_by(view, i, by, scale)) {
        return Some(Cause::Offset { by });
    }
    for (axis, (size, stride)) in axes(view).into_iter().enumerate() {
        if size < 2 || n / size < 4 {
            continue;
        }
        let group = |i: usize| i / stride % size;
        let mut first = vec![None; size];
        let mut holds = |i: usize| {
            let by = *first[group(i)].get_or_insert_with(|| difference(view, i));
            is_off_by(view, i, by, scale)
        };
        let varied = |g: usize| view.varied((0..n).filter(|&i| group(i) == g));
        if (0..n).all(&mut holds) && (0..size).all(varied) {
            return Some(Cause::OffsetAlong { axis });
        }
    }
    None
}

/// Of whole numbers: got = expected + a multiple of each coordinate, as where positions are counted from another start.
pub(super) fn offset_in_steps(view: &View) -> Option<Cause> {
    let n = view.got.len();
    if view.dtype.is_float() || n < 4 || rises_evenly(view) || !view.varied(0..n) {
        return None;
    }
    let axes = axes(view);
    let step = |&(size, stride): &(usize, usize)| {
        if size > 1 { difference(view, stride) - difference(view, 0) } else { 0.0 }
    };
    let steps: Vec<f64> = axes.iter().map(step).collect();
    // Several elements that should be off alike are what shows that they are.
    let alike: usize =
        axes.iter().zip(&steps).filter(|(_, step)| **step == 0.0).map(|(a, _)| a.0).product();
    let by = difference(view, 0);
    let wanted = |i: usize| {
        let coords = view.coords(i).into_iter().zip(&steps);
        by + coords.map(|(coord, step)| coord as f64 * step).sum::<f64>()
    };
    let holds = |i: usize| view.written[i] && difference(view, i) == wanted(i);
    (alike >= 4 && (0..n).all(holds)).then_some(Cause::OffsetInSteps { by, steps })
}

/// All wrong elements are off by the same amount, though they should not be the same.
pub(super) fn offset_where_wrong(view: &View) -> Option<Cause> {
    let first = view.wrong_places().next()?;
    let (by, scale) = (difference(view, first), largest_difference(view));
    let is_clear = view.wrong_count() >= 4 && view.varied(view.wrong_places()) && scale.is_finite();
    let holds = is_clear
        && !rises_evenly(view)
        && view.wrong_places().all(|i| is_off_by(view, i, by, scale));
    holds.then_some(Cause::OffsetWhereWrong { by })
}

/// The value of all wrong elements, if it is the same and they should not be: where a kernel stores nothing but what it started from.
pub(super) fn same_where_wrong(view: &View) -> Option<f64> {
    let mut wrong = view.wrong_places();
    let first = wrong.next()?;
    let (value, expected) = (view.got[first], view.expected[first].value);
    let is_same = |i: usize| view.written[i] && view.got[i] == value;
    let mut differ = is_limit(value);
    // Two elements may be the same by chance.
    let least = if differ { 2 } else { 3 };
    let all = is_same(first)
        && wrong.all(|i| {
            differ |= view.expected[i].value != expected;
            is_same(i)
        });
    (all && differ && view.wrong_count() >= least).then_some(value)
}

/// Whether a value is one that searches for a largest or smallest value start from.
fn is_limit(value: f64) -> bool {
    let limits = [
        f64::from(f32::MAX),
        f64::from(f32::MIN_POSITIVE),
        f64::from(i32::MIN),
        f64::from(i32::MAX),
        65_504.0,
    ];
    limits.iter().any(|limit| value.abs() == limit.abs())
}

/// Are the expected values of every slice those of a plane?
pub(super) fn rises_evenly(view: &View) -> bool {
    let (rows, columns) = view.slice();
    let flat = |values: [f64; 4]| {
        let [a, b, c, d] = values;
        let size = values.iter().map(|v| v.abs()).sum();
        (a - b - c + d).abs() <= slack(view, size)
    };
    view.expected.chunks(rows * columns).all(|slice| {
        let at = |row: usize, column: usize| slice[row * columns + column].value;
        (0..rows).all(|r| {
            (0..columns).all(|c| {
                let (below, right) = (r + 1 < rows, c + 1 < columns);
                (c + 2 >= columns || flat([at(r, c), at(r, c + 1), at(r, c + 1), at(r, c + 2)]))
                    && (r + 2 >= rows || flat([at(r, c), at(r + 1, c), at(r + 1, c), at(r + 2, c)]))
                    && (!below
                        || !right
                        || flat([at(r, c), at(r + 1, c), at(r, c + 1), at(r + 1, c + 1)]))
            })
        })
    })
}

/// An f16 tells values apart to 2^-11; a sum of its products errs by little more than that part of its terms.
const HALF: f64 = 1.0 / 512.0;
/// With so few wrong elements, or so many terms, a small error may be a small term that is missing.
const MIN_ROUNDED: usize = 32;
const MAX_ROUNDED_TERMS: u64 = 512;

/// Real values, many of them wrong, all by very little.
pub(super) fn rounding(view: &View) -> Option<Cause> {
    let mut largest = 0.0f64;
    let mut count = 0;
    for i in view.wrong_places() {
        let expected = &view.expected[i];
        let part = difference(view, i).abs() / expected.magnitude;
        // Exact values leave nothing to round: a small error is a wrong term there.
        let small = view.written[i] && expected.bound > 0.0 && part <= HALF;
        if !small || expected.terms > MAX_ROUNDED_TERMS {
            return None;
        }
        largest = largest.max(part);
        count += 1;
    }
    (count >= MIN_ROUNDED).then_some(Cause::Rounding { largest })
}

/// Short floats of which none is farther from zero than expected, and all are next to it: cut off where they should be rounded.
pub(super) fn cut_off(view: &View) -> Option<Cause> {
    if !matches!(view.dtype, DType::F16 | DType::BF16) || view.wrong_count() < MIN_ROUNDED {
        return None;
    }
    let unit = 2.0 * unit_roundoff(view.dtype);
    let holds = |i: usize| {
        let (got, wanted) = (view.got[i].abs(), view.expected[i].value.abs());
        let nearly = wanted * (1.0 + f64::from(f32::EPSILON));
        view.written[i] && got <= nearly && wanted - got <= unit * wanted
    };
    (0..view.got.len()).all(holds).then_some(Cause::CutOff)
}
