//! Which condition keeps a thread from storing the first element that nothing stores?

use crate::expansion::guard;
use crate::subject::Subject;
use crate::verdict::{Deviation, TestVerdict};
use device::finding::{SourceLoc, ThreadId};

/// Larger tensors are left alone.
const MOST: usize = 1 << 14;

/// Adds to a failing verdict the guard that keeps the thread of the first wrong element from its store, where that was never written and
/// others were.
pub(crate) fn explain(
    subject: &Subject<'_>,
    source: &str,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    verdict.diffs[at].guard = guard_of(subject, source, &verdict, at);
    verdict
}

fn guard_of(
    subject: &Subject<'_>,
    source: &str,
    verdict: &TestVerdict,
    at: usize,
) -> Option<SourceLoc> {
    let (case, diff) = (subject.case, &verdict.diffs[at]);
    let flat = diff.terms.mismatch.flat;
    if diff.errors.len() > MOST || diff.errors[flat] != Deviation::Unwritten {
        return None;
    }
    let tensor = case.output(&diff.tensor.name)?;
    let is_written = |&flat: &usize| diff.errors[flat] != Deviation::Unwritten;
    let mut places = (0..diff.errors.len()).filter(is_written);
    let ends = [places.next(), places.next_back()];
    let mut stored = None;
    let mut written: Vec<(ThreadId, usize)> = Vec::new();
    for flat in ends.into_iter().flatten() {
        let (thread, line) = subject.vm.provenance(case, tensor, flat).ok()?.writer?;
        // All at one line.
        if *stored.get_or_insert(line.clone()) != line {
            return None;
        }
        written.push((thread, flat));
    }
    guard(source, case, (&diff.tensor, flat), stored.as_ref()?.as_ref()?, &written)
}
