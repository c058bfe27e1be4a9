//! Why an output is wrong, in one sentence: the wrong formula that explains it, or what all its errors have in common. Only what was
//! checked is said.

use super::number::{count, number, pair, signed};
use super::terms::author;
use device::finding::SourceLoc;
use judge::verdict::{Cause, FormulaVariant, PartKind, SpecialValue, WrongBranch, WrongPart};
use puzzle::tensor::Tensor;
use std::cmp::Ordering;

/// What the wrong elements have in common.
pub(super) fn sentence(cause: &Cause, tensor: &Tensor, source: &str) -> String {
    let name = tensor.name.trim_end_matches('\'');
    let who = author(source);
    let axis = |axis: usize| axis_name(tensor, axis);
    match cause {
        Cause::NothingWritten if source.contains("TODO") => {
            format!(
                "{who} wrote nothing to {name}, and its TODOs are still there: start with the first."
            )
        }
        Cause::NothingWritten => {
            format!(
                "{who} wrote nothing to {name}: does every thread return early, or store elsewhere?"
            )
        }
        Cause::Unchanged if source.contains("TODO") => {
            format!(
                "nothing changed in {name}, and the TODOs are still there: start with the first."
            )
        }
        Cause::Unchanged => {
            format!(
                "nothing changed in {name}: {who} stored nothing there, or the values that were there."
            )
        }
        Cause::UnchangedWhereWrong { ranges } if ranges.is_empty() => {
            "every wrong element holds what it held before.".into()
        }
        Cause::UnchangedWhereWrong { ranges } => {
            format!("{}; each holds what it held before.", region(tensor, ranges))
        }
        Cause::OnlyStartWritten { count: n, block } => only_start(tensor, *n, *block),
        Cause::PartWritten { ranges, written } => {
            let part = pattern(tensor, |i| ranges.get(i).copied().flatten());
            if *written {
                format!("only {part} is written.")
            } else {
                format!("{part} is never written, and everything else is.")
            }
        }
        Cause::DiagonalWritten { first, second } => format!(
            "only the elements are written whose {} and {} are equal: does one of the two indices come from the other's threads?",
            axis(*first),
            axis(*second)
        ),
        Cause::EveryNthWritten { first, step } => format!(
            "only one of {step} elements is written: {}, {} and so on.",
            tensor.element_name(*first),
            tensor.element_name(first + step)
        ),
        Cause::ExchangedWith { tensor: other } => {
            let other = other.trim_end_matches('\'');
            format!("{name} and {other} hold each other's values.")
        }
        Cause::AllNan => "every element is NaN.".into(),
        Cause::AllZero => "every element is 0.".into(),
        Cause::Factor { factor, size } => factor_words(*factor, size.as_deref()),
        Cause::Addend { vector, times } => addend(vector, *times),
        Cause::Rounding { largest } => {
            // The unit roundoff of half precision.
            let unit = 2f64.powi(-11);
            let half = if (unit / 2.0..=unit).contains(largest) {
                ", as one rounding to half precision makes"
            } else {
                ""
            };
            format!(
                "all errors are small in {name}: at most {} % of the absolute values of the terms{half}.",
                number(two_digits(100.0 * largest))
            )
        }
        Cause::Offset { by } => {
            let by = signed(*by);
            format!("every element is off by {by}.")
        }
        Cause::OffsetWhereWrong { by } => {
            format!("every wrong element is off by {}.", signed(*by))
        }
        Cause::OffsetAlong { axis: a } => format!(
            "each element is off by an amount that depends on its {} only.",
            axis(*a)
        ),
        Cause::OffsetInSteps { by, steps } => {
            let step = |(a, step): (usize, &f64)| {
                (*step != 0.0).then(|| format!("{} times its {}", number(*step), axis(a)))
            };
            let start = (*by != 0.0).then(|| number(*by));
            let all = start.into_iter().chain(steps.iter().enumerate().filter_map(step));
            format!("each element is off by {}.", all.collect::<Vec<_>>().join(" and "))
        }
        Cause::FactorAlong { axis: a, first } => format!(
            "each element is the expected value times a factor that depends on its {} only: {} in {}.",
            axis(*a),
            number(*first),
            pattern(tensor, |i| (i == *a).then_some((0, 0))),
        ),
        Cause::Transposed => format!(
            "the last two axes are swapped: {} hold the expected values, stored column by column.",
            slices(tensor)
        ),
        Cause::Layout { order } => {
            let place = |&a: &usize| axis(a).trim_end_matches(" coordinate").to_owned();
            let order: Vec<String> = order.iter().map(place).collect();
            format!(
                "{name} holds the expected values in another layout: its axes stand in memory in the order {}.",
                order.join(", ")
            )
        }
        Cause::Mirrored { axes } if axes.len() == 2 => {
            "each slice is rotated by 180 degrees: it holds the expected values, in reverse along both axes."
                .into()
        }
        Cause::Mirrored { axes } => {
            let along = axes.first().map(|&a| axis(a)).unwrap_or_default();
            format!("the expected values are stored in reverse along the {along}.")
        }
        Cause::Permuted { axis: a, order } => {
            let list = |all: &mut dyn Iterator<Item = usize>| -> String {
                all.map(|place| place.to_string()).collect::<Vec<_>>().join(", ")
            };
            format!(
                "along its {} the expected values stand in another order: {} hold those of {}.",
                axis(*a),
                list(&mut (0..order.len())),
                list(&mut order.iter().copied()),
            )
        }
        Cause::Repeated { axis: a, order } => repeated(tensor, *a, order),
        Cause::BitsReversed { bits } => format!(
            "every element is the expected one with its {bits} bits in reverse order."
        ),
        Cause::WrongRows { elements, value } => format!(
            "errors lie exactly at the first coordinates for which {elements} is {}.",
            number(*value)
        ),
        Cause::WrongWhere { tensor: other, value, is_output, got } => {
            let verb = if *is_output { "should be" } else { "is" };
            let got = got.map(|got| format!("; each is {}", number(got))).unwrap_or_default();
            format!("wrong exactly where {other} {verb} {}{got}.", number(*value))
        }
        Cause::Exchanged { first, second } => format!(
            "{} and {} hold each other's values.",
            tensor.element_name(*first),
            tensor.element_name(*second)
        ),
        Cause::Paired { axis: a, by } => format!(
            "along its {} elements are exchanged in pairs: each wrong element holds the value that is expected {} away from it, in the other one of its pair.",
            axis(*a),
            count(*by, "element")
        ),
        Cause::Reordered { axis: a, ranges } => {
            let order = format!(
                "{name} holds the expected values, each as often as it should, in another order along its {}",
                axis(*a)
            );
            if ranges.iter().any(Option::is_some) {
                format!("{order}; {}.", region(tensor, ranges))
            } else {
                format!("{order}.")
            }
        }
        Cause::Shifted { rows, columns } => {
            let step = |by: i64, noun: &str| (by != 0).then(|| format!("{by:+} {noun}"));
            let steps: Vec<String> = [
                step(*rows, "along the second-to-last axis"),
                step(*columns, "along the last axis"),
            ]
            .into_iter()
            .flatten()
            .collect();
            format!(
                "these are the expected values, shifted by {}.",
                steps.join(" and ")
            )
        }
        Cause::Late { by } => {
            let place = if *by > 0 { "before" } else { "after" };
            format!(
                "each wrong element holds the value that belongs {} {place} it in memory.",
                count(by.unsigned_abs() as usize, "element")
            )
        }
        Cause::OnlyFirstRight { axis: a } => format!(
            "{} is correct, and every part after it along its {} has errors.",
            pattern(tensor, |i| (i == *a).then_some((0, 0))),
            axis(*a)
        ),
        Cause::OnlyFirstSliceRight => format!(
            "{} is correct, and every other slice over the last two axes has errors.",
            pattern(tensor, |i| (i + 2 < tensor.shape.len()).then_some((0, 0)))
        ),
        Cause::Special { tensor: other, kinds } => {
            let kinds: Vec<&str> = kinds.iter().copied().map(special).collect();
            format!("wrong exactly where {other} is {}.", kinds.join(" or "))
        }
        Cause::SpecialInWrong { tensor: other, kind, correct } => format!(
            "{other} is {} in every wrong element, and in {} too.",
            special(*kind),
            count(*correct, "correct one")
        ),
        Cause::OtherAddend { vector, flat, expected, got } => format!(
            "every wrong element has another element of {vector} than its own added: {} has {vector}[{got}] in the place of {vector}[{expected}].",
            tensor.element_name(*flat)
        ),
        Cause::FactorWhereWrong { factor } => {
            let times = number(*factor) + &part(*factor);
            format!("every wrong element is {times} times the expected value.")
        }
        Cause::MultipleOf { tensor: other, factor: 1.0 } => {
            format!("every wrong element is that of {other} at its place.")
        }
        Cause::MultipleOf { tensor: other, factor } => {
            format!("every wrong element is {} times that of {other} at its place.", number(*factor))
        }
        Cause::StepFactor { factor: -1.0 } => {
            "every element changes by as much as it should, in the other direction.".into()
        }
        Cause::StepFactor { factor } => {
            format!("every element changes by {} times as much as it should.", number(*factor))
        }
        Cause::Fractions { of } => fractions(tensor, of),
        Cause::CutOff => {
            format!("{name} is cut off to its digits, towards 0, and should be rounded to the nearest.")
        }
        Cause::Truncated => {
            "every element is the expected value without its fraction: is a division or a conversion done in whole numbers?".into()
        }
        Cause::Line { factor: -1.0, by: 1.0 } => "every element is 1 minus the expected value.".into(),
        Cause::Line { factor, by } => on_line("element", *factor, *by),
        Cause::LineWhereWrong { factor, by } => on_line("wrong element", *factor, *by),
        Cause::TwoSteps { low, high, below, above } => format!(
            "every wrong element is {} or {}: the one where at most {} is expected, the other from {} on.",
            number(*low),
            number(*high),
            number(*below),
            number(*above)
        ),
        Cause::Renamed { pairs } => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(expected, got)| format!("{} for {}", number(*got), number(*expected)))
                .collect();
            format!("the same number stands wherever another is expected: {}.", pairs.join(", "))
        }
        Cause::Region { ranges, value: None } => format!("{}.", region(tensor, ranges)),
        Cause::Region { ranges, value: Some(value) } => {
            format!("{}; each is {}.", region(tensor, ranges), limit(*value))
        }
        Cause::SameWhereWrong { value } => format!("every wrong element is {}.", limit(*value)),
        Cause::Border { width } => format!(
            "all errors lie within {} of the edges; the interior is correct.",
            count(*width, "element")
        ),
    }
}

