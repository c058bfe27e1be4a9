//! How many blocks of a launch the device has room for at once.

use super::config::Launch;
use crate::error::LaunchError;
use hardware::NEWEST;

/// The multiprocessors of the device that launches are measured by: an H200.
const MULTIPROCESSORS: u64 = 132;

/// How many blocks of a launch run at once, as far as threads and shared memory (in bytes, without gaps) decide.
pub(crate) fn room(launch: &Launch, shared: u32) -> u64 {
    u64::from(NEWEST.resident_blocks(launch.threads(), shared.into())) * MULTIPROCESSORS
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
