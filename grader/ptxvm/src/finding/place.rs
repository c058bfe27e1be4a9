//! How a place in memory is named.

use crate::memory::buffer::BufferId;

/// A place in memory, in the terms of whoever reads the finding: a buffer and a byte here, an element of a tensor elsewhere.
pub trait Place {
    /// Whether both places belong to the same object, wherever in it.
    fn same_object(&self, other: &Self) -> bool;

    /// The name of the place: `filters[0, 0, 2, 2]`.
    fn name(&self) -> String;

    /// The name of a place that lies outside its object: `filters, 4 past its last element`.
    fn outside(&self) -> String;

    /// What helps to see why a place lies outside: how large its object is, and what lies nearest. One sentence each.
    fn extent(&self) -> Vec<String>;
}

/// A buffer and an offset in bytes from its start, which may lie outside the buffer.
pub type BufferOffset = (BufferId, i64);

impl Place for BufferOffset {
    fn same_object(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn name(&self) -> String {
        format!("byte {} of buffer {}", self.1, self.0.0)
    }

    fn outside(&self) -> String {
        format!("buffer {}, {} bytes from its start", self.0.0, self.1)
    }

    fn extent(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Whether two places, as far as they are known, belong to the same object.
pub(super) fn same_object<P: Place>(a: Option<&P>, b: Option<&P>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same_object(b),
        (None, None) => true,
        _ => false,
    }
}
