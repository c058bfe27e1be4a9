//! What a mutation operator is given, and what it proposes.

use super::lexemes::Lexeme;
use std::ops::Range;

/// A change that an operator proposes.
pub(super) type Edit = (Range<usize>, String);

/// A function of the source.
pub(super) struct Body<'t, 'a> {
    /// All lexemes of the source.
    pub(super) all: &'t [Lexeme<'a>],
    /// From its first word to the bracket that ends the parameters.
    pub(super) head: Range<usize>,
    /// Between its braces.
    pub(super) inner: Range<usize>,
}

impl<'t, 'a> Body<'t, 'a> {
    pub(super) fn lexemes(&self) -> impl Iterator<Item = (usize, &'t Lexeme<'a>)> {
        self.inner.clone().map(|i| (i, &self.all[i]))
    }

    /// The lexeme before this one.
    pub(super) fn before(&self, i: usize) -> &'t Lexeme<'a> {
        &self.all[i - 1]
    }
}
