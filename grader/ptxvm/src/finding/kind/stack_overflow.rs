//! A recursion that is too deep.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// The frames of active functions do not fit on the stack of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct StackOverflow {
    /// Bytes of the stack.
    pub limit: u32,
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
        Words::new("the recursion is too deep")
            .label("the call that did not fit")
            .help(format!("the stack of a thread has {limit} bytes"))
            .help("does every chain of calls come to an end?")
    }
}
