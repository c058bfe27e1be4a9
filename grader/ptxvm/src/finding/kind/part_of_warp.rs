//! An operation of the whole warp that only a part of it reaches.

use crate::finding::check::{Check, Site, Words, lanes};

/// An operation of the whole warp (`mma`, `wmma`, `ldmatrix`) that only a part of it reaches (PTX ISA 9.7.14: the behaviour is
/// undefined).
#[derive(Clone, Debug, PartialEq)]
pub struct PartOfWarp {
    /// The lanes that came, a bit for each.
    pub here: u32,
}

impl Check for PartOfWarp {
    fn name(&self) -> &'static str {
        "part-of-warp"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new("an operation of a whole warp that only a part of it reaches")
            .label("some threads of the warp are not here")
            .help(format!("all 32 lanes must come here together; here are {}", lanes(self.here)))
            .help("use a block of whole warps, and no condition that differs inside a warp")
    }
}
