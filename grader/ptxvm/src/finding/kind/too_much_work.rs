//! A kernel that does far more than its task needs.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// The blocks of a launch together were still running when the work that the caller grants was done many times over.
#[derive(Clone, Debug, PartialEq)]
pub struct TooMuchWork {
    /// Instructions after which the launch was stopped, counted once for each active lane.
    pub limit: u64,
    /// Instructions of a thread of the first block, on average.
    pub for_each: u64,
    /// Threads of the launch.
    pub threads: u64,
}

impl Check for TooMuchWork {
    fn name(&self) -> &'static str {
        "too-much-work"
    }

    fn same(&self, _: &Self) -> bool {
        true
    }

    fn fault(&self) -> Option<Fault> {
        Some(Fault::Timeout)
    }

    fn ends_launch(&self) -> bool {
        true
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { limit, for_each, threads } = self;
        let (each, all) = (thousands(*for_each), thousands(*threads));
        let words = Words::new(format!(
            "{} was stopped after {} instructions, many times what the formula needs",
            site.kernel,
            thousands(*limit)
        ))
        .label("this loop, or one like it")
        .help(format!("the first block executes {each} instructions for each of its threads; the launch has {all} threads"));
        // A thread that goes over all elements executes at least one instruction for each.
        if for_each >= threads {
            words.help("each thread does as much as if it went over all elements: let each compute its own, usually one")
        } else {
            words.help("does each thread repeat what others do as well?")
        }
    }
}
