//! A race in global memory.

use crate::finding::access::{AccessKind, RaceKind, volatile_help};
use crate::finding::check::{Check, Site, ThreadId, Words};
use crate::finding::place::{Place, same_object};
use crate::source_loc::SourceLoc;

/// What helps two threads of a block that store to one element.
const STORED_TWICE: &str = "which of the two values stays is chance: does each thread compute an index of its own? If both must add to \
                            the element, add with atomicAdd; if one is to overwrite the other, put a barrier between";
/// What helps two blocks that store to one element.
const STORED_BY_TWO_BLOCKS: &str = "which of the two values stays is chance: does each thread compute an index of its own? If both must add to \
                                    the element, add with atomicAdd, and set it to zero before the launch";
/// What helps two threads of a block that read and write an element in one line.
const UPDATED: &str = "both threads run this line: if each adds to the element, add with atomicAdd; if one needs what the other stores, put a \
                       barrier between the read and the write";

/// What helps a thread that reads what others of its block update by atomics.
const READ_TOO_EARLY: &str = "an atomic update is one step beside other atomics; a plain read may come before or after it: put a barrier between";
/// What helps a block that reads what other blocks update by atomics.
const READ_TOO_EARLY_BY_A_BLOCK: &str = "an atomic update is one step beside other atomics; a plain read may come before the other blocks have done theirs: \
                                         read it in a later launch, or in the block that is the last to finish";

/// What helps a block that uses what another one has stored, in another line.
const HANDED_OVER: &str = "if a flag or a counter tells one block that another is done: __threadfence() before it is set and after it is seen, \
                           and set and read it with atomics";

fn is_same_line(a: Option<&SourceLoc>, b: Option<&SourceLoc>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (&a.file, a.line) == (&b.file, b.line))
}

/// Two threads access one place of global memory, at least one of them writes, and nothing orders them: threads of one block
/// without a barrier between, or threads of two blocks.
///
/// The rules of [`SharedRace`](super::SharedRace) hold. Fences, releases and acquires order threads of two blocks as well.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the two accesses")]
pub struct GlobalRace<P> {
    /// Which access followed which in this run.
    pub kind: RaceKind,
    /// Bytes of the later access.
    pub size: u32,
    /// The place. A caller that names its own objects has none for a variable of the module.
    pub place: Option<P>,
    /// Line of the earlier access.
    pub other: Option<SourceLoc>,
    /// The thread of the earlier access. None where there was no room to remember all of them: that takes a kernel that
    /// accesses single bytes, or races, in random order.
    pub other_thread: Option<ThreadId>,
    /// Both threads are of one block: a barrier between them suffices.
    pub same_block: bool,
    /// Both threads are lanes of one warp.
    pub same_warp: bool,
    /// One of the accesses is `volatile`, which orders nothing by itself.
    pub volatile: bool,
    /// One access reads, and the other is an atomic.
    pub beside_atomic: bool,
}

impl<P> GlobalRace<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> GlobalRace<Q> {
        let place = self.place.and_then(name);
        GlobalRace {
            kind: self.kind,
            size: self.size,
            place,
            other: self.other,
            other_thread: self.other_thread,
            same_block: self.same_block,
            same_warp: self.same_warp,
            volatile: self.volatile,
            beside_atomic: self.beside_atomic,
        }
    }
}

impl<P: Place> Check for GlobalRace<P> {
    fn name(&self) -> &'static str {
        "global-race"
    }

    fn same(&self, other: &Self) -> bool {
        (self.kind, &self.other, self.same_block, self.same_warp)
            == (other.kind, &other.other, other.same_block, other.same_warp)
            && same_object(self.place.as_ref(), other.place.as_ref())
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { kind, place, other, other_thread, same_block, same_warp, volatile, .. } = self;
        let beside_atomic = &self.beside_atomic;
        let noun = |access: AccessKind| match access {
            AccessKind::Write if *beside_atomic => ("an", AccessKind::Atomic.noun()),
            access => ("a", access.noun()),
        };
        let ((one, earlier), (another, later)) = (noun(kind.earlier()), noun(kind.later()));
        let of = place.as_ref().map_or_else(|| "a __device__ variable".to_owned(), Place::name);
        let by = other_thread.map(|thread| format!(" by {thread}")).unwrap_or_default();
        let words = Words::new(format!("race between (1) {one} {earlier} and (2) {another} {later} of {of}"))
            .label(format!("(2) {later} here"))
            .other(other.as_ref(), format!("(1) {earlier} here{by}"))
            .help(match kind {
                _ if *beside_atomic && !same_block => READ_TOO_EARLY_BY_A_BLOCK,
                _ if *beside_atomic => READ_TOO_EARLY,
                RaceKind::WriteAfterWrite if !same_block => STORED_BY_TWO_BLOCKS,
                _ if !same_block => {
                    "nothing orders the two blocks here: add with atomicAdd, or let one block do it all; set to zero before the launch"
                }
                RaceKind::WriteAfterWrite => STORED_TWICE,
                _ if is_same_line(site.loc, other.as_ref()) => UPDATED,
                _ => kind.missing_barrier(*same_warp),
            });
        let words = if *same_block || is_same_line(site.loc, other.as_ref()) {
            words
        } else {
            words.help(HANDED_OVER)
        };
        volatile_help(words, *volatile)
    }
}
