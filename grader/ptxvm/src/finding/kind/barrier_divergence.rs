//! A barrier that only a part of a block or warp reaches.

use crate::finding::check::{Check, Site, Words};
use crate::source_loc::SourceLoc;

/// A barrier that part of the block can never reach, or that only part of a warp reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierDivergence {
    /// Where the other threads are: None if they have returned.
    pub other: Option<SourceLoc>,
}

impl Check for BarrierDivergence {
    fn name(&self) -> &'static str {
        "barrier-divergence"
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new("__syncthreads() that only a part of the block reaches")
            .label("some threads wait here")
            .other(self.other.as_ref(), "the other threads are here")
            .help(if self.other.is_none() {
                "the other threads have returned: all of a block must reach every __syncthreads()"
            } else {
                "all threads of a block must reach the same __syncthreads()"
            })
    }
}
