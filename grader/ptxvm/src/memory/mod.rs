//! The state spaces, as lanes see them.
//!
//! Generic addresses keep the window in their top four bits, so `cvta` adds or subtracts a constant. Inside the global window
//! each buffer has a slot of 2^36 bytes to itself and lies in the middle of it, so that an index that is wrong by any 32-bit
//! amount, up or down, still tells which buffer it was meant for. In the other windows variables lie apart by gaps that
//! belong to nobody.

pub mod buffer;
pub mod flat;
pub mod global;
pub(crate) mod grid_workspace;
pub mod heap;
pub mod host;
mod images;
pub mod in_flight;
pub(crate) mod lane_memory;
pub mod layout;
pub mod local;
mod shared_with_host;
mod slot_table;
pub mod unwritten;

use self::buffer::Buffer;
use self::global::Variables;
use self::heap::Heap;
use self::slot_table::SlotTable;
use self::unwritten::Unwritten;
use crate::image::object::ObjectTable;

/// Global memory of the virtual device: buffers far apart, so that no overflow reaches a neighbour.
#[derive(Debug, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
    /// Which of them lie where a process can have them too.
    dense: SlotTable,
    /// Numbers of buffers that are not used.
    skipped: usize,
    variables: Vec<(String, Buffer)>,
    modules: Vec<Variables>,
    pub(crate) heap: Heap,
    /// What all memory of the device holds before anything writes it.
    pub(crate) unwritten: Unwritten,
    /// Texture and surface objects.
    pub(crate) images: ObjectTable,
}
