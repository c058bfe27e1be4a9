//! What goes wrong with tensor cores and asynchronous copies.

use super::{lanes, noun, preposition};
use device::finding::{FindingKind, SourceLine};

/// Title, label of the marked place, help.
pub(super) fn words(kind: &FindingKind) -> (String, String, Vec<String>) {
    match kind {
        FindingKind::PartOfWarp { here } => (
            "an operation of a whole warp that only a part of it comes to".into(),
            "some threads of the warp are not here".into(),
            vec![
                format!("all 32 lanes must come here together; here are {}", lanes(*here)),
                "use a block of whole warps, and no condition that differs inside a warp".into(),
            ],
        ),
        FindingKind::UnevenOperands => (
            "the threads of a warp give this load or store of a matrix different places".into(),
            String::new(),
            vec!["a warp loads or stores one matrix: its address and stride may not depend on the lane".into()],
        ),
        FindingKind::CopyInFlight { access, offset, own, .. } => (
            format!(
                "{} {} byte {offset} of shared memory, to which an asynchronous copy is still on its way",
                noun(*access),
                preposition(*access)
            ),
            format!("{} here", noun(*access)),
            vec![if *own {
                "wait for the copy first: by __pipeline_wait_prior, or at the barrier that it belongs to"
            } else {
                "the thread that copies must wait for it (__pipeline_wait_prior), and then a __syncthreads() must follow; of a barrier's copy all wait at the barrier"
            }
            .into()],
        ),
        _ => (String::new(), String::new(), Vec::new()),
    }
}

/// The line of the copy, and what is said of it.
pub(super) fn other_side(kind: &FindingKind) -> Option<(&SourceLine, String)> {
    match kind {
        FindingKind::CopyInFlight { copy_line: Some(line), .. } => {
            Some((line, "the copy begins here".into()))
        }
        _ => None,
    }
}
