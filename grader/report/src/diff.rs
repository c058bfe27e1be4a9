//! How many elements of an output are wrong, and a table of the first few.

use super::number::{count, list, number, pair, signed};
use super::style::{Style, Tone};
use judge::verdict::{Mismatch, TensorDiff};

/// Rows of the table.
const MAX_ROWS: usize = 5;

/// `grad(input) [1, 1, 5, 5]: 12 of 25 elements are wrong (3 never written, 2 NaN)`; with what `weights'` means.
pub(super) fn headline(diff: &TensorDiff) -> String {
    let tensor = &diff.tensor;
    let total = tensor.len();
    let wrong = if diff.wrong_count == total {
        match total {
            1 => "its only element is wrong".into(),
            _ => format!("all {total} elements are wrong"),
        }
    } else {
        let verb = if diff.wrong_count == 1 { "is" } else { "are" };
        format!("{} of {total} elements {verb} wrong", diff.wrong_count)
    };
    let kinds = [(diff.unwritten_count, "never written"), (diff.nan_count, "NaN")];
    let kinds: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, kind)| format!("{n} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let meaning = tensor.name.strip_suffix('\'');
    let meaning = meaning.map(|name| format!(", {name} after the kernel")).unwrap_or_default();
    format!("{} {}{meaning}: {wrong}{kinds}", tensor.name, list(&tensor.shape))
}

/// `grad(input): 12 of 25 wrong`, for a line of the list of tests.
pub(super) fn in_short(diff: &TensorDiff) -> String {
    let total = diff.tensor.len();
    let what = if diff.unwritten_count == diff.wrong_count { "never written" } else { "wrong" };
    format!("{}: {} of {total} {what}", diff.tensor.name, diff.wrong_count)
}

/// The headline's table: element, expected, got, difference and what is allowed.
pub(super) fn table(diff: &TensorDiff, style: Style) -> Vec<String> {
    // Where nothing is written there is nothing to compare.
    if diff.unwritten_count == diff.tensor.len() {
        return Vec::new();
    }
    let shown: Vec<&Mismatch> = diff.mismatches.iter().take(MAX_ROWS).collect();
    let exact = shown.iter().all(|m| m.allowed == 0.0);
    let last = if exact { "" } else { "allowed" };
    let mut rows = vec![["element", "expected", "got", "difference", last].map(String::from)];
    rows.extend(shown.iter().map(|m| row(diff, m, exact)));
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let [element, expected, got, difference, allowed] = row;
        let element = format!("    {element:<0$}", widths[0]);
        let expected = format!("  {expected:>0$}", widths[1]);
        let got = format!("  {got:>0$}", widths[2]);
        let rest = format!("  {difference:>0$}  {allowed:>1$}", widths[3], widths[4]);
        let rest = rest.trim_end();
        lines.push(if index == 0 {
            style.paint(Tone::Faint, &format!("{element}{expected}{got}{rest}"))
        } else {
            let (expected, got) =
                (style.paint(Tone::Good, &expected), style.paint(Tone::Bad, &got));
            format!("{element}{expected}{got}{rest}")
        });
    }
    let more = diff.wrong_count.saturating_sub(shown.len());
    let note = match (more, exact) {
        (0, false) => return lines,
        (0, true) => "these values are exact: they must be equal".into(),
        (_, false) => format!("and {more} more"),
        (_, true) => format!("and {more} more; these values are exact: they must be equal"),
    };
    lines.push(style.paint(Tone::Faint, &format!("    {note}")));
    lines
}

fn row(diff: &TensorDiff, m: &Mismatch, exact: bool) -> [String; 5] {
    let element = list(&diff.tensor.coords(m.flat));
    let (expected, got) = match m.got {
        Some(got) => pair(m.expected, got),
        None => (number(m.expected), "never written".into()),
    };
    let difference = m.got.map(|got| signed(got - m.expected)).unwrap_or_default();
    let allowed = match (exact, m.allowed) {
        (true, _) => String::new(),
        (false, 0.0) => "must be equal".into(),
        (false, allowed) => number(allowed),
    };
    [element, expected, got, difference, allowed]
}

/// The wrong outputs that are not shown in full.
pub(super) fn others(diffs: &[TensorDiff]) -> Option<String> {
    let texts: Vec<String> = diffs.iter().map(other).collect();
    (!texts.is_empty())
        .then(|| format!("{} wrong too: {}", count(texts.len(), "output"), texts.join("; ")))
}

/// Of a single number, such as a flag, its values tell what is wrong.
fn other(diff: &TensorDiff) -> String {
    match &diff.mismatches[..] {
        [m] if diff.tensor.len() == 1 => {
            should_be(&diff.tensor.element_name(m.flat), m.expected, m.got)
        }
        _ => headline(diff),
    }
}

/// `x[0] should be 3; the kernel made it 4`.
pub(super) fn should_be(element: &str, expected: f64, got: Option<f64>) -> String {
    match got {
        None => format!("{element} should be {}; the kernel never wrote it", number(expected)),
        Some(got) => {
            let (should, is) = pair(expected, got);
            format!("{element} should be {should}; the kernel made it {is}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::diff;
    use judge::verdict::Deviation;

    #[test]
    fn the_headline_counts() {
        let texts = |n: usize| headline(&diff(&[5], &vec![Deviation::Off(1.0); n]));
        assert_eq!(texts(5), "t [5]: all 5 elements are wrong");
        assert_eq!(texts(1), "t [5]: 1 of 5 elements is wrong");
        let mixed = [Deviation::Nan, Deviation::Unwritten, Deviation::Off(2.0)];
        let mixed = diff(&[2, 3], &mixed);
        assert_eq!(
            headline(&mixed),
            "t [2, 3]: 3 of 6 elements are wrong (1 never written, 1 NaN)"
        );
        assert_eq!(in_short(&mixed), "t: 3 of 6 wrong");
        assert_eq!(
            headline(&diff(&[], &[Deviation::Nan])),
            "t []: its only element is wrong (1 NaN)"
        );
        assert_eq!(in_short(&diff(&[2], &[Deviation::Unwritten])), "t: 1 of 2 never written");
    }

    #[test]
    fn a_single_number_that_is_wrong_too_is_shown() {
        let text =
            others(&[diff(&[1], &[Deviation::Off(1.0)]), diff(&[], &[Deviation::Unwritten])]);
        assert_eq!(
            text.unwrap(),
            "2 outputs wrong too: t[0] should be 1; the kernel made it 2; t[] should be 1; the kernel never wrote it"
        );
    }

    #[test]
    fn columns_are_aligned_and_numbers_told_apart() {
        let mut diff = diff(&[2, 3], &[Deviation::Off(1.0); 3]);
        diff.mismatches[0] =
            Mismatch { flat: 0, expected: 1.0, got: Some(1.000_000_1), allowed: 0.0 };
        diff.mismatches[1] = Mismatch { flat: 4, expected: -12.5, got: None, allowed: 1e-6 };
        diff.mismatches[2] =
            Mismatch { flat: 5, expected: 0.25, got: Some(f64::INFINITY), allowed: 0.5 };
        insta::assert_snapshot!(table(&diff, Style::PLAIN).join("\n"), @r#"
        element  expected            got  difference        allowed
        [0, 0]          1      1.0000001       +1e-7  must be equal
        [1, 1]      -12.5  never written                       1e-6
        [1, 2]       0.25            inf        +inf            0.5
        "#);
    }
}
