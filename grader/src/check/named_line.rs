//! Whether the report on a wrong kernel names the line that is wrong.

use super::bench::Loaded;
use crate::wrong::WrongKernel;
use cpptext::statements::statement;
use judge::batch_compile::Namespace;
use judge::grade::Program;
use judge::verdict::TestVerdict;
use puzzle::case::Case;
use std::collections::BTreeSet;
use std::mem;

/// What the report on a wrong kernel says of a wrong element that the formula gives as a sum of products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLine {
    /// The name of the wrong kernel.
    pub kernel: String,
    /// What the report says.
    pub outcome: Outcome,
}

/// The line that a report names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// None, because the products that the kernel added are not known.
    Unknown,
    /// None, because it does not follow from the products which line is wrong.
    Uncertain,
    /// One in a statement that differs from the solution.
    Changed,
    /// Another one. Lines count from 1 in the file of the kernel.
    Other {
        /// The line that it names.
        named: u32,
        /// The lines that differ from the solution.
        changed: Vec<u32>,
    },
}

/// The most elements of all tensors of a case whose kernels are followed: more would only cost time.
const MAX_ELEMENTS: usize = 3_000;

/// Whether the report on a run of `case` can name a line: it has a wrong value, and the case is small enough.
pub(super) fn is_possible(case: &Case, verdict: &TestVerdict) -> bool {
    let by_value =
        |verdict: &TestVerdict| Some(verdict.diffs.first()?.terms.mismatch.got.is_some());
    case.elements() < MAX_ELEMENTS && by_value(verdict).unwrap_or(false)
}

/// What the verdict, with all its details, says of a kernel that was compiled in the namespace `own`. `None` if the formula does
/// not give the wrong element as a sum of products.
pub(super) fn of(
    loaded: &Loaded<'_>,
    kernel: &WrongKernel,
    (program, own): (&Program, Namespace),
    verdict: &TestVerdict,
) -> Option<NamedLine> {
    let terms = &verdict.diffs.first()?.terms;
    terms.formula.as_ref()?;
    let named = |outcome| NamedLine { kernel: kernel.name.clone(), outcome };
    let Some(compared) = &terms.compared else { return Some(named(Outcome::Unknown)) };
    // The kernel is one of many in a file, each behind the line that opens its namespace.
    let before = own.line(&program.compiled.source.text)?;
    let Some(line) = compared.certain_line() else { return Some(named(Outcome::Uncertain)) };
    let line = line.line.saturating_sub(before);
    let changed = changed(&loaded.solution, &kernel.source);
    let within = statement(&kernel.source, line);
    Some(named(if changed.iter().any(|line| within.contains(line)) {
        Outcome::Changed
    } else {
        Outcome::Other { named: line, changed: changed.into_iter().collect() }
    }))
}

/// The lines of `new` (from 1) that are not in `old`; where lines were taken out, the ones around.
fn changed(old: &str, new: &str) -> BTreeSet<u32> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Lengths of the longest common subsequences of the ends.
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = BTreeSet::new();
    let mut hunk = (BTreeSet::new(), BTreeSet::new());
    loop {
        let same = i < a.len() && j < b.len() && a[i] == b[j];
        let end = i == a.len() && j == b.len();
        if same || end {
            let (new, around) = mem::take(&mut hunk);
            lines.extend(if new.is_empty() { around } else { new });
        }
        if end {
            break;
        } else if same {
            (i, j) = (i + 1, j + 1);
        } else if j < b.len() && (i == a.len() || common[i][j + 1] >= common[i + 1][j]) {
            hunk.0.insert(j as u32 + 1);
            j += 1;
        } else {
            hunk.1.extend([j as u32, j as u32 + 1]);
            i += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_the_new_ones_or_those_around_what_was_taken_out() {
        let lines = |new: &str| changed("a\nb\nc\nd", new).into_iter().collect::<Vec<_>>();
        assert_eq!(lines("a\nB\nc\nd"), [2]);
        assert_eq!(lines("a\nb\nx\ny\nc\nd"), [3, 4]);
        assert_eq!(lines("a\nc\nd"), [1, 2]);
        assert_eq!(lines("A\nb\nc\nD"), [1, 4]);
        assert!(lines("a\nb\nc\nd").is_empty());
    }
}
