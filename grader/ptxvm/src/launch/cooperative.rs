//! How many blocks of a launch the device has room for at once.

use super::config::Launch;
use crate::error::LaunchError;

/// The device that launches are measured by: an H200 (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability", 9.0).
const MULTIPROCESSORS: u64 = 132;
const BLOCKS: u64 = 32;
const THREADS: u64 = 2048;
const SHARED: u64 = 228 << 10;
/// Bytes of shared memory that the system keeps for itself in each block.
const SHARED_OF_THE_SYSTEM: u64 = 1 << 10;
/// Threads are scheduled in whole warps.
const WARP: u64 = 32;

/// How many blocks of a launch run at once, as far as threads and shared memory (in bytes, without gaps) decide.
pub(crate) fn room(launch: &Launch, shared: u32) -> u64 {
    let threads: u64 = launch.block.iter().map(|&count| u64::from(count)).product();
    let by_threads = THREADS / threads.next_multiple_of(WARP).max(1);
    let by_shared = SHARED / (u64::from(shared) + SHARED_OF_THE_SYSTEM);
    by_threads.min(by_shared).min(BLOCKS) * MULTIPROCESSORS
}

/// Whether all blocks of a cooperative launch have room at once; `shared` is what each needs, in bytes.
pub(super) fn check_room(launch: &Launch, shared: u32) -> Result<(), LaunchError> {
    let (blocks, room) = (launch.blocks(), room(launch, shared));
    if blocks <= room {
        return Ok(());
    }
    let threads = launch.threads();
    Err(LaunchError::Configuration(format!(
        "a cooperative launch needs all its {blocks} blocks on the device at once; it has room for {room} of {threads} \
         threads and {shared} bytes of shared memory"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_that_of_an_h200() {
        let launch = |block| Launch { grid: [1; 3], block, dynamic_shared: 0, params: Vec::new() };
        assert_eq!(room(&launch([1024, 1, 1]), 0), 264);
        assert_eq!(room(&launch([33, 1, 1]), 0), 32 * 132);
        assert_eq!(room(&launch([256, 1, 1]), 100 << 10), 2 * 132);
    }
}
