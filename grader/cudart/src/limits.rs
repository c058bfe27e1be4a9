//! What a multiprocessor has room for (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").

/// The limits of a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Major and minor.
    pub capability: (u32, u32),
    /// Threads of a multiprocessor.
    pub threads: u32,
    /// Blocks of a multiprocessor.
    pub blocks: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u32,
    /// Bytes that the system takes of it for each block.
    pub reserved: u32,
    /// A block's shared memory is given out in multiples of so many bytes (`cuda_occupancy.h`).
    pub unit: u32,
}

const fn limits(
    capability: (u32, u32),
    threads: u32,
    blocks: u32,
    shared: u32,
    reserved: u32,
) -> Limits {
    let unit = if capability.0 < 8 { 256 } else { 128 };
    Limits { capability, threads, blocks, shared: shared << 10, reserved: reserved << 10, unit }
}

/// Oldest first.
const TABLE: [Limits; 5] = [
    limits((7, 5), 1024, 16, 64, 0),
    limits((8, 0), 2048, 32, 164, 1),
    limits((8, 6), 1536, 16, 100, 1),
    limits((8, 9), 1536, 24, 100, 1),
    limits((9, 0), 2048, 32, 228, 1),
];

/// Blocks and threads in x, y, z at most, the same for all of them.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// What is possible, in words.
pub const POSSIBLE: &str = "a block has 1 to 1024 threads, at most 64 of them in z; a grid has at \
    least 1 block, at most 65535 of them in y and in z";

/// Are a grid and a block of these sizes possible?
pub fn possible(grid: [u32; 3], block: [u32; 3]) -> bool {
    let inside = |sizes: [u32; 3], most: [u32; 3]| {
        sizes.iter().zip(most).all(|(&size, most)| (1..=most).contains(&size))
    };
    // Numbers within the limits cannot overflow.
    let all = inside(grid, MAX_GRID) && inside(block, MAX_BLOCK);
    all && block.iter().product::<u32>() <= ptxvm::MAX_THREADS
}

impl Limits {
    /// Those of a capability, or of the next older one that is known.
    pub fn of(capability: (u32, u32)) -> Self {
        let known = TABLE.into_iter().rfind(|limits| limits.capability <= capability);
        known.unwrap_or(TABLE[0])
    }

    /// The capabilities whose limits are known, oldest first.
    pub fn known() -> impl Iterator<Item = (u32, u32)> {
        TABLE.into_iter().map(|limits| limits.capability)
    }

    /// Bytes of shared memory of a block that asks for as much as there is.
    pub fn of_block(self) -> u32 {
        self.shared - self.reserved
    }

    /// Blocks of so many threads and bytes of shared memory that fit on a multiprocessor; registers aside.
    pub fn fitting(self, threads: u32, shared: u64) -> u32 {
        if threads > ptxvm::MAX_THREADS {
            return 0;
        }
        let by_threads = self.threads / threads.next_multiple_of(32).max(32);
        let bytes = (shared + u64::from(self.reserved)).next_multiple_of(self.unit.into());
        let by_shared = u64::from(self.shared).checked_div(bytes).unwrap_or(u64::MAX);
        by_threads.min(self.blocks).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_has_what_the_machine_grants() {
        assert_eq!(Limits::of((9, 0)).of_block(), ptxvm::MAX_SHARED);
        assert_eq!(Limits::of((8, 7)).capability, (8, 6));
        assert_eq!(Limits::of((12, 0)).capability, (9, 0));
        assert!(Limits::known().is_sorted());
    }

    #[test]
    fn blocks_fit_by_the_scarcest() {
        let (old, new) = (Limits::of((7, 5)), Limits::of((9, 0)));
        assert_eq!((old.fitting(1024, 0), new.fitting(1024, 0)), (1, 2));
        assert_eq!((old.fitting(1, 0), new.fitting(1, 0)), (16, 32));
        assert_eq!((old.fitting(33, 0), new.fitting(1025, 0)), (16, 0));
        assert_eq!((old.fitting(32, 33 << 10), new.fitting(32, 113 << 10)), (1, 2));
        // A byte more does not fit three times.
        assert_eq!((new.fitting(32, 75 << 10), new.fitting(32, (75 << 10) + 1)), (3, 2));
    }
}
