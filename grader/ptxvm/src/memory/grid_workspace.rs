//! The workspace that a cooperative launch gives its kernel, in a buffer that no pointer of the host's names.
//!
//! `this_grid().sync()` reads a pointer from `%envreg1` (high) and `%envreg2` (low); 0 means that the launch is not
//! cooperative. Behind the pointer lie the size of the driver's workspace and a word at which blocks arrive
//! (`cooperative_groups/details/driver_abi.h` and `sync.h` of CUDA 13.0). Block 0 adds 2^31 less the other blocks and each of
//! them 1, so with the last one the topmost bit changes.

use super::Memory;

/// Size of the workspace in bytes: its own size, and the word at which blocks arrive.
const BYTES: usize = 8;
/// Offset of the word at which blocks arrive.
const BARRIER: u64 = 4;

/// Makes the workspace ready for a launch and returns its address.
pub(crate) fn prepare(memory: &mut Memory) -> u64 {
    let id = memory.hidden_variable("workspace of the grid", BYTES);
    let address = memory.address(id);
    if let Some((buffer, _)) = memory.slot(address) {
        // An earlier launch may have stopped half-way through a barrier.
        buffer.put(0, 4, BYTES as u64);
        buffer.put(4, 4, 0);
    }
    address
}

/// The address of the word at which the blocks of a cooperative launch arrive; None if there has been no such launch.
pub(crate) fn barrier_address(memory: &Memory) -> Option<u64> {
    memory.hidden().map(|id| memory.address(id) + BARRIER)
}
