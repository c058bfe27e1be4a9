//! A kernel that does far more than its task needs.

use crate::finding::check::{Check, Fault, Site, Words, thousands};

/// The blocks of a launch together were still running when the work that the caller grants was done many times over, or would be.
#[derive(Clone, Debug, PartialEq)]
pub struct TooMuchWork {
    /// Instructions that are granted, counted once for each active lane.
    pub limit: u64,
    /// Instructions of a thread of the first block, on average; of a sampled block so far, if there was a sample.
    pub for_each: u64,
    /// Blocks taken at random, each of which had already executed several times its share and was still running; 0 if there was
    /// no need for a sample.
    pub sampled: u64,
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

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { limit, for_each, sampled, threads } = self;
        let (each, all) = (thousands(*for_each), thousands(*threads));
        if *sampled > 0 {
            return Words::new(format!(
                "{} would execute more than {} instructions, many times what the formula needs",
                site.kernel,
                thousands(*limit)
            ))
            .label("this loop runs too often, or in too many threads")
            .help(format!(
                "{sampled} blocks taken at random had each executed {each} instructions for each thread, and none was at its end; the \
                 launch has {all} threads"
            ))
            .help("each thread should compute its own elements, usually one: does each go over those of all threads?");
        }
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
