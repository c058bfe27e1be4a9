//! A call through a pointer that does not lead to a function.

use crate::finding::check::{Check, Fault, Site, Words};

/// A call through a pointer that is null, uninitialised or not the address of a function with these parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidCall {
    /// The value of the pointer that was called.
    pub address: u64,
}

impl Check for InvalidCall {
    fn name(&self) -> &'static str {
        "invalid-call"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::InvalidPc)
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let address = self.address;
        Words::new(format!("call through a pointer that does not lead to a function ({address:#x})"))
            .help(if address == 0 {
                "the pointer is null: is it ever set?"
            } else {
                "is it set, and by code of the device? the address of a host function cannot be called here"
            })
    }
}
