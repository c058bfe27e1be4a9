//! The memory order of accesses and fences (PTX ISA chapter 8, "Memory Consistency Model").

/// How an access, or a fence, orders others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ordering {
    /// So does every strong read that says nothing of an order.
    pub acquires: bool,
    pub releases: bool,
    /// Its scope takes in other blocks.
    pub device_scope: bool,
}
