//! A texel of a fetch, and its weight.

/// A texel that a fetch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    /// The level.
    pub level: usize,
    /// Where it lies in the level; `None` for the border colour.
    pub texel: Option<[u32; 3]>,
    /// Its part of the result, in 256ths.
    pub weight: u32,
    /// The number of the quad of texels that it belongs to.
    pub quad: u32,
}