/// Which places on an axis hold other values than their own, and whose values are nowhere.
fn repeated(tensor: &Tensor, axis: usize, order: &[usize]) -> String {
    let part = |place: usize| pattern(tensor, |i| (i == axis).then_some((place, place)));
    let moved: Vec<(usize, usize)> =
        order.iter().copied().enumerate().filter(|(to, from)| to != from).collect();
    let (shown, more) = moved.split_at(moved.len().min(MOST_MOVED));
    let mut texts: Vec<String> = shown
        .iter()
        .map(|&(to, from)| format!("{} holds the values expected in {}", part(to), part(from)))
        .collect();
    if !more.is_empty() {
        texts.push(format!("{} more hold those of others", more.len()));
    }
    let lost: Vec<String> = (0..order.len())
        .filter(|place| !order.contains(place))
        .map(|place| place.to_string())
        .collect();
    let (held, lost, name) = (texts.join(", "), lost.join(", "), axis_name(tensor, axis));
    format!("{held}; those of {lost} along the {name} are nowhere.")
}

/// Places with values of others that are listed.
const MOST_MOVED: usize = 2;

fn special(value: SpecialValue) -> &'static str {
    match value {
        SpecialValue::Zero { negative: false } => "0",
        SpecialValue::Zero { negative: true } => "-0",
        SpecialValue::Subnormal { negative: false } => "subnormal and positive",
        SpecialValue::Subnormal { negative: true } => "subnormal and negative",
        SpecialValue::Infinite { negative: false } => "infinity",
        SpecialValue::Infinite { negative: true } => "-infinity",
        SpecialValue::Nan { negative: false } => "NaN",
        SpecialValue::Nan { negative: true } => "NaN with its sign bit set",
    }
}

