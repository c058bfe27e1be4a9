//! Limits of NVIDIA's GPUs, by compute capability.
//!
//! The numbers are those of the CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per
//! Compute Capability"; how memory is given out follows `cuda_occupancy.h` of CUDA 13.0.

mod peaks;

pub use peaks::{GPUS, Peaks};

/// Threads of a warp.
pub const WARP_SIZE: u32 = 32;
/// Threads of a block at most.
pub const MAX_THREADS: u32 = 1024;
/// Threads of a block at most in x, y and z.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid at most in x, y and z.
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Bytes of shared memory of a block, unless its kernel asks for more with `cudaFuncSetAttribute`. More static shared memory
/// than this does not compile.
pub const SHARED_WITHOUT_OPT_IN: u32 = 48 << 10;
/// Registers, of 32 bits, of a multiprocessor and of a block.
pub const REGISTERS: u32 = 64 << 10;
/// Registers of a thread at most.
pub const MAX_THREAD_REGISTERS: u32 = 255;
/// A warp's registers are given out in multiples of this.
pub const REGISTER_UNIT: u32 = 256;
/// Parts of a multiprocessor, each with its own registers.
pub const PARTITIONS: u32 = 4;
/// Bytes of constant memory.
pub const CONSTANT_MEMORY: u32 = 64 << 10;

/// What a multiprocessor of a compute capability has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Major and minor number of the compute capability.
    pub capability: (u32, u32),
    /// Warps that are resident at once.
    pub warps: u32,
    /// Blocks that are resident at once.
    pub blocks: u32,
    /// Bytes of shared memory, for all blocks together.
    pub shared: u32,
    /// Bytes of it that the system takes for each block.
    pub reserved: u32,
    /// A block's shared memory is given out in multiples of this many bytes.
    pub shared_unit: u32,
}

const fn multiprocessor(
    capability: (u32, u32),
    warps: u32,
    blocks: u32,
    shared_kib: u32,
) -> Multiprocessor {
    let (shared_unit, reserved) = if capability.0 < 8 { (256, 0) } else { (128, 1 << 10) };
    Multiprocessor { capability, warps, blocks, shared: shared_kib << 10, reserved, shared_unit }
}

/// The newest compute capability of the table.
pub const NEWEST: Multiprocessor = multiprocessor((9, 0), 64, 32, 228);

/// All compute capabilities whose limits are known, oldest first.
pub const MULTIPROCESSORS: [Multiprocessor; 5] = [
    multiprocessor((7, 5), 32, 16, 64),
    multiprocessor((8, 0), 64, 32, 164),
    multiprocessor((8, 6), 48, 16, 100),
    multiprocessor((8, 9), 48, 24, 100),
    NEWEST,
];

impl Multiprocessor {
    /// The multiprocessor of a compute capability, or of the next older one that is known.
    pub fn of(capability: (u32, u32)) -> Self {
        let known = MULTIPROCESSORS.into_iter().rfind(|known| known.capability <= capability);
        known.unwrap_or(MULTIPROCESSORS[0])
    }

    /// The architecture as compilers name it: 90 for `sm_90`.
    pub const fn sm(self) -> u32 {
        self.capability.0 * 10 + self.capability.1
    }

    /// Threads that are resident at once.
    pub const fn threads(self) -> u32 {
        self.warps * WARP_SIZE
    }

    /// Bytes of shared memory of a block whose kernel asks for as much as there is.
    pub const fn block_shared(self) -> u32 {
        self.shared - self.reserved
    }

    /// Blocks that fit at once by their shared memory alone, `shared` bytes each.
    pub fn blocks_by_shared(self, shared: u64) -> u64 {
        let bytes = (shared + u64::from(self.reserved)).next_multiple_of(self.shared_unit.into());
        u64::from(self.shared).checked_div(bytes).unwrap_or(u64::MAX)
    }

