//! The input and output of mutation operators.

use super::lexemes::Lexeme;
use std::ops::Range;

/// A change that an operator proposes: the bytes of the source and their replacement.
pub(super) type Edit = (Range<usize>, String);

/// A function of the source.
pub(super) struct Body<'t, 'a> {
    /// All lexemes of the source.
    pub(super) all: &'t [Lexeme<'a>],
    /// The lexemes from its first word to the bracket that closes the parameters.
    pub(super) head: Range<usize>,
    /// The lexemes between its braces.
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
