//! Bulk copies, `cp.async.bulk` and `cp.async.bulk.tensor` (PTX ISA 9.7.9.25.4 and 9.7.9.25.5).

use crate::isa::atom_op::AtomOp;
use crate::isa::names::{Address, Reg32};
use crate::isa::tensor_map::{MAX_RANK, SPACE};
use crate::isa::types::Type;

/// Bytes of which sizes and addresses of bulk copies are multiples.
pub const UNIT: u32 = 16;
/// What the place of a box in shared memory is a multiple of (PTX ISA, table "Valid alignment").
pub const BOX_ALIGN: u64 = 128;

/// A copy from global memory to shared memory, whose bytes a barrier object hears of.
#[derive(Clone, Copy, Debug)]
pub struct BulkLoad {
    pub to: Address,
    pub from: BulkPlace,
    /// The blocks of the cluster that get it, a bit each; `None`: only the one of the barrier object.
    pub blocks: Option<Reg32>,
}

/// A copy from the block's own shared memory to that of a block of the cluster, where a barrier object hears of its bytes.
#[derive(Clone, Copy, Debug)]
pub struct BulkSend {
    pub to: Address,
    pub from: Address,
    pub bytes: Reg32,
}

/// A copy from shared memory to global memory, or a reduction of what is there.
#[derive(Clone, Copy, Debug)]
pub struct BulkStore {
    pub from: Address,
    pub to: BulkPlace,
    /// How the elements are combined with those that are there. Those of a box have the type of the map.
    pub reduction: Option<(AtomOp, Type)>,
}

/// What is copied in global memory.
#[derive(Clone, Copy, Debug)]
pub enum BulkPlace {
    /// So many bytes from an address on.
    Bytes { address: Address, bytes: Reg32 },
    /// A box of a tensor.
    Box(BoxOperand),
}

/// Which box of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct BoxOperand {
    pub map: Address,
    pub coordinates: [Reg32; MAX_RANK],
    pub rank: u8,
    /// What is added to the coordinates of each pixel (`.im2col`); `None` for a tile.
    pub offsets: Option<[Reg32; SPACE]>,
}
