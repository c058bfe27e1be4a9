//! A kernel that stops itself.

use crate::finding::check::{Check, Fault, Site, Words};

/// `trap` or a failed `assert`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    /// The assertion's text, where known.
    pub message: Option<String>,
}

impl Check for Trap {
    fn name(&self) -> &'static str {
        "trap"
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn fault(&self) -> Option<Fault> {
        Some(if self.message.is_some() { Fault::Assert } else { Fault::LaunchFailure })
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new(match &self.message {
            Some(message) => format!("assertion failed: {message}"),
            None => "the kernel stopped itself with a trap".into(),
        })
    }
}
