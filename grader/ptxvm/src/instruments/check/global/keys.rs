//! The keys by which pages of shadow memory are found.

use crate::instruments::check::global::pages::PAGE;

/// Buffer, unit size in bytes, and number of the page, in one word. Halves and bytes have units of their own, for neighbours
/// in one word do not race.
pub(crate) fn page_key(buffer: usize, unit: u32, page: u64) -> u64 {
    (buffer as u64) << PAGE_KEY_BUFFER | u64::from(unit) << PAGE_KEY_UNIT | page
}

/// Where the unit size begins in a key: a buffer has less than 2^36 bytes.
const PAGE_KEY_UNIT: u32 = 36;
/// Where the buffer begins in a key: units have 1 to 4 bytes.
const PAGE_KEY_BUFFER: u32 = PAGE_KEY_UNIT + 3;

/// Buffer and byte offset of the first unit of a page, and bytes of a unit.
pub(crate) fn page_place(key: u64) -> (usize, u64, u64) {
    let unit = key >> PAGE_KEY_UNIT & 7;
    let page = key & ((1 << PAGE_KEY_UNIT) - 1);
    ((key >> PAGE_KEY_BUFFER) as usize, page * PAGE as u64 * unit, unit)
}
