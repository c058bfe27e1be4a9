//! The 32 lanes of a warp: masks of them, values and word indices for each, and coordinates of threads.

/// A value for each of the 32 lanes, in cache lines of its own: a vector that lies across two of them takes two accesses,
/// and one across two pages many more.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LaneArray<T>(pub [T; 32]);

/// The lanes of a mask, in order.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

/// Most words between the lowest and the highest for which all in between are checked together.
pub(crate) const SPAN: usize = 64;

/// The indices of aligned words, one for each lane. Inactive lanes have the index of the first active one.
#[derive(Clone, Debug)]
pub(crate) struct LaneIndices {
    /// Index of each lane's word, from the start of the buffer or window.
    pub index: LaneArray<u32>,
    /// The index of the first active lane.
    pub first: u32,
    /// The largest distance of a lane's index from the first; past 2^31 if a lane is below it.
    pub reach: u32,
}

impl LaneIndices {
    pub fn new() -> Self {
        Self { index: LaneArray([0; 32]), first: 0, reach: 0 }
    }

    /// The range from the lowest word to the highest, if they are near each other.
    #[inline(always)]
    pub fn span(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let first = self.first as usize;
        ((self.reach as usize) < SPAN).then(|| first..=first + self.reach as usize)
    }

    /// Whether a condition holds for the words of all lanes.
    #[inline(always)]
    pub fn all(&self, mask: u32, holds: impl Fn(usize) -> bool) -> bool {
        lanes(mask).all(|lane| holds(self.index.0[lane] as usize))
    }
}

/// Index of a thread in its block from its coordinates; x runs fastest.
pub(crate) fn index([x, y, z]: [u32; 3], size: [u32; 3]) -> u32 {
    (z * size[1] + y) * size[0] + x
}

/// Coordinates of a thread, or a block, from its index; x runs fastest.
pub(crate) fn coordinates(index: u32, size: [u32; 3]) -> [u32; 3] {
    [index % size[0], index / size[0] % size[1], index / size[0] / size[1]]
}
