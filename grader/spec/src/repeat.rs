//! `repeat`: whether a launch must give the same bits in every run.

use super::fault::{Checked, Fault};
use toml::Spanned;

/// What a second run of a launch on the same data may give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// Correct results that may differ in their last bits, as sums by atomic additions do: the order of the additions
    /// varies.
    #[default]
    LastBits,
    /// Exactly the same bits.
    BitEqual,
}

impl Repeat {
    const WORDS: [(&str, Self); 2] = [("last-bits", Self::LastBits), ("bit-equal", Self::BitEqual)];

    pub(crate) fn read(raw: &Spanned<String>) -> Checked<Self> {
        let word = raw.get_ref();
        let found = Self::WORDS.iter().find(|(name, _)| name == word);
        found.map(|&(_, repeat)| repeat).ok_or_else(|| {
            Fault::at(raw.span(), format!("unknown `repeat` \"{}\"", word.escape_debug())).suggest(
                word,
                Self::WORDS.iter().map(|(name, _)| *name),
                "word",
            )
        })
    }
}
