//! What a launch found.
//!
//! Each kind of finding has a file in `kind`, with its data, its stable name, what a GPU does about it and its words. Places
//! in memory are generic: the machine names them by buffer and byte, a caller may give them the names of its own objects with
//! [`FindingKind::map_place`].

mod access;
mod check;
mod kind;
mod log;
mod place;
mod shared_array;

pub use access::{AccessKind, RaceKind, Space};
pub use check::{Check, Fault, Site, ThreadId, Words, thousands};
pub use kind::*;
pub use log::Finding;
pub(crate) use log::{Log, Raw, merge};
pub use place::{BufferOffset, Place};
pub use shared_array::SharedArray;
pub(crate) use shared_array::source_name;
