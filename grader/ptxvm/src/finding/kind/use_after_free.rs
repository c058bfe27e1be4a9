//! An access of memory that was freed.

use crate::finding::access::AccessKind;
use crate::finding::check::{Check, Fault, Site, Words};
use crate::finding::place::Place;

/// An access of memory that a kernel allocated and freed again.
#[derive(Clone, Debug, PartialEq)]
pub struct UseAfterFree<P> {
    /// Load, store or atomic.
    pub access: AccessKind,
    /// Bytes of the access.
    pub size: u32,
    /// The place in the allocation.
    pub place: Option<P>,
}

impl<P> UseAfterFree<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> UseAfterFree<Q> {
        let Self { access, size, place } = self;
        UseAfterFree { access, size, place: place.and_then(name) }
    }
}

impl<P: Place> Check for UseAfterFree<P> {
    fn name(&self) -> &'static str {
        "use-after-free"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::IllegalAddress)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new(format!("{} memory that was freed", self.access.of())).help(
            "free it only after the last thread is done with it: a __syncthreads() may be missing",
        )
    }
}
