//! What the machine finds, in the words of tensors.

use crate::finding::{
    Access, BarrierMisuse, Finding, FindingKind, Place, SourceLine, Space, ThreadId,
};
use ptxvm::{AccessKind, BufferId, MbarrierMisuse, Memory, RaceKind, SourceLoc};

/// A finding in the words of tensors. `element` names the element at a byte of a buffer, if the buffer is a tensor.
pub(crate) fn in_tensors(
    kernel: &str,
    finding: ptxvm::Finding,
    memory: &Memory,
    element: &dyn Fn(BufferId, i64) -> Option<Place>,
) -> Finding {
    let ptxvm::Finding { kind, loc, block, thread, count } = finding;
    let place =
        |at: Option<(BufferId, i64)>| at.and_then(|(buffer, offset)| element(buffer, offset));
    let space = |space, at| if on_heap(at) { Space::Heap } else { space_of(space) };
    let kind = match kind {
        ptxvm::FindingKind::OutOfBounds { space: s, access: a, size: _, nearest, address } => {
            FindingKind::OutOfBounds {
                access: access(a),
                space: space(s, nearest),
                place: place(nearest),
                address,
            }
        }
        ptxvm::FindingKind::Misaligned { space: s, access: a, size, buffer } => {
            FindingKind::Misaligned {
                access: access(a),
                space: space(s, buffer),
                size,
                place: place(buffer),
            }
        }
        ptxvm::FindingKind::Uninitialised { space: s, size: _, buffer, offset } => {
            FindingKind::Uninitialised { space: space(s, buffer), place: place(buffer), offset }
        }
        ptxvm::FindingKind::WriteToReadOnly { buffer, size: _ } => match place(Some(buffer)) {
            Some(place) => FindingKind::WriteToInput { place },
            // Read-only memory that is no tensor is the module's own: constants.
            None => FindingKind::OutOfBounds {
                access: Access::Write,
                space: Space::Constant,
                place: None,
                address: memory.address(buffer.0).wrapping_add_signed(buffer.1),
            },
        },
        ptxvm::FindingKind::SharedRace {
            kind,
            size: _,
            offset,
            other,
            other_thread,
            same_warp,
        } => {
            let (earlier, later) = sides(kind);
            FindingKind::SharedRace {
                other_line: other.as_ref().map(line),
                other_thread: other_thread.map(|thread| ThreadId { block, thread }),
                access: later,
                other_access: earlier,
                offset,
                same_warp,
            }
        }
        ptxvm::FindingKind::GlobalRace {
            kind,
            buffer,
            other,
            other_thread,
            same_block,
            same_warp,
            ..
        } => {
            let (earlier, later) = sides(kind);
            FindingKind::GlobalRace {
                place: place(Some(buffer)),
                other_line: other.as_ref().map(line),
                other_thread: other_thread.map(|(block, thread)| ThreadId { block, thread }),
                access: later,
                other_access: earlier,
                same_block,
                same_warp,
            }
        }
        ptxvm::FindingKind::BarrierDivergence { other } => {
            FindingKind::BarrierDivergence { other_line: other.as_ref().map(line) }
        }
        ptxvm::FindingKind::InvalidMembers { named, here } => {
            FindingKind::InvalidMembers { named, here }
        }
        ptxvm::FindingKind::PartOfWarp { here } => FindingKind::PartOfWarp { here },
        ptxvm::FindingKind::UnevenOperands => FindingKind::UnevenOperands,
        ptxvm::FindingKind::InFlight { access: a, size: _, offset, copy, copy_thread } => {
            FindingKind::CopyInFlight {
                access: access(a),
                offset,
                copy_line: copy.as_ref().map(line),
                own: copy_thread == thread,
            }
        }
        ptxvm::FindingKind::Mbarrier { misuse, offset } => {
            FindingKind::BarrierObject { misuse: misused(&misuse), offset }
        }
        ptxvm::FindingKind::EndlessLoop { instructions } => {
            FindingKind::EndlessLoop { instructions }
        }
        ptxvm::FindingKind::UseAfterFree { access: a, .. } => {
            FindingKind::UseAfterFree { access: access(a) }
        }
        ptxvm::FindingKind::InvalidFree { again, .. } => FindingKind::InvalidFree { again },
        ptxvm::FindingKind::StackOverflow { limit } => FindingKind::StackOverflow { limit },
        ptxvm::FindingKind::InvalidCall { address } => FindingKind::InvalidCall { address },
        ptxvm::FindingKind::GridSync => FindingKind::GridSync,
        ptxvm::FindingKind::Trap { message } => FindingKind::Trap { message },
    };
    let thread = Some(ThreadId { block, thread });
    Finding { kind, kernel: kernel.to_owned(), line: loc.as_ref().map(line), thread, count }
}

fn misused(misuse: &MbarrierMisuse) -> BarrierMisuse {
    match *misuse {
        MbarrierMisuse::NotInitialised => BarrierMisuse::NotInitialised,
        MbarrierMisuse::InitialisedAgain { ref first, .. } => {
            BarrierMisuse::InitialisedAgain { first_line: first.as_ref().map(line) }
        }
        MbarrierMisuse::InvalidCount { count } => BarrierMisuse::InvalidCount { count },
        MbarrierMisuse::TooManyArrivals { count, pending } => {
            BarrierMisuse::TooManyArrivals { count, pending }
        }
        MbarrierMisuse::MayNotComplete => BarrierMisuse::MayNotComplete,
        MbarrierMisuse::OldToken => BarrierMisuse::OldToken,
        MbarrierMisuse::Touched { access: a, size: _ } => {
            BarrierMisuse::Touched { access: access(a) }
        }
        MbarrierMisuse::NeverCompletes { arrivals, bytes } => {
            BarrierMisuse::NeverCompletes { arrivals, bytes }
        }
    }
}

/// What the earlier access and the later one of a race were.
fn sides(kind: RaceKind) -> (Access, Access) {
    match kind {
        RaceKind::ReadAfterWrite => (Access::Write, Access::Read),
        RaceKind::WriteAfterRead => (Access::Read, Access::Write),
        RaceKind::WriteAfterWrite => (Access::Write, Access::Write),
    }
}

pub fn line(loc: &SourceLoc) -> SourceLine {
    SourceLine { file: loc.file.to_string(), line: loc.line, column: loc.column }
}

fn access(kind: AccessKind) -> Access {
    match kind {
        AccessKind::Read => Access::Read,
        AccessKind::Write => Access::Write,
        AccessKind::Atomic => Access::Atomic,
    }
}

/// Memory that a kernel allocated itself.
fn on_heap(at: Option<(BufferId, i64)>) -> bool {
    at.is_some_and(|(buffer, _)| buffer.0 >= BufferId::FIRST_ON_HEAP)
}

fn space_of(space: ptxvm::Space) -> Space {
    match space {
        ptxvm::Space::Global => Space::Global,
        ptxvm::Space::Shared => Space::Shared,
        ptxvm::Space::Local => Space::Local,
        ptxvm::Space::Const => Space::Constant,
    }
}