/// What the formula that explains an output says of the mistake.
pub(super) fn of_variant(variant: &FormulaVariant, tensor: &Tensor) -> String {
    let FormulaVariant { says, confirmed, other_sizes } = variant;
    let runs = match confirmed {
        1 => "a run with other data agrees".to_owned(),
        n => format!("{n} runs with other data agree"),
    };
    let sizes = if *other_sizes { "" } else { ", at the same sizes" };
    format!("{} is exactly what the formula gives if {says} ({runs}{sizes}).", tensor.name)
}

/// What is said of a part of the formula that the kernel computed wrongly on the way to element `flat`.
pub(super) fn of_part(part: &WrongPart, tensor: &Tensor, flat: usize) -> String {
    let WrongPart { text, expected, got, line, confirmed, kind } = part;
    let element = tensor.element_name(flat);
    let (should, is) = pair(*expected, *got);
    let at = line.as_ref().map(|line| format!(" at line {}", line.line)).unwrap_or_default();
    let more = count(*confirmed, "further element");
    let verb = if *confirmed == 1 { "agrees" } else { "agree" };
    match kind {
        PartKind::Rounding => format!(
            "on the way to {element}, a value is rounded to {text}{at}: {should} becomes {is}; without this, nothing is wrong there ({more} {verb})."
        ),
        PartKind::NotFinite => format!(
            "{text}, which is {is}, takes part in {element} and should not: a product with 0 is NaN, too. Without it, nothing is wrong there."
        ),
        PartKind::Overflow(operands) => format!(
            "on the way to {element}, {} comes out as {is}{at}: it is the first value there that is {}.",
            step(text, *operands),
            if operands.iter().all(|o| o.is_finite()) { "not a finite number" } else { "NaN" }
        ),
        PartKind::LostDigits(operands) => format!(
            "rounding alone makes {element} wrong: {}{at} comes out as {is} and would be {should} without any rounding before it; with this value nothing is wrong there ({more} {verb}).",
            step(text, *operands)
        ),
        PartKind::Value => format!(
            "on the way to {element}, {text} comes out as {is}{at}, and should be {should}; nothing else is wrong there ({more} {verb})."
        ),
    }
}

