//! The last accesses of a place in shared memory.

use crate::machine::simd::shadow_words::{Entry, Mark};

/// Writer, first and latest reader. A writer is at most one of the readers. A plain writer before an atomic one may take a reader's
/// place: other atomics race with it, but not with that one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Last<M> {
    pub writer: M,
    pub readers: [M; 2],
}

impl<M: Copy> Last<M> {
    pub fn all(&self) -> [M; 3] {
        [self.writer, self.readers[0], self.readers[1]]
    }

    pub fn map<N>(&self, change: impl Fn(M) -> N) -> Last<N> {
        Last { writer: change(self.writer), readers: self.readers.map(change) }
    }
}

impl Entry {
    #[inline(always)]
    pub(crate) fn last(self) -> Last<Mark> {
        let readers = Self::READERS.map(|reader| self.get(reader));
        Last { writer: self.get(Self::WRITER), readers }
    }

    /// Of a word that is not split.
    #[inline(always)]
    pub(crate) fn of(last: Last<Mark>) -> Self {
        Self::new(last.writer, last.readers)
    }
}
