//! What came of replacements that have been tried: at the sizes of a test many slips are the same, since either of two equal sizes
//! may stand for the other.

use std::collections::HashMap;

use crate::variants::machine::Replacement;

/// Replacements, each with what is known of it, in the order in which they came.
pub(super) struct Tried<'m, T> {
    all: Vec<(Vec<Replacement<'m>>, T)>,
    /// Their positions, by what they replace first.
    by_place: HashMap<Option<usize>, Vec<usize>>,
}

impl<T> Default for Tried<'_, T> {
    fn default() -> Self {
        Self { all: Vec::new(), by_place: HashMap::new() }
    }
}

impl<'m, T> Tried<'m, T> {
    /// What is known of replacements; what `new` makes of them, if it is the first time.
    pub(super) fn entry(
        &mut self,
        replaced: Vec<Replacement<'m>>,
        new: impl FnOnce(&[Replacement<'m>]) -> T,
    ) -> &mut T {
        let first = replaced.first().map(Replacement::address);
        let here = self.by_place.entry(first).or_default();
        let known = here.iter().copied().find(|&at| self.all[at].0 == replaced);
        let at = known.unwrap_or_else(|| {
            let known = new(&replaced);
            self.all.push((replaced, known));
            here.push(self.all.len() - 1);
            self.all.len() - 1
        });
        &mut self.all[at].1
    }

    pub(super) fn into_all(self) -> Vec<(Vec<Replacement<'m>>, T)> {
        self.all
    }
}
