//! What the device found, in words that a program's author knows: allocations by number, since they have no names.

use crate::finding::{Element, Finding};
use crate::vm::findings::in_tensors;
use cudart::source_name;
use cudart::vm::{LaunchFinding, VmDevice};
use ptxvm::finding::BufferOffset;

/// Bytes of an element: most arrays of most programs hold floats or ints.
const ELEMENT: i64 = 4;

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
    fn place(&self, launch: usize, (buffer, offset): BufferOffset) -> Element {
        let memory = self.0.memory();
        let bytes = self.0.size_during(launch, buffer);
        let number = memory.ordinal(buffer) + 1;
        let tensor = match memory.variable_name(buffer) {
            Some(name) => source_name(name),
            None if bytes == 0 => format!("allocation {number}, which is freed,"),
            None => format!("allocation {number} ({bytes} bytes)"),
        };
        let shape = vec![bytes.div_ceil(ELEMENT as usize)];
        Element { tensor, shape, flat: offset.div_euclid(ELEMENT) }
    }
}
