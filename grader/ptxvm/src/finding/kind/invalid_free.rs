//! A `free` of what cannot be freed.

use crate::finding::check::{Check, Fault, Site, Words};

/// `free` or `delete` of something that is not an allocation of the device heap.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidFree {
    /// The value of the pointer that was freed.
    pub address: u64,
    /// It was an allocation and has been freed before.
    pub again: bool,
}

impl Check for InvalidFree {
    fn name(&self) -> &'static str {
        "invalid-free"
    }

    fn same(&self, other: &Self) -> bool {
        self.again == other.again
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::LaunchFailure)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        if self.again {
            Words::new("memory that is freed a second time")
                .help("every allocation is freed once: by one thread, if the block shares it")
        } else {
            Words::new("free of a pointer that malloc did not return")
                .help("free takes the very pointer that malloc or new returned, or a null pointer")
        }
    }
}
