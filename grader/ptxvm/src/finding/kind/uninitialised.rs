//! A read of memory that nothing has written.

use crate::finding::access::Space;
use crate::finding::check::{Check, Site, Words};
use crate::finding::place::{Place, same_object};
use crate::finding::shared_array::SharedArray;

/// A read of memory that nothing has written.
#[derive(Clone, Debug, PartialEq)]
pub struct Uninitialised<P> {
    /// The memory that was read.
    pub space: Space,
    /// Bytes of the access.
    pub size: u32,
    /// The place (global memory).
    pub place: Option<P>,
    /// Bytes from the start of the space (shared and local memory), else of the buffer.
    pub offset: i64,
    /// The array there, if it is known (shared memory).
    pub array: Option<SharedArray>,
}

impl<P> Uninitialised<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> Uninitialised<Q> {
        let Self { space, size, place, offset, array } = self;
        Uninitialised { space, size, place: place.and_then(name), offset, array }
    }
}

impl<P: Place> Check for Uninitialised<P> {
    fn name(&self) -> &'static str {
        "uninitialised"
    }

    fn same(&self, other: &Self) -> bool {
        (self.space, self.size) == (other.space, other.size)
            && same_object(self.place.as_ref(), other.place.as_ref())
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let Self { space, size, place, offset, array } = self;
        let (what, help) = match (place, space) {
            (Some(place), _) => (
                place.name(),
                "nothing has stored there before: a sum starts from a variable that is 0, or is set to 0 in a launch before, where blocks share it; what another launch stores must be stored before, and all of it",
            ),
            (None, Space::Shared) => (
                SharedArray::element_or_byte(array.as_ref(), *offset, *size),
                "shared memory starts undefined: has a thread stored here, with a __syncthreads() after it?",
            ),
            (None, _) => (
                format!("byte {offset} of {}", space.name()),
                "a variable or array is read before it is set",
            ),
        };
        Words::new(format!("read of {what}, which nothing has written")).help(help)
    }
}
