//! What the device found, in words that a program's author knows: allocations by number, since they have no names.

use crate::finding::{Element, Finding};
use crate::vm::findings::{in_allocation, in_tensors, race};
use cudart::order::StreamRace;
use cudart::source_name;
use cudart::vm::{LaunchFinding, VmDevice};
use ptxvm::finding::BufferOffset;

/// The names of a device's buffers.
pub struct Names<'a>(&'a VmDevice);

impl<'a> Names<'a> {
    pub fn new(device: &'a VmDevice) -> Self {
        Self(device)
    }

    pub fn finding(&self, found: &LaunchFinding) -> Finding {
        in_tensors(&source_name(&found.kernel), &found.finding, |place| {
            Some(self.place(found.launch, place))
        })
    }

    /// A place as it was during a launch: what the program frees later was not free then.
    fn place(&self, launch: usize, place: BufferOffset) -> Element {
        in_allocation(self.0.memory(), self.0.size_during(launch, place.0), place, 0)
    }

    /// A race between streams.
    pub fn race(&self, found: &StreamRace) -> Finding {
        race(found, |place| in_allocation(self.0.memory(), found.size, place, 0))
    }
}
