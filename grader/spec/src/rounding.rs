//! A launch with more threads than elements needs a test in which a block is partly idle; otherwise a kernel without a
//! bounds check would pass.

use super::fault::{Checked, Fault};
use super::launch::{Call, CallArg, Extent, Launch};
use super::quoted::inner_span;
use super::test::Test;
use indexmath::DimExpr;
use std::ops::Range;

/// Applies two rules. Each `ceil_div(a, b)` of a grid must be rounded up in some test, which covers each axis
/// separately. And if a test has more threads than elements, whatever the grid's expression is, some test must need a
/// part of a block.
pub(crate) fn check(text: &str, launches: &[Launch], tests: &[Test]) -> Checked<()> {
    for (index, launch) in launches.iter().enumerate() {
        let runs: Vec<Run> = tests.iter().filter_map(|test| Run::of(index, test)).collect();
        for extent in launch.grid() {
            for (span, a, b) in divisions(&extent.text) {
                if !runs.iter().any(|run| leaves_remainder(run.test, &a, &b)) {
                    return Err(never_rounded(text, extent, &span));
                }
            }
        }
        let spare = |run: &&Run| run.elements.is_some_and(|elements| run.threads > elements);
        if let (Some(spare), Some(extent)) = (runs.iter().find(spare), launch.grid().first())
            && !runs.iter().any(Run::has_partly_idle_block)
        {
            return Err(only_whole_blocks(extent, spare));
        }
    }
    Ok(())
}

/// A launch in a test.
struct Run<'a> {
    test: &'a Test,
    /// The number of threads in all blocks.
    threads: u64,
    /// The number of threads in a block.
    block: u64,
    /// The number of elements of the largest tensor that the launch computes; `None` where it fills workspaces alone.
    elements: Option<u64>,
    /// True if blocks or threads are counted along more than one axis.
    has_axes: bool,
}

impl<'a> Run<'a> {
    /// The launch with this index, if the test has it.
    fn of(launch: usize, test: &'a Test) -> Option<Self> {
        let call = test.calls.iter().find(|call| call.launch == launch)?;
        let Call { grid, block, args, .. } = call;
        let count = |axes: &[u32; 3]| axes.iter().map(|&n| u64::from(n)).product::<u64>();
        let computed = args.iter().filter_map(|arg| match arg {
            CallArg::Buffer(i) => test.buffers.get(*i).filter(|b| b.computed().is_some()),
            CallArg::Scalar(_) | CallArg::Int(_) => None,
        });
        let several = |axes: &[u32; 3]| axes.iter().filter(|&&n| n > 1).count() > 1;
        Some(Self {
            test,
            threads: count(grid) * count(block),
            block: count(block),
            elements: computed.map(|b| b.tensor.len() as u64).max(),
            has_axes: several(grid) || several(block),
        })
    }

    /// Whether some block is partly idle: if every block used all of its threads or none, the number of elements would
    /// be a multiple of the block. Along several axes it may be a multiple anyway, because two half-idle blocks look
    /// like one idle block; there the first rule must be enough.
    fn has_partly_idle_block(&self) -> bool {
        self.elements.is_some_and(|elements| {
            self.threads > elements && (self.has_axes || !elements.is_multiple_of(self.block))
        })
    }
}

fn leaves_remainder(test: &Test, a: &DimExpr, b: &DimExpr) -> bool {
    match (a.eval(&test.dims), b.eval(&test.dims)) {
        (Ok(a), Ok(b)) => a.checked_rem_euclid(b).is_some_and(|r| r != 0),
        _ => false,
    }
}

fn never_rounded(text: &str, extent: &Extent, span: &Range<usize>) -> Fault {
    Fault::at(
        inner_span(text, &extent.place, span),
        "the grid size is rounded up, but it divides without remainder in every test",
    )
    .label("never rounded")
    .help(
        "add a test whose size the block does not divide, so that a kernel needs its bounds check",
    )
}

fn only_whole_blocks(extent: &Extent, run: &Run<'_>) -> Fault {
    let Run { threads, elements, block, .. } = run;
    Fault::at(extent.place.clone(), "there may be spare threads, but no block is partly idle in any test")
        .label("rounded up")
        .also(
            run.test.place.clone(),
            format!("{threads} threads for {} elements", elements.unwrap_or_default()),
        )
        .help(format!(
            "add a test with a number of elements that {block} does not divide, so that a kernel needs its bounds check"
        ))
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
