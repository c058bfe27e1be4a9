//! A race in shared memory.

use crate::finding::access::{RaceKind, volatile_help};
use crate::finding::check::{Check, Site, ThreadId, Words};
use crate::finding::shared_array::SharedArray;
use crate::source_loc::SourceLoc;

/// What helps two blocks of a cluster.
const BETWEEN_BLOCKS: &str = "the two blocks belong to one cluster: put cluster.sync() (barrier.cluster) between the two accesses";

/// Two threads of a block, or of two blocks of a cluster, access one place of shared memory, at least one of them writes, and no
/// barrier lies between.
///
/// The finding's line and thread are those of the later access. Writes of the same value, atomics among themselves and
/// volatile accesses of memory that threads wait for are not races, except for updates that are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedRace {
    /// Which access followed which in this run.
    pub kind: RaceKind,
    /// Bytes of the later access.
    pub size: u32,
    /// Offset in shared memory.
    pub offset: i64,
    /// The array there, if it is known.
    pub array: Option<SharedArray>,
    /// Line of the earlier access.
    pub other: Option<SourceLoc>,
    /// `threadIdx` of the earlier access. None, and no line, where there was no room to remember it: that takes a kernel in
    /// which threads of three warps race for single bytes.
    pub other_thread: Option<[u32; 3]>,
    /// The block of that thread, if it is another one of the cluster.
    pub other_block: Option<[u32; 3]>,
    /// Both threads are lanes of one warp: `__syncwarp()` between them suffices.
    pub same_warp: bool,
    /// One of the accesses is `volatile`, which orders nothing by itself.
    pub volatile: bool,
}

impl Check for SharedRace {
    fn name(&self) -> &'static str {
        "shared-race"
    }

    fn same(&self, other: &Self) -> bool {
        (self.kind, self.size, &self.other, self.same_warp, self.other_block.is_some())
            == (other.kind, other.size, &other.other, other.same_warp, other.other_block.is_some())
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { kind, size, offset, array, other, other_thread, other_block, .. } = self;
        let (earlier, later) = (kind.earlier().noun(), kind.later().noun());
        let block = other_block.or(site.thread.map(|thread| thread.block));
        let thread = block.zip(*other_thread).map(|(block, thread)| ThreadId { block, thread });
        let by = thread.map(|thread| format!(" by {thread}")).unwrap_or_default();
        let at = match array {
            Some(array) => array.element(*offset, *size),
            None => format!("byte {offset}"),
        };
        let words = Words::new(format!(
            "shared-memory race between (1) a {earlier} and (2) a {later} of {at}"
        ))
        .label(format!("(2) {later} here"))
        .other(other.as_ref(), format!("(1) {earlier} here{by}"))
        .help(if other_block.is_some() {
            BETWEEN_BLOCKS
        } else {
            kind.missing_barrier(self.same_warp)
        });
        volatile_help(words, self.volatile)
    }
}
