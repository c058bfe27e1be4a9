//! The numbers by which pages of global memory are found.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::pages::PAGE;

/// A table by numbers of the machine's own.
pub(super) type Table<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;

/// Bytes of a table, which keeps every eighth place free, and a byte for each.
pub(super) fn table_bytes<V>(table: &Table<V>) -> usize {
    table.capacity() / 7 * 8 * (size_of::<(u64, V)>() + 1)
}

/// Spreads the keys of pages; they come from the machine itself, so nobody has chosen them to collide.
#[derive(Debug, Default)]
pub(super) struct KeyHasher(u64);

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

/// Buffer, unit size in bytes, and number of the page, in one word. Halves and bytes have units of their own, for neighbours
/// in one word do not race.
pub(super) fn page_key(buffer: usize, unit: u32, page: u64) -> u64 {
    (buffer as u64) << PAGE_KEY_BUFFER | u64::from(unit) << PAGE_KEY_UNIT | page
}

/// Where the unit size begins in a key: a buffer has less than 2^36 bytes.
const PAGE_KEY_UNIT: u32 = 36;
/// Where the buffer begins in a key: units have 1 to 4 bytes.
const PAGE_KEY_BUFFER: u32 = PAGE_KEY_UNIT + 3;

/// Buffer and byte offset of the first unit of a page, and bytes of a unit.
pub(super) fn page_place(key: u64) -> (usize, u64, u64) {
    let unit = key >> PAGE_KEY_UNIT & 7;
    let page = key & ((1 << PAGE_KEY_UNIT) - 1);
    ((key >> PAGE_KEY_BUFFER) as usize, page * PAGE as u64 * unit, unit)
}
