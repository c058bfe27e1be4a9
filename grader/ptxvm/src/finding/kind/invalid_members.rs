//! A member mask that does not fit the threads that take part.

use crate::finding::check::{Check, Site, Words, lanes};

/// The member mask of a warp operation (`__shfl_sync`, `__ballot_sync`, `__syncwarp` ...) does not name the thread itself, or
/// names threads that run but do not take part here (PTX ISA 9.7.9.6: the behaviour is undefined).
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidMembers {
    /// The mask of the first thread, a bit for each lane.
    pub named: u32,
    /// The lanes that take part with the same mask.
    pub here: u32,
}

impl Check for InvalidMembers {
    fn name(&self) -> &'static str {
        "invalid-members"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let (named, here) = (lanes(self.named), lanes(self.here));
        Words::new("a member mask that does not fit the threads that take part")
            .label("all threads that the mask names must come here together")
            .help(format!("the mask names the lanes {named}, here are {here}"))
            .help("call it where the whole warp comes along, or make the mask before the branch: __ballot_sync(0xffffffff, condition)")
    }
}
