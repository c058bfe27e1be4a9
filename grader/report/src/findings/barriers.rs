//! What goes wrong with barrier objects in shared memory (`cuda::barrier`, `cuda::pipeline`).

use super::{noun, preposition};
use device::finding::{BarrierMisuse, FindingKind, SourceLine};

/// Title, label of the marked place, help.
pub(super) fn words(misuse: &BarrierMisuse, offset: i64) -> (String, String, Vec<String>) {
    let at = format!("the barrier object at byte {offset} of shared memory");
    let (title, label, help) = match misuse {
        BarrierMisuse::NotInitialised => (
            format!("use of {at}, which nobody has initialised"),
            "",
            "one thread calls init, and a __syncthreads() follows before any other thread uses it".to_owned(),
        ),
        BarrierMisuse::InitialisedAgain { .. } => (
            format!("{at} is initialised a second time"),
            "again here",
            "one thread of the block initialises it, once: if (threadIdx.x == 0) init(&bar, blockDim.x);".into(),
        ),
        BarrierMisuse::InvalidCount { count } => (
            format!("a count of {count} for {at}"),
            "",
            "arrivals are 1 to 1,048,575 at once, bytes at most 1,048,575 and whole 16s in bulk copies".into(),
        ),
        BarrierMisuse::TooManyArrivals { count, pending } => (
            format!("{count} {} at {at}, which waits for {pending} only", arrivals(*count)),
            "more than belong to this phase",
            "each phase takes as many arrivals as init said, less those that have dropped out".into(),
        ),
        BarrierMisuse::MayNotComplete => (
            format!("an arrival that must not be the last one completes the phase of {at}"),
            "",
            "arrive without noComplete where it may be the last one".into(),
        ),
        BarrierMisuse::OldToken => (
            format!("a wait with a token that is no token of the last two phases of {at}"),
            "",
            "wait with the token that arrive() of the same barrier has just given".into(),
        ),
        BarrierMisuse::Touched { access } => (
            format!("{} {} {at}", noun(*access), preposition(*access)),
            "",
            "only init, arrive and wait may touch it: does an array before it run over, or does memory have two uses?".into(),
        ),
        BarrierMisuse::NeverCompletes { arrivals: missing, bytes } => (
            format!("the phase of {at} never completes"),
            "waits here for ever",
            missing_of(*missing, *bytes),
        ),
    };
    (title, label.into(), vec![help])
}

fn arrivals(count: u32) -> &'static str {
    if count == 1 { "arrival" } else { "arrivals" }
}

fn missing_of(count: u32, bytes: i32) -> String {
    if count == 0 {
        return format!(
            "all have arrived, but {bytes} bytes of copies are missing: does what was announced fit what is copied?"
        );
    }
    format!(
        "{count} {} more would complete it, and all threads that are left wait: does the count of init fit those who arrive? Does each wait for the right phase?",
        arrivals(count)
    )
}

/// The line where it was initialised first, and what is said of it.
pub(super) fn other_side(kind: &FindingKind) -> Option<(&SourceLine, String)> {
    match kind {
        FindingKind::BarrierObject {
            misuse: BarrierMisuse::InitialisedAgain { first_line: Some(line) },
            ..
        } => Some((line, "initialised here".into())),
        _ => None,
    }
}
