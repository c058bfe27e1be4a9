//! A grid that is rounded up needs a test in which threads are left over.

use super::fault::{Checked, Fault};
use super::launch::{Extent, Launch};
use super::quoted::inner_span;
use super::test::Test;
use indexmath::DimExpr;
use std::ops::Range;

/// Fails where a `ceil_div(a, b)` of a grid divides without remainder in every test: a kernel without a bounds check
/// would pass.
pub(crate) fn check(text: &str, launches: &[Launch], tests: &[Test]) -> Checked<()> {
    for extent in launches.iter().flat_map(Launch::grid) {
        for (span, a, b) in divisions(&extent.text) {
            if !tests.iter().any(|test| leaves_remainder(test, &a, &b)) {
                return Err(fault(text, extent, &span));
            }
        }
    }
    Ok(())
}

fn leaves_remainder(test: &Test, a: &DimExpr, b: &DimExpr) -> bool {
    match (a.eval(&test.dims), b.eval(&test.dims)) {
        (Ok(a), Ok(b)) => a.checked_rem_euclid(b).is_some_and(|r| r != 0),
        _ => false,
    }
}

fn fault(text: &str, extent: &Extent, span: &Range<usize>) -> Fault {
    Fault::at(
        inner_span(text, &extent.place, span),
        "the grid is rounded up, but in every test it divides without remainder",
    )
    .label("never rounded")
    .help(
        "add a test whose size the block does not divide, so that a kernel needs its bounds check",
    )
}

/// Each `ceil_div(a, b)` in `text`, nested ones too, with its place.
fn divisions(text: &str) -> Vec<(Range<usize>, DimExpr, DimExpr)> {
    const CALL: &str = "ceil_div";
    let mut found = Vec::new();
    for (start, _) in text.match_indices(CALL) {
        let after = &text[start + CALL.len()..];
        let open = start + CALL.len() + (after.len() - after.trim_start().len());
        if !text[open..].starts_with('(') {
            continue;
        }
        let mut depth = 0;
        let mut comma = None;
        for (at, c) in text.bytes().enumerate().skip(open) {
            match c {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b',' if depth == 1 => comma = Some(at),
                _ => {}
            }
            if depth == 0 {
                if let Some(comma) = comma
                    && let Ok(a) = DimExpr::parse(&text[open + 1..comma])
                    && let Ok(b) = DimExpr::parse(&text[comma + 1..at])
                {
                    found.push((start..at + 1, a, b));
                }
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_nested_divisions() {
        let text = "2 * ceil_div (max(a, b), ceil_div(c, 8))";
        let places: Vec<&str> = divisions(text).into_iter().map(|(span, ..)| &text[span]).collect();
        assert_eq!(places, ["ceil_div (max(a, b), ceil_div(c, 8))", "ceil_div(c, 8)"]);
        assert!(divisions("ceil_div").is_empty());
        assert!(divisions("ceil_div(a").is_empty());
    }
}
