//! A tensor map with which the copy engine can do nothing.

use crate::finding::check::{Check, Fault, Site, Words};

/// A copy of a box of a tensor whose map is not one that the copy engine takes.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMapMisuse {
    /// What is wrong with the map, or with the copy.
    pub problem: &'static str,
}

impl Check for TensorMapMisuse {
    fn name(&self) -> &'static str {
        "tensor-map"
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::LaunchFailure)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new("copy of a box by a tensor map that does not fit")
            .label(self.problem)
            .help("is the argument the map, and not a copy of it in another kind of memory? Do its sizes and strides fit the tensor?")
    }
}
