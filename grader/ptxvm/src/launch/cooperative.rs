//! How many blocks of a launch have room at once, on the device and in the memory of the host.

use super::config::Launch;
use crate::error::{LaunchError, LoadError};
use hardware::NEWEST;

/// The multiprocessors of the device that launches are measured by: an H200.
const MULTIPROCESSORS: u64 = 132;

/// Bytes of local memory that all threads of the blocks which run at once may have together. The virtual machine keeps one and a
/// quarter times as much; four blocks of 1,024 threads with 512 KiB each have room, and all of an H200's with 7 KiB each.
const LOCAL_MEMORY: u64 = 2 << 30;

/// How many blocks of a launch run at once, as far as threads and memory decide; at least one. `shared` is what a block needs,
/// `local` what a thread does, in bytes without gaps.
pub(crate) fn room(launch: &Launch, shared: u32, local: u32) -> u64 {
    on_device(launch, shared).min(with_local(launch, local)).max(1)
}

fn on_device(launch: &Launch, shared: u32) -> u64 {
    u64::from(NEWEST.resident_blocks(launch.threads(), shared.into())) * MULTIPROCESSORS
}

/// How many blocks the host has local memory for.
fn with_local(launch: &Launch, local: u32) -> u64 {
    LOCAL_MEMORY / (u64::from(launch.threads()) * u64::from(local)).max(1)
}

/// Whether all blocks of a cooperative launch have room on the device at once.
///
/// # Errors
/// They have not.
pub(super) fn check_device(launch: &Launch, shared: u32) -> Result<(), LaunchError> {
    let (blocks, room) = (launch.blocks(), on_device(launch, shared));
    if blocks <= room {
        return Ok(());
    }
    let threads = launch.threads();
    Err(LaunchError::Configuration(format!(
        "a cooperative launch needs all its {blocks} blocks on the device at once; it has room for {room} of {threads} \
         threads and {shared} bytes of shared memory"
    )))
}

/// Whether `blocks` blocks, which must run at once, have local memory.
///
/// # Errors
/// They have not.
pub(super) fn check_local(launch: &Launch, blocks: u64, local: u32) -> Result<(), LaunchError> {
    if blocks <= with_local(launch, local) {
        return Ok(());
    }
    let threads = launch.threads();
    Err(LaunchError::Refused(LoadError::too_large(
        0,
        format!(
            "{blocks} blocks of {threads} threads run at once, and each thread has {local} bytes of local memory; \
             2 GiB are allowed together"
        ),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(threads: u32) -> Launch {
        Launch { grid: [1; 3], block: [threads, 1, 1], dynamic_shared: 0, params: Vec::new() }
    }

    #[test]
    fn room_is_that_of_an_h200() {
        let room = |threads, shared| room(&launch(threads), shared, 7 << 10);
        assert_eq!(room(1024, 0), 264);
        assert_eq!(room(33, 0), 32 * 132);
        assert_eq!(room(256, 100 << 10), 2 * 132);
    }

    #[test]
    fn local_memory_has_room_in_the_host() {
        let room = |threads, local| room(&launch(threads), 0, local);
        assert_eq!(room(1024, 512 << 10), 4);
        assert_eq!(room(32, 512 << 10), 128);
        assert!(check_local(&launch(1024), 4, 512 << 10).is_ok());
        let refused = check_local(&launch(1024), 5, 512 << 10);
        assert!(matches!(refused, Err(LaunchError::Refused(error)) if error.too_large));
    }
}
