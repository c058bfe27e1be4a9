//! What the machine finds, in the words of tensors.

use crate::finding::{Element, Finding, Problem};
use ptxvm::finding::{BufferOffset, FindingKind};

/// A finding in the terms of tensors. `element` names the element at a byte of a buffer, if the buffer is a tensor.
pub(crate) fn in_tensors(
    kernel: &str,
    finding: &ptxvm::Finding,
    element: impl FnOnce(BufferOffset) -> Option<Element>,
) -> Finding {
    let ptxvm::Finding { kind, loc, thread, count } = finding.clone();
    // It is about all blocks together.
    let of_all = matches!(kind, FindingKind::TooMuchWork(_) | FindingKind::TooMuchOutput(_));
    let thread = (!of_all).then_some(thread);
    Finding {
        problem: Problem::Check(kind.map_place(element)),
        kernel: kernel.to_owned(),
        line: loc,
        thread,
        count,
    }
}