/// A step of a computation with its operands: `1024.5 - 1024`, `exp2(800)`.
fn step(operation: &str, [a, b]: [f64; 2]) -> String {
    let number = |value: f64| format!("{}", value as f32);
    match operation {
        "+" if b < 0.0 => format!("{} - {}", number(a), number(-b)),
        "+" if a < 0.0 => format!("{} - {}", number(b), number(-a)),
        "+" | "*" => format!("{} {operation} {}", number(a), number(b)),
        "div" => format!("{} / {}", number(a), number(b)),
        "dot" => "a product of matrices".into(),
        "f16" => format!("{} in half precision", number(a)),
        "bf16" => format!("{} in bfloat16", number(a)),
        "exp2" => {
            let natural = (a * std::f64::consts::LN_2) as f32;
            format!("exp({natural}), computed as 2 to the power of {},", number(a))
        }
        "log2" => format!("the logarithm of {}", number(a)),
        "sqrt" => format!("the square root of {}", number(a)),
        "rsqrt" => format!("1 / sqrt({})", number(a)),
        function => format!("{function}({})", number(a)),
    }
}

/// Which condition of the formula the wrong elements contradict.
pub(super) fn of_branch(branch: &WrongBranch) -> String {
    let WrongBranch { holds, each, comparisons, taken, only_where } = branch;
    let many = comparisons.len() > 1;
    let list = all(comparisons);
    let (found, wanted) = match (holds, each, many) {
        (true, true, false) => (format!("{list} holds in every wrong element"), "it does not"),
        (true, true, true) => (format!("{list} hold in every wrong element"), "they do not"),
        (false, true, false) => (format!("{list} holds in no wrong element"), "it does"),
        (false, true, true) => (format!("{list} hold in no wrong element"), "they do"),
        (true, false, _) => (format!("in each wrong element one of {list} holds"), "none does"),
        (false, false, _) => {
            (format!("in each wrong element one of {list} does not hold"), "all do")
        }
    };
    let side = match only_where {
        None => "",
        Some(Ordering::Less) => {
            ", and its left side is smaller than the right one there and nowhere else"
        }
        Some(Ordering::Equal) => ", and its sides are equal there and nowhere else",
        Some(Ordering::Greater) => {
            ", and its left side is larger than the right one there and nowhere else"
        }
    };
    let taken = taken.as_ref().map(|taken| format!(": {taken}")).unwrap_or_default();
    format!("{found}{side}; each has the value for when {wanted}{taken}.")
}

/// Comparisons of a condition that are shown.
const MOST_COMPARISONS: usize = 3;

/// The texts in a list; of many the first.
fn all(texts: &[String]) -> String {
    let (shown, more) = texts.split_at(texts.len().min(MOST_COMPARISONS));
    match (shown, more.len()) {
        ([one], 0) => one.clone(),
        ([rest @ .., last], 0) => format!("{} and {last}", rest.join(", ")),
        (shown, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A line that keeps fewer digits than the output has.
pub(super) fn of_half_step(line: &SourceLoc, tensor: &Tensor) -> String {
    format!(
        "line {} computes in half precision, which keeps three digits; {} has those of a float.",
        line.line,
        tensor.name.trim_end_matches('\'')
    )
}

/// Which step of several computes an output wrongly: what it is computed from is correct.
pub(super) fn of_step(tensor: &Tensor, sources: &[String]) -> String {
    let verb = if sources.len() == 1 { "is" } else { "are" };
    let sources = sources.join(" and ");
    format!(
        "{} is the first wrong output: {sources}, from which it is computed, {verb} correct.",
        tensor.name
    )
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
            "{written}, whole blocks of {block}: the last, partial block wrote nothing."
        );
    }
    format!("{written}: nothing from {} on.", tensor.element_name(n))
}

fn addend(vector: &str, times: i64) -> String {
    let off = match times {
        -1 => format!("too small by the corresponding element of {vector}"),
        1 => format!("too large by the corresponding element of {vector}"),
        n => format!("off by {n} times the corresponding element of {vector}"),
    };
    format!("every element is {off}.")
}

fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powi(value.log10().floor() as i32 - 1);
    if unit > 0.0 { (value / unit).round() * unit } else { value }
}

