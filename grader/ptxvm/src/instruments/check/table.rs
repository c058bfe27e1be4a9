//! Hash tables of the checks, and what they and other allocations cost in memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes that the allocator adds to a piece of memory.
pub(crate) const HEADER: usize = 16;

/// A table by numbers of the machine's own.
pub(crate) type Table<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;

/// Bytes of a table, which keeps every eighth place free, and a byte for each.
pub(crate) fn table_bytes<V>(table: &Table<V>) -> usize {
    table.capacity() / 7 * 8 * (size_of::<(u64, V)>() + 1)
}

/// Spreads the keys of pages; they come from the machine itself, so nobody has chosen them to collide.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, key: u64) {
        /// 2^64 divided by the golden ratio (Knuth, "The Art of Computer Programming", 6.4).
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0 ^ key).wrapping_mul(SPREAD).rotate_left(32);
    }
}
