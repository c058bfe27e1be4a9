//! A kernel that waits for the whole grid in an ordinary launch.

use crate::finding::check::{Check, Fault, Site, Words};

/// The kernel waits for the whole grid (`this_grid().sync()`), but the launch is not cooperative.
#[derive(Clone, Debug, PartialEq)]
pub struct GridSync;

impl Check for GridSync {
    fn name(&self) -> &'static str {
        "grid-sync"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::LaunchFailure)
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, _: &Site<'_>) -> Words {
        Words::new(
            "the kernel waits for all blocks of the grid in a launch that is not cooperative",
        )
        .help("this_grid().sync() needs a cooperative launch, and this launch is not one")
    }
}
