//! The last accesses of a place in shared memory: a writer and two readers.

use crate::machine::simd::shadow_words::{ShadowWord, ShortAccessId};

/// Writer, first and latest reader. A writer is at most one of the readers. A plain writer before an atomic one may take a reader's
/// place: other atomics race with it, but not with that one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LastAccesses<M> {
    pub writer: M,
    pub readers: [M; 2],
}

impl<M: Copy> LastAccesses<M> {
    pub fn all(&self) -> [M; 3] {
        [self.writer, self.readers[0], self.readers[1]]
    }

    pub fn map<N>(&self, change: impl Fn(M) -> N) -> LastAccesses<N> {
        LastAccesses { writer: change(self.writer), readers: self.readers.map(change) }
    }
}

impl LastAccesses<ShortAccessId> {
    /// Those that a shadow word holds.
    #[inline(always)]
    pub(crate) fn of(word: ShadowWord) -> Self {
        let readers = ShadowWord::READERS.map(|reader| word.get(reader));
        Self { writer: word.get(ShadowWord::WRITER), readers }
    }

    /// The shadow word of a word that is not split.
    #[inline(always)]
    pub(crate) fn packed(self) -> ShadowWord {
        ShadowWord::new(self.writer, self.readers)
    }
}
