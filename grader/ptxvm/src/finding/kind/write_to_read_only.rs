//! A write to memory that a kernel may only read.

use crate::finding::access::Space;
use crate::finding::check::{Check, Fault, Site, Words};
use crate::finding::place::{Place, same_object};

/// A write to a read-only buffer: an input, or the module's constants.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteToReadOnly<P> {
    /// The place. A caller that names its own objects has none for the module's constants.
    pub place: Option<P>,
    /// Bytes of the access.
    pub size: u32,
    /// The address that the kernel stored to.
    pub address: u64,
}

impl<P> WriteToReadOnly<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> WriteToReadOnly<Q> {
        let Self { place, size, address } = self;
        WriteToReadOnly { place: place.and_then(name), size, address }
    }
}

impl<P: Place> Check for WriteToReadOnly<P> {
    fn name(&self) -> &'static str {
        if self.place.is_some() { "write-to-input" } else { "out-of-bounds" }
    }

    fn same(&self, other: &Self) -> bool {
        self.size == other.size && same_object(self.place.as_ref(), other.place.as_ref())
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::IllegalAddress)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        match &self.place {
            Some(place) => Words::new(format!("write to {}, which is an input", place.name()))
                .help("a kernel must leave its inputs as they are: is this the right pointer?"),
            None => Words::new(format!(
                "write to {}, at address {:#x}",
                Space::Const.name(),
                self.address
            ))
            .help("a kernel can only read constant memory: is this the right pointer?"),
        }
    }
}
