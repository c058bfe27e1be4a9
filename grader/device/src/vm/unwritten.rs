//! Whether results depend on memory that nothing has written.

use crate::backend::{Run, RunTensor};
use crate::finding::{Finding, FindingKind, Problem};
use diagnostic::Failure;
use ptxvm::Unwritten;
use puzzle::case::{CaseTensor, Role};

/// Sets the findings of a run apart if all of them are reads of memory that nothing has written, and nothing that the program
/// computes depends on what it holds. `again` runs the program with other contents of such memory.
///
/// # Errors
/// Those of `again`.
pub(crate) fn dismiss(
    tensors: &[CaseTensor],
    run: Run,
    again: impl Fn(Unwritten) -> Result<Run, Failure>,
) -> Result<Run, Failure> {
    if run.findings.is_empty() || !reads_alone(&run.findings) {
        return Ok(run);
    }
    for contents in Unwritten::OTHERS {
        let other = again(contents)?;
        // A value that is used as an index or the end of a loop shows there.
        if !reads_alone(&other.findings) || !agree(tensors, &run, &other) {
            return Ok(run);
        }
    }
    let mut run = run;
    run.unused_reads = std::mem::take(&mut run.findings);
    Ok(run)
}

/// Whether all findings are reads of memory that nothing has written.
fn reads_alone(findings: &[Finding]) -> bool {
    let is_read = |finding: &Finding| {
        matches!(finding.problem, Problem::Check(FindingKind::Uninitialised(_)))
    };
    findings.iter().all(is_read)
}

/// Whether two runs computed and printed the same, bit for bit. A workspace may contain anything.
fn agree(tensors: &[CaseTensor], one: &Run, other: &Run) -> bool {
    let same = |(one, other): (&RunTensor, &RunTensor)| {
        let bits = |tensor: &RunTensor| tensor.values.iter().map(|v| v.to_bits()).collect();
        let (ones, others): (Vec<u64>, Vec<u64>) = (bits(one), bits(other));
        one.written == other.written && ones == others
    };
    let results = tensors.iter().zip(one.tensors.iter().zip(&other.tensors));
    let mut results = results.filter(|(tensor, _)| !matches!(tensor.role, Role::Workspace));
    one.printed == other.printed && results.all(|(_, pair)| same(pair))
}
