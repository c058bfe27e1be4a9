//! A write to what an asynchronous copy still reads.

use crate::finding::access::AccessKind;
use crate::finding::check::{Check, Site, Words};
use crate::source_loc::SourceLoc;

/// A write to the source of an asynchronous copy (`cp.async`, or a bulk copy to global memory) that is not complete: the copy takes the old
/// value or the new one.
#[derive(Clone, Debug, PartialEq)]
pub struct CopySource {
    /// Store or atomic.
    pub access: AccessKind,
    /// Line of the copy.
    pub copy: Option<SourceLoc>,
    /// `threadIdx` of the thread that copies.
    pub copy_thread: [u32; 3],
}

impl Check for CopySource {
    fn name(&self) -> &'static str {
        "copy-source"
    }

    fn same(&self, other: &Self) -> bool {
        (self.access, &self.copy) == (other.access, &other.copy)
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { access, copy, copy_thread } = self;
        let own = site.thread.is_some_and(|thread| thread.thread == *copy_thread);
        Words::new(format!(
            "{} what an asynchronous copy still reads: it takes the old value or the new one",
            access.of()
        ))
        .label(format!("{} here", access.noun()))
        .other(copy.as_ref(), "the copy begins here")
        .help(if own {
            "wait for the copy first, by the wait_group of its kind"
        } else {
            "the thread that copies must wait for it (cp.async.bulk.wait_group.read), and then a __syncthreads() must follow"
        })
    }
}
