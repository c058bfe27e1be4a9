//! What products of a warpgroup (`wgmma`) read in shared memory until they are waited for.

use crate::isa::names::Pc;

/// Pieces of shared memory that products of a warp read, a lane each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiecesRead {
    pub pc: Pc,
    pub mask: u32,
    pub addresses: [u64; 32],
}

/// The products of a warp that are not waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupReads {
    /// Those since the last `commit_group`.
    pub open: Vec<PiecesRead>,
    /// Those of each group, the oldest first.
    pub groups: Vec<Vec<PiecesRead>>,
}

impl GroupReads {
    pub fn clear(&mut self) {
        self.open.clear();
        self.groups.clear();
    }
}
