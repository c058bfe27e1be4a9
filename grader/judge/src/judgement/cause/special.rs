//! Patterns in what the wrong elements are computed from: values that are special to floating-point arithmetic.

use super::view::{Alike, View};
use crate::verdict::{Cause, SpecialValue};
use puzzle::tensor::DType;

/// Of more kinds at once nobody learns anything.
const MOST_KINDS: usize = 2;

/// Elements are wrong where another tensor has a special value, wherever it has one, and nowhere else.
pub(super) fn values(view: &View) -> Option<Cause> {
    view.alike.iter().find_map(|alike| {
        let kinds: Vec<Option<SpecialValue>> =
            alike.values.iter().map(|&value| kind(alike, value)).collect();
        let mut of_wrong: Vec<SpecialValue> =
            view.wrong_places().map(|at| kinds[at]).collect::<Option<_>>()?;
        of_wrong.sort();
        of_wrong.dedup();
        let holds = |(kind, wrong): (&Option<SpecialValue>, &bool)| {
            kind.is_some_and(|kind| of_wrong.contains(&kind)) == *wrong
        };
        let all = kinds.iter().zip(view.wrong).all(holds);
        let some_right = view.wrong.contains(&false);
        (all && some_right && of_wrong.len() <= MOST_KINDS)
            .then(|| Cause::Special { tensor: alike.name.to_owned(), kinds: of_wrong })
    })
}

/// Another tensor is infinite or NaN, in one way, in every wrong element, and not in every element.
pub(super) fn in_wrong(view: &View) -> Option<Cause> {
    view.alike.iter().find_map(|alike| {
        let kinds: Vec<Option<SpecialValue>> =
            alike.values.iter().map(|&value| kind(alike, value)).collect();
        let first = kinds[view.wrong_places().next()?]?;
        let is_first = |at: &usize| kinds[*at] == Some(first);
        let not_finite = matches!(first, SpecialValue::Infinite { .. } | SpecialValue::Nan { .. });
        let correct = (0..kinds.len()).filter(|&at| !view.wrong[at]);
        let (there, others): (Vec<usize>, Vec<usize>) = correct.partition(is_first);
        let holds = not_finite && !others.is_empty() && view.wrong_places().all(|at| is_first(&at));
        holds.then(|| Cause::SpecialInWrong {
            tensor: alike.name.to_owned(),
            kind: first,
            correct: there.len(),
        })
    })
}

fn kind(alike: &Alike, value: f64) -> Option<SpecialValue> {
    let smallest = match alike.dtype {
        DType::F16 => 2f64.powi(-14),
        DType::F32 | DType::BF16 => f32::MIN_POSITIVE.into(),
        DType::F64 => f64::MIN_POSITIVE,
        DType::I32 | DType::I64 | DType::U8 => return None,
    };
    let negative = value.is_sign_negative();
    Some(match value {
        v if v.is_nan() => SpecialValue::Nan { negative },
        v if v.is_infinite() => SpecialValue::Infinite { negative },
        0.0 => SpecialValue::Zero { negative },
        v if v.abs() < smallest => SpecialValue::Subnormal { negative },
        _ => return None,
    })
}