/// Only what was checked: a factor can come about in many ways.
/// That elements are a multiple of the expected value and a number added to it.
fn on_line(which: &str, factor: f64, by: f64) -> String {
    let (sign, by) = if by < 0.0 { ("-", -by) } else { ("+", by) };
    format!("every {which} is {} times the expected value {sign} {}.", number(factor), number(by))
}

/// Which fractions of their expected values elements are.
fn fractions(tensor: &Tensor, of: &[(usize, i64, i64)]) -> String {
    let ratio = |a: i64, b: i64| if b == 1 { a.to_string() } else { format!("{a}/{b}") };
    match of {
        [(_, a, b), rest @ ..] if rest.iter().all(|other| (other.1, other.2) == (*a, *b)) => {
            let times = if *b == 1 { "times" } else { "of" };
            format!("every wrong element is {} {times} the expected value.", ratio(*a, *b))
        }
        _ => {
            let one = |&(flat, a, b)| format!("{} is {}", tensor.element_name(flat), ratio(a, b));
            let each: Vec<String> = of.iter().map(one).collect();
            format!("divided by what is expected, {}.", each.join(", "))
        }
    }
}

/// A factor that is a part of 1, such as a ninth, in brackets.
fn part(factor: f64) -> String {
    let whole = factor.recip().round();
    let is_part = whole.abs() > 2.0 && whole.abs() < 1e5 && (factor * whole - 1.0).abs() < 1e-6;
    // Of 0.1 and 0.01 everybody sees it.
    let is_plain = number(factor).len() <= 5;
    let sign = if whole < 0.0 { "-" } else { "" };
    if is_part && !is_plain { format!(" ({sign}1/{})", whole.abs()) } else { String::new() }
}

fn factor_words(factor: f64, size: Option<&str>) -> String {
    let times =
        format!("every element is {}{} times the expected value", number(factor), part(factor));
    match size {
        Some(size) if factor > 1.0 => format!("{times}, and {size} is {}.", number(factor)),
        Some(size) => format!("{times}, and {size} is {}.", number(factor.recip().round())),
        None if factor == -1.0 => "every element has the wrong sign.".into(),
        None => format!("{times}."),
    }
}

fn region(tensor: &Tensor, ranges: &[Option<(usize, usize)>]) -> String {
    let place = pattern(tensor, |i| ranges.get(i).copied().flatten());
    let mut bounded = ranges.iter().enumerate().filter_map(|(axis, r)| r.map(|r| (axis, r)));
    let (Some((axis, (first, last))), None) = (bounded.next(), bounded.next()) else {
        return format!("all errors lie in {place}");
    };
    let rank = tensor.shape.len();
    let noun = match rank - axis {
        1 if rank > 1 => "column",
        2 => "row",
        _ => return format!("all errors lie in {place}"),
    };
    let end = match (first, last + 1 == tensor.shape[axis]) {
        (0, _) => "first",
        (_, true) => "last",
        _ => return format!("all errors lie in {place}"),
    };
    let part = match last + 1 - first {
        1 => format!("the {end} {noun}"),
        n => format!("the {end} {n} {noun}s"),
    };
    format!("all errors lie in {part}, {place}")
}

/// A value, with its name where it is one that searches for an extremum start from.
fn limit(value: f64) -> String {
    let name = match value {
        v if v == f64::from(f32::MAX) => "the largest finite float",
        v if v == f64::from(f32::MIN) => "the lowest finite float",
        v if v == f64::from(f32::MIN_POSITIVE) => "FLT_MIN, the smallest normal positive float",
        v if v == f64::from(i32::MAX) => "the largest int",
        v if v == f64::from(i32::MIN) => "the lowest int",
        65_504.0 => "the largest finite half",
        -65_504.0 => "the lowest finite half",
        v => return number(v),
    };
    format!("{}, {name}", number(value))
}

/// A tensor with ranges of its indices: `grad(input)[*, 1, *, 3..4]`.
pub(super) fn pattern(tensor: &Tensor, range: impl Fn(usize) -> Option<(usize, usize)>) -> String {
    let axes: Vec<String> = (0..tensor.shape.len())
        .map(|axis| match range(axis) {
            None => "*".into(),
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}..{last}"),
        })
        .collect();
    format!("{}[{}]", tensor.name, axes.join(", "))
}

