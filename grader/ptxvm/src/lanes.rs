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

/// Lanes of half a warp: a row of a block that is 16 threads wide.
pub(crate) const HALF: usize = 16;

/// Whether these are the addresses of words one behind the other.
#[inline(always)]
pub(crate) fn are_in_turn(addresses: &[u64; HALF]) -> bool {
    let start = addresses[0];
    // No short cut out of the loop, so that it vectorises.
    let odd = addresses
        .iter()
        .zip(0..)
        .fold(0, |odd, (&at, lane)| odd | at ^ start.wrapping_add(4 * lane));
    odd == 0
}

/// How the words of the lanes of half a warp lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// All have the same one.
    Same,
    /// Each has the one behind that of the lane before.
    Row,
    Irregular,
}

/// The indices of aligned words, one for each lane. Inactive lanes have the index of the first active one.
#[derive(Clone, Debug)]
pub(crate) struct LaneIndices {
    /// Index of each lane's word, from the start of the buffer or window.
    pub index: LaneArray<u32>,
    /// How those of each half of the warp lie. An inactive lane of a row has the word of an active one, too.
    pub halves: [Pattern; 2],
    /// If a half is irregular: the index of the first active lane, ...
    pub first: u32,
    /// ... and the largest distance of a lane's index from the first; past 2^31 if a lane is below it.
    pub reach: u32,
}

impl LaneIndices {
    pub fn new() -> Self {
        Self {
            index: LaneArray([0; 32]),
            halves: [Pattern::Irregular; 2],
            first: 0,
            reach: u32::MAX,
        }
    }

    /// The range from the lowest word to the highest, if a half is irregular and they are near each other.
    #[inline(always)]
    pub fn span(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let first = self.first as usize;
        ((self.reach as usize) < SPAN).then(|| first..=first + self.reach as usize)
    }

    /// The first word of each half, and how the others lie.
    #[inline(always)]
    pub fn halves(&self) -> [(usize, Pattern); 2] {
        let [first, second] = self.halves;
        let LaneArray(index) = &self.index;
        [(index[0] as usize, first), (index[HALF] as usize, second)]
    }

    /// Whether a condition holds for the words of all lanes, given for one word and for a row of them.
    #[inline(always)]
    pub fn all_halves(
        &self,
        mask: u32,
        word: impl Fn(usize) -> bool,
        row: impl Fn(usize) -> bool,
    ) -> bool {
        let holds = |(first, pattern), lane| match pattern {
            Pattern::Same => word(first),
            Pattern::Row => row(first),
            Pattern::Irregular => {
                let half = mask & ((1u32 << HALF) - 1) << lane;
                lanes(half).all(|lane| word(self.index.0[lane] as usize))
            }
        };
        let [first, second] = self.halves();
        // Rows of a block that is 16 threads wide often read the same row.
        let twice = second == first && second.1 != Pattern::Irregular;
        holds(first, 0) && (twice || holds(second, HALF))
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
