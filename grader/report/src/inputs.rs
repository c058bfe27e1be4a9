//! What an element is computed from and should not be, in one sentence.

use super::cause::pattern;
use super::number::{count, number};
use judge::verdict::{Elements, WrongInputs};
use puzzle::tensor::Tensor;

/// Elements of a tensor that are named one by one.
const MOST_NAMED: usize = 2;

/// `y[0, 1] depends on x[1, 2] and should not; it should depend on x[0, 2] and does not`.
pub(super) fn sentence(inputs: &WrongInputs, tensor: &Tensor) -> String {
    let WrongInputs { flat, missing, extra, line, changed, times, confirmed } = inputs;
    let element = tensor.element_name(*flat);
    let all = |elements: &[Elements]| {
        let texts: Vec<String> = elements.iter().map(text).collect();
        match texts.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        }
    };
    let line =
        line.as_ref().map(|line| format!(" (loaded at line {})", line.line)).unwrap_or_default();
    let said = match (missing.is_empty(), extra.is_empty()) {
        (true, true) => {
            let how = match times {
                Some(times) => format!("{} times as much", number(*times)),
                None => "otherwise".into(),
            };
            let than = if times.is_some() { "as" } else { "than" };
            format!(
                "{element} changes {how} with {} {than} it should, and as it should with all else that it is computed from",
                all(changed)
            )
        }
        (false, true) => format!("{element} does not depend on {}, and should", all(missing)),
        (_, false) if missing.is_empty() => {
            format!("{element} depends on {}{line}, and should not", all(extra))
        }
        _ => format!(
            "{element} depends on {}{line}, and should not; it does not depend on {}, and should",
            all(extra),
            all(missing)
        ),
    };
    match confirmed {
        0 => format!("{said}."),
        n => {
            let verb = if *n == 1 { "has" } else { "have" };
            format!("{said} ({} {verb} wrong inputs, too).", count(*n, "further wrong element"))
        }
    }
}

/// `x`, `x[1..2, *]`, or the first elements of more.
fn text(elements: &Elements) -> String {
    let Elements { tensor, flats } = elements;
    let all: Vec<Vec<usize>> = flats.iter().map(|&flat| tensor.coords(flat)).collect();
    let bounds = |axis: usize| {
        let along = all.iter().map(|coords| coords[axis]);
        Some((along.clone().min()?, along.max()?))
    };
    let bounds: Option<Vec<(usize, usize)>> = (0..tensor.shape.len()).map(bounds).collect();
    let bounds = bounds.unwrap_or_default();
    let filled: usize = bounds.iter().map(|(first, last)| last + 1 - first).product();
    if flats.len() > 1 && filled == flats.len() {
        let part = |axis: usize| {
            Some(bounds[axis]).filter(|&(first, last)| first > 0 || last + 1 < tensor.shape[axis])
        };
        return if filled == tensor.len() { tensor.name.clone() } else { pattern(tensor, part) };
    }
    let named: Vec<String> =
        flats.iter().take(MOST_NAMED).map(|&flat| tensor.element_name(flat)).collect();
    match flats.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} ... ({more} more)", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn inputs_are_named_as_blocks_where_they_are_one() {
        let tensor = |name: &str, shape: &[usize]| Tensor {
            name: name.into(),
            dtype: DType::F32,
            shape: shape.to_vec(),
        };
        let of = |name: &str, shape: &[usize], flats: &[usize]| Elements {
            tensor: tensor(name, shape),
            flats: flats.to_vec(),
        };
        let said = |missing: Vec<Elements>, extra: Vec<Elements>, confirmed| {
            let (changed, times) = (Vec::new(), None);
            let inputs =
                WrongInputs { flat: 1, missing, extra, line: None, changed, times, confirmed };
            sentence(&inputs, &tensor("y", &[2, 2]))
        };
        let rows = of("x", &[3, 2], &[2, 3, 4, 5]);
        let changed = |times| {
            let (missing, extra, line) = (Vec::new(), Vec::new(), None);
            let changed = vec![of("b", &[3], &[1])];
            let inputs =
                WrongInputs { flat: 1, missing, extra, line, changed, times, confirmed: 0 };
            sentence(&inputs, &tensor("y", &[2, 2]))
        };
        insta::assert_snapshot!(
            [
                said(vec![rows.clone()], Vec::new(), 0),
                said(Vec::new(), vec![of("mean", &[3], &[0])], 1),
                said(vec![of("w", &[2], &[0, 1]), rows], vec![of("x", &[3, 2], &[0, 3, 5])], 2),
                changed(Some(32.0)),
                changed(None),
            ]
            .join("\n"),
            @r"
        y[0, 1] does not depend on x[1..2, *], and should.
        y[0, 1] depends on mean[0], and should not (1 further wrong element has wrong inputs, too).
        y[0, 1] depends on x[0, 0], x[1, 1] ... (1 more), and should not; it does not depend on w and x[1..2, *], and should (2 further wrong elements have wrong inputs, too).
        y[0, 1] changes 32 times as much with b[1] as it should, and as it should with all else that it is computed from.
        y[0, 1] changes otherwise with b[1] than it should, and as it should with all else that it is computed from.
        "
        );
    }
}