/// The name of an axis: `first coordinate`, `second coordinate`, ...
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

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;
    use std::fmt::Write;

    #[test]
    fn numbers_are_no_sums_and_host_code_is_no_kernel() {
        let flags = Tensor { name: "found".into(), dtype: DType::I32, shape: vec![3] };
        let zero = sentence(&Cause::AllZero, &flags, "");
        assert_eq!(zero, "every element is 0.");
        let nothing = sentence(&Cause::NothingWritten, &flags, "void f() {}");
        assert!(nothing.starts_with("the code wrote nothing to found"), "{nothing}");
    }

    #[test]
    fn a_condition_is_said_to_hold_or_not() {
        let branch = |holds, each, n: usize, only_where| {
            let comparisons = (0..n).map(|i| format!("`c{i}`")).collect();
            of_branch(&WrongBranch { holds, each, comparisons, taken: None, only_where })
        };
        let texts = [
            branch(true, true, 1, None),
            branch(false, true, 1, Some(Ordering::Greater)),
            branch(false, true, 2, None),
            branch(false, false, 5, None),
            branch(true, false, 2, None),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r"
        `c0` holds in every wrong element; each has the value for when it does not.
        `c0` holds in no wrong element, and its left side is larger than the right one there and nowhere else; each has the value for when it does.
        `c0` and `c1` hold in no wrong element; each has the value for when they do.
        in each wrong element one of `c0`, `c1`, `c2` and 2 more does not hold; each has the value for when all do.
        in each wrong element one of `c0` and `c1` holds; each has the value for when none does.
        ");
    }

    #[test]
    fn what_stands_in_place_of_a_branch_is_named() {
        let branch = WrongBranch {
            holds: true,
            each: true,
            comparisons: vec!["`ok[k] == 1`".into()],
            taken: Some("`before[k,i]`".into()),
            only_where: None,
        };
        assert_eq!(
            of_branch(&branch),
            "`ok[k] == 1` holds in every wrong element; each has the value for when it does not: `before[k,i]`."
        );
    }

    #[test]
    fn a_part_of_one_is_shown_as_a_fraction() {
        let said = factor_words(1.0 / 28.0, None);
        assert_eq!(said, "every element is 0.0357143 (1/28) times the expected value.");
        assert_eq!(part(-1.0 / 9.0), " (-1/9)");
        for plain in [0.25, 0.01, 3.0, 0.357_143] {
            assert_eq!(part(plain), "");
        }
    }

    #[test]
    fn lost_digits_and_overflows_are_said_with_their_operands() {
        let tensor = Tensor { name: "y".into(), dtype: DType::F32, shape: vec![4] };
        let part = |text: &str, got, kind| WrongPart {
            text: text.into(),
            expected: 0.5,
            got,
            line: None,
            confirmed: 2,
            kind,
        };
        let texts = [
            part("+", 0.75, PartKind::LostDigits([9000.5, -9000.0])),
            part("f16", f64::INFINITY, PartKind::Overflow([125_952.0; 2])),
            part("*", f64::NAN, PartKind::Overflow([f64::INFINITY, 0.0])),
        ];
        let texts = texts.map(|part| of_part(&part, &tensor, 1));
        insta::assert_snapshot!(texts.join("\n"), @r"
        rounding alone makes y[1] wrong: 9000.5 - 9000 comes out as 0.75 and would be 0.5 without any rounding before it; with this value nothing is wrong there (2 further elements agree).
        on the way to y[1], 125952 in half precision comes out as inf: it is the first value there that is not a finite number.
        on the way to y[1], inf * 0 comes out as NaN: it is the first value there that is NaN.
        ");
    }

    #[test]
    fn every_cause_is_one_sentence() {
        let tensor =
            Tensor { name: "grad(input)".into(), dtype: DType::F32, shape: vec![2, 3, 7, 5] };
        let range = |axis: usize, range| {
            let mut ranges = vec![None; 4];
            ranges[axis] = Some(range);
            Cause::Region { ranges, value: None }
        };
        let factor =
            |factor, size: Option<&str>| Cause::Factor { factor, size: size.map(String::from) };
        let causes = [
            Cause::NothingWritten,
            Cause::OnlyStartWritten { count: 128, block: 128 },
            Cause::OnlyStartWritten { count: 192, block: 64 },
            Cause::OnlyStartWritten { count: 105, block: 64 },
            Cause::PartWritten { ranges: vec![None, None, Some((0, 0)), None], written: false },
            Cause::PartWritten { ranges: vec![None, None, None, Some((0, 2))], written: true },
            Cause::UnchangedWhereWrong { ranges: Vec::new() },
            Cause::UnchangedWhereWrong { ranges: vec![None, None, None, Some((4, 4))] },
            Cause::AllNan,
            Cause::Special {
                tensor: "z".into(),
                kinds: vec![
                    SpecialValue::Zero { negative: true },
                    SpecialValue::Nan { negative: true },
                ],
            },
            Cause::AllZero,
            factor(0.125, Some("batch")),
            factor(8.0, Some("batch")),
            factor(2.0, None),
            factor(-1.0, None),
            factor(1.5, None),
            Cause::Addend { vector: "bias".into(), times: -1 },
            Cause::Addend { vector: "bias".into(), times: 1 },
            Cause::Addend { vector: "bias".into(), times: 3 },
            Cause::Addend { vector: "bias".into(), times: -4 },
            Cause::Offset { by: 1.5 },
            Cause::Rounding { largest: 0.000_876 },
            Cause::OffsetAlong { axis: 1 },
            Cause::FactorAlong { axis: 0, first: 0.999_932 },
            Cause::Transposed,
            Cause::Mirrored { axes: vec![2, 3] },
            Cause::Mirrored { axes: vec![3] },
            Cause::Shifted { rows: -1, columns: 2 },
            Cause::Shifted { rows: 0, columns: 1 },
            Cause::OffsetWhereWrong { by: -48.0 },
            Cause::Late { by: 8 },
            Cause::Late { by: -1 },
            Cause::OnlyFirstRight { axis: 0 },
            range(3, (4, 4)),
            range(2, (0, 1)),
            range(2, (2, 3)),
            range(1, (2, 2)),
            Cause::Region { ranges: vec![None, None, None, Some((4, 4))], value: Some(0.0) },
            Cause::SameWhereWrong { value: f32::MIN.into() },
            Cause::OffsetInSteps { by: 0.0, steps: vec![105.0, 35.0, 0.0, 0.0] },
            Cause::OffsetInSteps { by: 1.0, steps: vec![0.0, -35.0, 0.0, 0.0] },
            Cause::Permuted { axis: 1, order: vec![1, 0, 2] },
            Cause::Repeated { axis: 1, order: vec![0, 2, 2] },
            Cause::Repeated { axis: 2, order: vec![1, 1, 3, 5, 5, 5, 0] },
            Cause::BitsReversed { bits: 8 },
            Cause::WrongWhere { tensor: "ok".into(), value: 1.0, is_output: true, got: Some(0.0) },
            Cause::WrongWhere { tensor: "ok".into(), value: 1.0, is_output: false, got: None },
            Cause::WrongRows { elements: "seed[*, 1]".into(), value: 0.0 },
            Cause::Exchanged { first: 0, second: 1 },
            Cause::Paired { axis: 3, by: 1 },
            Cause::DiagonalWritten { first: 2, second: 3 },
            Cause::EveryNthWritten { first: 0, step: 2 },
            Cause::ExchangedWith { tensor: "grad(output)'".into() },
            Cause::Reordered { axis: 3, ranges: Vec::new() },
            Cause::Reordered { axis: 1, ranges: vec![None, None, Some((6, 6)), Some((4, 4))] },
            Cause::Layout { order: vec![1, 0, 2, 3] },
            Cause::Border { width: 2 },
            Cause::SpecialInWrong {
                tensor: "z".into(),
                kind: SpecialValue::Infinite { negative: true },
                correct: 1,
            },
            Cause::OtherAddend { vector: "bias".into(), flat: 36, expected: 1, got: 2 },
            Cause::Renamed { pairs: vec![(1.0, 2.0), (2.0, 1.0)] },
            Cause::FactorWhereWrong { factor: 784.0 },
            Cause::Line { factor: 2.0, by: -1.0 },
            Cause::MultipleOf { tensor: "z".into(), factor: 1.0 },
            Cause::MultipleOf { tensor: "z".into(), factor: 0.01 },
            Cause::StepFactor { factor: -1.0 },
            Cause::StepFactor { factor: 0.375 },
            Cause::Fractions { of: vec![(3, 3, 4)] },
            Cause::Fractions { of: vec![(0, 4, 11), (1, 3, 1)] },
            Cause::Line { factor: -1.0, by: 1.0 },
            Cause::LineWhereWrong { factor: 2.0, by: -1.0 },
            Cause::CutOff,
            Cause::Truncated,
            Cause::TwoSteps { low: 0.0, high: 1.0, below: 0.498, above: 0.502 },
            Cause::Rounding { largest: 0.000_48 },
        ];
        let mut text = String::new();
        for cause in causes {
            let sentence = sentence(&cause, &tensor, "__global__ void k();");
            assert!(sentence.ends_with(['.', '?']), "{sentence}");
            writeln!(text, "{sentence}").unwrap();
        }
        insta::assert_snapshot!(text, @r"
        the kernel wrote nothing to grad(input): does every thread return early, or store elsewhere?
        only the first 128 elements are written, as many as a block has threads: is blockIdx.x part of the thread's number?
        only the first 192 elements are written, whole blocks of 64: the last, partial block wrote nothing.
        only the first 105 elements are written: nothing from grad(input)[1, 0, 0, 0] on.
        grad(input)[*, *, 0, *] is never written, and everything else is.
        only grad(input)[*, *, *, 0..2] is written.
        every wrong element holds what it held before.
        all errors lie in the last column, grad(input)[*, *, *, 4]; each holds what it held before.
        every element is NaN.
        wrong exactly where z is -0 or NaN with its sign bit set.
        every element is 0.
        every element is 0.125 times the expected value, and batch is 8.
        every element is 8 times the expected value, and batch is 8.
        every element is 2 times the expected value.
        every element has the wrong sign.
        every element is 1.5 times the expected value.
        every element is too small by the corresponding element of bias.
        every element is too large by the corresponding element of bias.
        every element is off by 3 times the corresponding element of bias.
        every element is off by -4 times the corresponding element of bias.
        every element is off by +1.5.
        all errors are small in grad(input): at most 0.088 % of the absolute values of the terms.
        each element is off by an amount that depends on its second coordinate only.
        each element is the expected value times a factor that depends on its first coordinate only: 0.999932 in grad(input)[0, *, *, *].
        the last two axes are swapped: the slices hold the expected values, stored column by column.
        each slice is rotated by 180 degrees: it holds the expected values, in reverse along both axes.
        the expected values are stored in reverse along the last coordinate.
        these are the expected values, shifted by -1 along the second-to-last axis and +2 along the last axis.
        these are the expected values, shifted by +1 along the last axis.
        every wrong element is off by -48.
        each wrong element holds the value that belongs 8 elements before it in memory.
        each wrong element holds the value that belongs 1 element after it in memory.
        grad(input)[0, *, *, *] is correct, and every part after it along its first coordinate has errors.
        all errors lie in the last column, grad(input)[*, *, *, 4].
        all errors lie in the first 2 rows, grad(input)[*, *, 0..1, *].
        all errors lie in grad(input)[*, *, 2..3, *].
        all errors lie in grad(input)[*, 2, *, *].
        all errors lie in the last column, grad(input)[*, *, *, 4]; each is 0.
        every wrong element is -3.40282e38, the lowest finite float.
        each element is off by 105 times its first coordinate and 35 times its second coordinate.
        each element is off by 1 and -35 times its second coordinate.
        along its second coordinate the expected values stand in another order: 0, 1, 2 hold those of 1, 0, 2.
        grad(input)[*, 1, *, *] holds the values expected in grad(input)[*, 2, *, *]; those of 1 along the second coordinate are nowhere.
        grad(input)[*, *, 0, *] holds the values expected in grad(input)[*, *, 1, *], grad(input)[*, *, 2, *] holds the values expected in grad(input)[*, *, 3, *], 3 more hold those of others; those of 2, 4, 6 along the third coordinate are nowhere.
        every element is the expected one with its 8 bits in reverse order.
        wrong exactly where ok should be 1; each is 0.
        wrong exactly where ok is 1.
        errors lie exactly at the first coordinates for which seed[*, 1] is 0.
        grad(input)[0, 0, 0, 0] and grad(input)[0, 0, 0, 1] hold each other's values.
        along its last coordinate elements are exchanged in pairs: each wrong element holds the value that is expected 1 element away from it, in the other one of its pair.
        only the elements are written whose third coordinate and last coordinate are equal: does one of the two indices come from the other's threads?
        only one of 2 elements is written: grad(input)[0, 0, 0, 0], grad(input)[0, 0, 0, 2] and so on.
        grad(input) and grad(output) hold each other's values.
        grad(input) holds the expected values, each as often as it should, in another order along its last coordinate.
        grad(input) holds the expected values, each as often as it should, in another order along its second coordinate; all errors lie in grad(input)[*, *, 6, 4].
        grad(input) holds the expected values in another layout: its axes stand in memory in the order second, first, third, last.
        all errors lie within 2 elements of the edges; the interior is correct.
        z is -infinity in every wrong element, and in 1 correct one too.
        every wrong element has another element of bias than its own added: grad(input)[0, 1, 0, 1] has bias[2] in the place of bias[1].
        the same number stands wherever another is expected: 2 for 1, 1 for 2.
        every wrong element is 784 times the expected value.
        every element is 2 times the expected value - 1.
        every wrong element is that of z at its place.
        every wrong element is 0.01 times that of z at its place.
        every element changes by as much as it should, in the other direction.
        every element changes by 0.375 times as much as it should.
        every wrong element is 3/4 of the expected value.
        divided by what is expected, grad(input)[0, 0, 0, 0] is 4/11, grad(input)[0, 0, 0, 1] is 3.
        every element is 1 minus the expected value.
        every wrong element is 2 times the expected value - 1.
        grad(input) is cut off to its digits, towards 0, and should be rounded to the nearest.
        every element is the expected value without its fraction: is a division or a conversion done in whole numbers?
        every wrong element is 0 or 1: the one where at most 0.498 is expected, the other from 0.502 on.
        all errors are small in grad(input): at most 0.048 % of the absolute values of the terms, as one rounding to half precision makes.
        ");
    }
}
