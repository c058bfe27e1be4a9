//! Byte ranges in the text that was parsed.

/// A range of bytes in the text that was given to the parser. Errors and tree nodes carry one, so that a caller
/// can point at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// The position of the first byte.
    pub start: usize,
    /// The position after the last byte.
    pub end: usize,
}

impl Span {
    /// The span of the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The range from the start of `self` to the end of `other`.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}
