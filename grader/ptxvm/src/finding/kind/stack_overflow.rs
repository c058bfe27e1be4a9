//! A recursion that is too deep, or an `alloca` that is too large.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// The frames of active functions, and what they allocate by `alloca`, do not fit on the stack of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct StackOverflow {
    /// Bytes of the stack.
    pub limit: u32,
    /// Whether an `alloca` was too much, and not a call.
    pub allocates: bool,
}

impl Check for StackOverflow {
    fn name(&self) -> &'static str {
        "stack-overflow"
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::StackOverflow)
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let limit = thousands(u64::from(self.limit));
        let size = format!("the stack of a thread has {limit} bytes");
        if self.allocates {
            return Words::new("the memory of an `alloca` does not fit on the stack")
                .label("this did not fit")
                .help(size)
                .help("declare an array of a fixed size, or take memory of the device");
        }
        Words::new("the recursion is too deep")
            .label("the call that did not fit")
            .help(size)
            .help("does every chain of calls come to an end?")
    }
}
