//! An address that is not a multiple of the access size, or rows of a matrix that are not so many bytes apart.

use crate::finding::access::{AccessKind, Space};
use crate::finding::check::{Check, Fault, Site, Words};
use crate::finding::place::{Place, same_object};

/// An access at an address that is not a multiple of the access size.
#[derive(Clone, Debug, PartialEq)]
pub struct Misaligned<P> {
    /// The memory that was accessed.
    pub space: Space,
    /// Load, store or atomic.
    pub access: AccessKind,
    /// Bytes of the access.
    pub size: u32,
    /// The place (global memory).
    pub place: Option<P>,
    /// Bytes from one row of a matrix to the next, where they are the mistake and the first row is aligned.
    pub row_step: Option<u64>,
}

impl<P> Misaligned<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> Misaligned<Q> {
        let Self { space, access, size, place, row_step } = self;
        Misaligned { space, access, size, place: place.and_then(name), row_step }
    }
}

impl<P: Place> Check for Misaligned<P> {
    fn name(&self) -> &'static str {
        "misaligned"
    }

    fn same(&self, other: &Self) -> bool {
        (self.space, self.access, self.size, self.row_step)
            == (other.space, other.access, other.size, other.row_step)
            && same_object(self.place.as_ref(), other.place.as_ref())
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::MisalignedAddress)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let Self { space, access, size, place, row_step } = self;
        let at = match place {
            Some(place) => format!("at {}", place.name()),
            None => format!("in {}", space.name()),
        };
        if let Some(step) = row_step {
            let title = format!(
                "misaligned {} of a matrix with {step} bytes from a row or column to the next",
                access.noun()
            );
            return Words::new(title).help(format!(
                "{size} bytes at once need rows or columns that begin at multiples of {size} bytes, and so a leading dimension \
                 of such a multiple; the matrix begins {at}"
            ));
        }
        Words::new(format!("misaligned {} of {size} bytes {at}", access.noun()))
            .help(format!("{size} bytes at once need an address that is a multiple of {size}"))
    }
}
