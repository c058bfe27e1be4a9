//! What the device found, in words that a program's author knows: allocations by number, since they have no names.

use crate::finding::{Finding, Place};
use crate::vm::findings::in_tensors;
use cudart::source_name;
use cudart::vm::{LaunchFinding, VmDevice};
use ptxvm::{BufferId, Memory};

/// Bytes of an element: most arrays of most programs hold floats or ints.
const ELEMENT: i64 = 4;

/// The names of a device's buffers.
pub struct Names<'a>(&'a Memory);

impl<'a> Names<'a> {
    pub fn new(device: &'a VmDevice) -> Self {
        Self(device.memory())
    }

    pub fn finding(&self, found: &LaunchFinding) -> Finding {
        let place = |buffer: BufferId, offset: i64| Some(self.place(buffer, offset));
        in_tensors(&source_name(&found.kernel), found.finding.clone(), self.0, &place)
    }

    fn place(&self, buffer: BufferId, offset: i64) -> Place {
        let bytes = self.0.size(buffer);
        let number = self.0.ordinal(buffer) + 1;
        let tensor = match self.0.variable_name(buffer) {
            Some(name) => source_name(name),
            None if bytes == 0 => format!("allocation {number}, which is freed,"),
            None => format!("allocation {number} ({bytes} bytes)"),
        };
        let shape = vec![bytes.div_ceil(ELEMENT as usize)];
        Place { tensor, shape, flat: offset.div_euclid(ELEMENT) }
    }
}
