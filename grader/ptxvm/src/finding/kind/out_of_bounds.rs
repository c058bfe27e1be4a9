//! An access outside every allocation.

use crate::finding::access::{AccessKind, Space};
use crate::finding::check::{Check, Fault, Site, Words};
use crate::finding::place::{Place, same_object};
use crate::finding::shared_array::SharedArray;
use std::ops::Range;

/// An address below this comes from a null pointer and an index.
const NULL_PAGE: u64 = 0x1_0000;

/// Where Linux puts programs, their heaps, libraries and stacks; only a device of more than a thousand buffers has one there.
const HOST: Range<u64> = 1 << 46..1 << 48;

/// An access outside every allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfBounds<P> {
    /// The memory that was meant.
    pub space: Space,
    /// Load, store or atomic.
    pub access: AccessKind,
    /// Bytes of the access.
    pub size: u32,
    /// The place, counted from the buffer whose address range lies nearest (global memory).
    pub place: Option<P>,
    /// The only array in that memory, if it is known and there is no other (shared and constant memory).
    pub array: Option<SharedArray>,
    /// The raw address; small values are null-pointer arithmetic.
    pub address: u64,
}

impl<P> OutOfBounds<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> OutOfBounds<Q> {
        let Self { space, access, size, place, array, address } = self;
        OutOfBounds { space, access, size, place: place.and_then(name), array, address }
    }
}

impl<P: Place> Check for OutOfBounds<P> {
    fn name(&self) -> &'static str {
        "out-of-bounds"
    }

    fn same(&self, other: &Self) -> bool {
        (self.space, self.access, self.size) == (other.space, other.access, other.size)
            && same_object(self.place.as_ref(), other.place.as_ref())
    }

    /// In global memory a GPU looks at the alignment first (measured on an H100, near null pointers too).
    fn fault(&self) -> Option<Fault> {
        let is_first = matches!(self.space, Space::Global | Space::Heap)
            && !self.address.is_multiple_of(self.size.into());
        Some(if is_first { Fault::MisalignedAddress } else { Fault::IllegalAddress })
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let Self { space, access, size, place, array, address } = self;
        if let Some(place) = place {
            let title = format!("out-of-bounds {} {}", access.of(), place.outside());
            return Words { help: place.extent(), ..Words::new(title) };
        }
        if let Some(array) = array {
            let element = array.element(*address as i64, *size);
            return Words::new(format!("out-of-bounds {} {element}", access.of())).help(format!(
                "{} has {} bytes: it ends before this place, or begins behind it",
                array.name, array.bytes
            ));
        }
        let title =
            format!("out-of-bounds {} {}, at address {address:#x}", access.of(), space.name());
        Words::new(title).help(match space {
            Space::Global if *address < NULL_PAGE => {
                "an address this small comes from a null pointer: is the pointer ever set?"
            }
            Space::Global if HOST.contains(address) => {
                "this looks like an address of the host's memory (new, malloc, a vector, a variable): pass a pointer from cudaMalloc, and copy \
                 the data there with cudaMemcpy"
            }
            Space::Global => {
                "no tensor lies near this address: is the index far too large, or the pointer overwritten?"
            }
            Space::Heap => "the allocation ends before this address, or begins behind it",
            Space::Shared | Space::Local | Space::Const => "the array ends before this address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::BufferOffset;

    #[test]
    fn what_is_misaligned_too_stops_a_gpu_as_that() {
        let fault = |space, address, size| {
            let access = AccessKind::Read;
            OutOfBounds::<BufferOffset> { space, access, size, place: None, array: None, address }
                .fault()
        };
        assert_eq!(fault(Space::Global, 0x1_0002, 4), Some(Fault::MisalignedAddress));
        assert_eq!(fault(Space::Global, u64::MAX, 4), Some(Fault::MisalignedAddress));
        assert_eq!(fault(Space::Global, 0x1_0002, 2), Some(Fault::IllegalAddress));
        assert_eq!(fault(Space::Global, 3, 4), Some(Fault::MisalignedAddress));
        assert_eq!(fault(Space::Global, 4, 4), Some(Fault::IllegalAddress));
        assert_eq!(fault(Space::Shared, 0x10_0001, 4), Some(Fault::IllegalAddress));
    }
}