    /// Blocks of `threads` threads and `shared` bytes of shared memory that fit at once, registers aside.
    pub fn resident_blocks(self, threads: u32, shared: u64) -> u32 {
        if threads > MAX_THREADS {
            return 0;
        }
        let by_warps = self.warps / threads.div_ceil(WARP_SIZE).max(1);
        let by_shared = u32::try_from(self.blocks_by_shared(shared)).unwrap_or(u32::MAX);
        by_warps.min(self.blocks).min(by_shared)
    }
}

/// The registers that a warp takes if each of its threads needs so many.
pub const fn registers_of_warp(registers: u32) -> u32 {
    (registers * WARP_SIZE).next_multiple_of(REGISTER_UNIT)
}

/// The threads of the largest block that can start if each of them needs so many registers.
pub fn threads_by_registers(registers: u32) -> u32 {
    // The hardware takes a block's warps for a multiple of the parts when it looks whether the block fits at all.
    let warps = REGISTERS.checked_div(registers_of_warp(registers)).unwrap_or(u32::MAX);
    (warps / PARTITIONS * PARTITIONS).min(MAX_THREADS / WARP_SIZE) * WARP_SIZE
}

/// Whether a grid of blocks of these sizes, in x, y and z, can be launched, memory aside.
pub fn can_launch(grid: [u32; 3], block: [u32; 3]) -> bool {
    let inside = |sizes: [u32; 3], most: [u32; 3]| {
        sizes.iter().zip(most).all(|(&size, most)| (1..=most).contains(&size))
    };
    // What is inside cannot overflow.
    let all = inside(grid, MAX_GRID) && inside(block, MAX_BLOCK);
    all && block.iter().product::<u32>() <= MAX_THREADS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_has_its_own_limits_or_those_of_the_next_older_one() {
        assert_eq!(NEWEST.block_shared(), 232_448);
        assert_eq!(NEWEST.threads(), 2048);
        assert_eq!(Multiprocessor::of((8, 6)).block_shared(), 101_376);
        assert_eq!(Multiprocessor::of((8, 7)).capability, (8, 6));
        assert_eq!(Multiprocessor::of((12, 0)), NEWEST);
        assert_eq!(Multiprocessor::of((5, 0)).capability, (7, 5));
        assert!(MULTIPROCESSORS.is_sorted_by_key(|known| known.capability));
    }

    #[test]
    fn blocks_fit_by_the_scarcest() {
        let (old, new) = (Multiprocessor::of((7, 5)), NEWEST);
        let blocks = |of: Multiprocessor, threads, shared| of.resident_blocks(threads, shared);
        assert_eq!((blocks(old, 1024, 0), blocks(new, 1024, 0)), (1, 2));
        assert_eq!((blocks(old, 1, 0), blocks(new, 1, 0)), (16, 32));
        assert_eq!((blocks(old, 33, 0), blocks(new, 1025, 0)), (16, 0));
        assert_eq!((blocks(old, 32, 33 << 10), blocks(new, 32, 113 << 10)), (1, 2));
        // One more byte does not fit three times.
        assert_eq!((blocks(new, 32, 75 << 10), blocks(new, 32, (75 << 10) + 1)), (3, 2));
    }

    #[test]
    fn registers_bound_the_threads_of_a_block() {
        let threads = [0, 32, 64, 65, 72, 73, 128, 129, 255].map(threads_by_registers);
        assert_eq!(threads, [1024, 1024, 1024, 896, 896, 768, 512, 384, 256]);
        assert_eq!(threads_by_registers(MAX_THREAD_REGISTERS), 256);
    }

    #[test]
    fn sizes_are_bounded_on_each_axis_and_together() {
        assert!(can_launch(MAX_GRID, [1024, 1, 1]) && can_launch([1; 3], [16, 1, 64]));
        assert!(!can_launch([1, 65_536, 1], [1; 3]) && !can_launch([0, 1, 1], [1; 3]));
        assert!(!can_launch([1; 3], [1, 1, 65]) && !can_launch([1; 3], [32, 33, 1]));
    }
}
