//! Threads of a warp that disagree about the matrix that they load or store.

use crate::finding::check::{Check, Site, Words};

/// The threads of a warp give different addresses or strides to a `wmma.load` or `wmma.store`, of which there is one
/// (PTX ISA 9.7.14.4.3: the behaviour is undefined).
#[derive(Clone, Debug, PartialEq)]
pub struct UnevenOperands;

impl Check for UnevenOperands {
    fn name(&self) -> &'static str {
        "uneven-operands"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new("the threads of a warp give this load or store of a matrix different places")
            .help("a warp loads or stores one matrix: its address and stride may not depend on the lane")
    }
}
