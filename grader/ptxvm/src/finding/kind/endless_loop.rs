//! A kernel that does not end.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// A warp that is still running when its budget of instructions is spent.
#[derive(Clone, Debug, PartialEq)]
pub struct EndlessLoop {
    /// Instructions that the warp has executed.
    pub instructions: u64,
}

impl Check for EndlessLoop {
    fn name(&self) -> &'static str {
        "endless-loop"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::Timeout)
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let who = site.thread.map_or_else(|| site.kernel.to_owned(), |thread| thread.to_string());
        let line = site.loc.map(|loc| format!(", at line {}", loc.line)).unwrap_or_default();
        let instructions = thousands(self.instructions);
        Words::new(format!("{who} was still running after {instructions} instructions{line}"))
            .label("was here")
            .help("does the loop's variable move towards its end in every case?")
    }
}
