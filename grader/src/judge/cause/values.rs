//! Patterns in the values: the same everywhere, a common factor, a common offset.

use super::View;
use crate::tensor::DType;
use crate::verdict::Cause;

/// Half the distance from 1 to the next larger value of the type.
fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::I32 => f64::EPSILON / 2.0,
        DType::F32 => f64::from(f32::EPSILON) / 2.0,
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
    }
}

/// A few roundings of a value of this size: a pattern holds for rounded values.
fn slack(view: &View, size: f64) -> f64 {
    8.0 * unit_roundoff(view.dtype) * size
}

/// All NaN, all zero.
pub(super) fn same_everywhere(view: &View) -> Option<Cause> {
    let all = |test: fn(f64) -> bool| {
        view.got.iter().zip(view.written).all(|(&got, &written)| written && test(got))
    };
    if all(f64::is_nan) {
        return Some(Cause::AllNan);
    }
    all(|got| got == 0.0).then_some(Cause::AllZero)
}

/// got = factor * expected, everywhere.
pub(super) fn factor(view: &View) -> Option<Cause> {
    let size = |i: usize| view.expected[i].value.abs();
    let nonzero = || (0..view.got.len()).filter(|&i| size(i) > 0.0);
    let largest = nonzero().max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
    let factor = view.got[largest] / view.expected[largest].value;
    let enough = nonzero().count() >= 4 && view.varied(nonzero());
    // Nearer to 1 than this it is rounding, or a single small error.
    if !enough || !factor.is_finite() || factor == 0.0 || (factor - 1.0).abs() < 1e-3 {
        return None;
    }
    let holds = (0..view.got.len()).all(|i| {
        let scaled = factor * view.expected[i].value;
        let allowed = factor.abs() * view.expected[i].bound + slack(view, scaled.abs());
        view.written[i] && (view.got[i] - scaled).abs() <= allowed
    });
    holds.then(|| Cause::Factor { factor, size: size_named(view, factor) })
}

/// The name of the only size that equals `factor` or its inverse.
fn size_named(view: &View, factor: f64) -> Option<String> {
    let near = |size: i64| {
        let size = size as f64;
        size > 1.0
            && [size, 1.0 / size].iter().any(|s| (factor - s).abs() <= slack(view, 2.0 * s.abs()))
    };
    let mut names = view.dims.iter().filter(|&(_, &size)| near(size)).map(|(name, _)| name);
    let name = names.next()?;
    names.next().is_none().then(|| name.clone())
}

/// got = expected + constant, everywhere or for each coordinate of one axis.
pub(super) fn offset(view: &View) -> Option<Cause> {
    let n = view.got.len();
    let difference = |i: usize| view.got[i] - view.expected[i].value;
    let is_off_by = |i: usize, by: f64| {
        let right = &view.expected[i];
        let size = right.value.abs() + view.got[i].abs() + by.abs();
        view.written[i] && (difference(i) - by).abs() <= 2.0 * right.bound + slack(view, size)
    };
    if n >= 4 && view.varied(0..n) {
        let by = difference(0);
        if by != 0.0 && (0..n).all(|i| is_off_by(i, by)) {
            return Some(Cause::Offset { by });
        }
    }
    let mut stride = n;
    for (axis, &size) in view.shape.iter().enumerate() {
        stride /= size.max(1);
        let group = |i: usize| i / stride.max(1) % size.max(1);
        let mut first = vec![None; size];
        let enough = size >= 2 && n / size >= 4;
        let holds =
            || (0..n).all(|i| is_off_by(i, *first[group(i)].get_or_insert_with(|| difference(i))));
        let varied = |g: usize| view.varied((0..n).filter(|&i| group(i) == g));
        if enough && { holds }() && (0..size).all(varied) {
            return Some(Cause::OffsetAlong { axis });
        }
    }
    None
}
