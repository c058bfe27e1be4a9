//! An access that does not wait for an asynchronous copy.

use crate::finding::access::AccessKind;
use crate::finding::check::{Check, Site, Words};
use crate::finding::shared_array::SharedArray;
use crate::source_loc::SourceLoc;

/// An access of shared memory that an asynchronous copy (`cp.async`) has not reached yet: its thread has not waited.
#[derive(Clone, Debug, PartialEq)]
pub struct InFlight {
    /// Load, store or atomic.
    pub access: AccessKind,
    /// Bytes of the access.
    pub size: u32,
    /// Offset in shared memory of the first such word.
    pub offset: i64,
    /// The array there, if it is known.
    pub array: Option<SharedArray>,
    /// Line of the copy.
    pub copy: Option<SourceLoc>,
    /// `threadIdx` of the thread that copies.
    pub copy_thread: [u32; 3],
}

impl Check for InFlight {
    fn name(&self) -> &'static str {
        "copy-in-flight"
    }

    fn same(&self, other: &Self) -> bool {
        (self.access, self.size, &self.copy) == (other.access, other.size, &other.copy)
    }

    fn words(&self, site: &Site<'_>) -> Words {
        let Self { access, size, offset, array, copy, copy_thread } = self;
        let own = site.thread.is_some_and(|thread| thread.thread == *copy_thread);
        let at = SharedArray::element_or_byte(array.as_ref(), *offset, *size);
        Words::new(format!(
            "{} {at}, to which an asynchronous copy is still on its way",
            access.of()
        ))
        .label(format!("{} here", access.noun()))
        .other(copy.as_ref(), "the copy begins here")
        .help(if own {
            "wait for the copy first: by __pipeline_wait_prior, or at the barrier that it belongs to"
        } else {
            "the thread that copies must wait for it (__pipeline_wait_prior), and then a __syncthreads() must follow; for a barrier's copy, all threads wait at the barrier"
        })
    }
}
