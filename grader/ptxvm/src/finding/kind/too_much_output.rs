//! A kernel that prints far more than anybody reads.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// The threads of a launch were still printing when they had printed all that the caller grants.
#[derive(Clone, Debug, PartialEq)]
pub struct TooMuchOutput {
    /// Bytes that are granted, with a few for each call.
    pub limit: u64,
}

impl Check for TooMuchOutput {
    fn name(&self) -> &'static str {
        "too-much-output"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::Timeout)
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let megabytes = thousands(self.limit >> 20);
        Words::new(format!("{} was stopped after printing {megabytes} MB", site.kernel))
            .label("prints too often, or in too many threads")
            .help("a GPU keeps the last 1 MB of what a launch prints, and printing takes far longer than computing")
            .help("print in one thread, or only where a value is wrong; does a loop around `printf` end?")
    }
}
