//! The likely cause of an error, in one sentence.

use super::number::{count, number, signed};
use crate::tensor::Tensor;
use crate::verdict::Cause;

/// One sentence, or two short ones: what the pattern is, then where to look.
pub(super) fn sentence(cause: &Cause, tensor: &Tensor, source: &str) -> String {
    let name = &tensor.name;
    let axis = |axis: usize| axis_name(tensor, axis);
    match cause {
        Cause::NothingWritten if source.contains("TODO") => {
            format!("the kernel wrote nothing to {name}, and its TODOs are still there: start with the first.")
        }
        Cause::NothingWritten => {
            format!("the kernel wrote nothing to {name}: does every thread return early, or store elsewhere?")
        }
        Cause::OnlyStartWritten { count: n, block } => only_start(tensor, *n, *block),
        Cause::AllNan => "every element is NaN: is the sum set to 0 before the loop?".into(),
        Cause::AllZero => "every element is 0: is anything ever added to the sum?".into(),
        Cause::Factor { factor, size } => format!("looks like {}.", factor_words(*factor, size.as_deref())),
        Cause::Offset { by } => {
            let by = signed(*by);
            format!("every element is off by {by}: looks like the sum does not start at 0, or one constant is wrong.")
        }
        Cause::OffsetAlong { axis: a } => format!(
            "each element is off by an amount that depends on its {} only: looks like a bias that is left out or \
             added twice.",
            axis(*a)
        ),
        Cause::Transposed => format!(
            "looks like the last two axes are swapped: {} hold the right values, stored column by column.",
            slices(tensor)
        ),
        Cause::Mirrored { axes } if axes.len() == 2 => {
            "looks like each slice is rotated by 180 degrees: the right values, in reverse along both axes.".into()
        }
        Cause::Mirrored { axes } => {
            let along = axes.first().map(|&a| axis(a)).unwrap_or_default();
            format!("looks like the values are stored in reverse along the {along}.")
        }
        Cause::Shifted { rows, columns } => {
            let step = |by: i64, noun: &str| (by != 0).then(|| format!("{by:+} {noun}"));
            let steps: Vec<String> =
                [step(*rows, "along the last axis but one"), step(*columns, "along the last axis")]
                    .into_iter()
                    .flatten()
                    .collect();
            format!("looks like the right values, moved by {}: is an offset left out?", steps.join(" and "))
        }
        Cause::OnlyFirstRight { axis: a } => format!(
            "only {} is right, the errors begin at coordinate 1 of the {}: looks like that coordinate is left out \
             of an index.",
            pattern(tensor, |i| (i == *a).then_some((0, 0))),
            axis(*a)
        ),
        Cause::Region { ranges } => region(tensor, ranges),
        Cause::Border { width } => format!(
            "all errors lie within {} of the edges, the inside is right: looks like a bounds check.",
            count(*width, "element")
        ),
    }
}

fn only_start(tensor: &Tensor, n: usize, block: usize) -> String {
    let rest = tensor.len().saturating_sub(n);
    let written = format!(
        "only the first {} written",
        if n == 1 { "element is".into() } else { format!("{n} elements are") }
    );
    if n == block {
        return format!(
            "{written}, as many as a block has threads: is blockIdx.x part of the thread's number?"
        );
    }
    if block > 0 && n.is_multiple_of(block) && rest < block {
        return format!(
            "{written}, whole blocks of {block}: looks like the last block, which is not full, does nothing."
        );
    }
    format!("{written}: nothing from {} on.", tensor.element_name(n))
}

fn factor_words(factor: f64, size: Option<&str>) -> String {
    let times = |n: &str| format!("every element is {n} times what is right");
    let text = number(factor);
    match size {
        Some(size) if factor > 1.0 => format!("{}: as if multiplied by {size}", times(&text)),
        Some(size) => format!("{}: as if divided by {size}", times(&text)),
        None if factor == 2.0 => {
            "every element is twice what is right: is each term added twice".into()
        }
        None if factor == -1.0 => "every element has the wrong sign".into(),
        None => format!("{}: a factor too much, or one left out", times(&text)),
    }
}

fn region(tensor: &Tensor, ranges: &[Option<(usize, usize)>]) -> String {
    let place = pattern(tensor, |i| ranges.get(i).copied().flatten());
    let mut bounded = ranges.iter().enumerate().filter_map(|(axis, r)| r.map(|r| (axis, r)));
    if let (Some((axis, (first, last))), None) = (bounded.next(), bounded.next()) {
        let size = tensor.shape[axis];
        if first == last && last + 1 == size && axis + 2 >= tensor.shape.len() {
            let what = if axis + 1 == tensor.shape.len() { "column" } else { "row" };
            return format!(
                "all errors lie in the last {what}, {place}: looks like a bound that is off by one."
            );
        }
    }
    format!("all errors lie in {place}.")
}

/// `grad(input)[*, 1, *, 3..4]`.
fn pattern(tensor: &Tensor, range: impl Fn(usize) -> Option<(usize, usize)>) -> String {
    let axes: Vec<String> = (0..tensor.shape.len())
        .map(|axis| match range(axis) {
            None => "*".into(),
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}..{last}"),
        })
        .collect();
    format!("{}[{}]", tensor.name, axes.join(", "))
}

/// `first coordinate`, `second coordinate`, ...
fn axis_name(tensor: &Tensor, axis: usize) -> String {
    let ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
    let ordinal = if axis > 0 && axis + 1 == tensor.shape.len() {
        "last"
    } else {
        ordinals.get(axis).unwrap_or(&"next")
    };
    format!("{ordinal} coordinate")
}

fn slices(tensor: &Tensor) -> String {
    if tensor.shape.len() > 2 { "the slices".into() } else { tensor.name.clone() }
}
