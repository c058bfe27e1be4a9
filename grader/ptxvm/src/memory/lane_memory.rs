//! How one lane accesses a memory, whichever state space it is.

/// Why one lane's access is refused, or suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    OutOfBounds,
    Misaligned,
    ReadOnly,
    /// On the device heap, after `free`.
    Freed,
}

/// Memory that one lane reads and writes; offsets come from `check`.
pub trait LaneMemory {
    /// Whether `size` bytes at `address` may be accessed; the place for `get` and `put`.
    fn check(&self, lane: usize, address: u64, size: u32, write: bool) -> Result<usize, Fault>;
    /// `bytes` (1, 2, 4 or 8) at a checked place, and whether any of them was written before: copies of structures read the
    /// padding between their members too, which nobody writes.
    fn get(&self, lane: usize, place: usize, bytes: u32) -> (u64, bool);
    /// Writes `bytes` at a checked place.
    fn put(&mut self, lane: usize, place: usize, bytes: u32, value: u64);
}

/// The bits of a word that `bytes` (1 or 2) at `place` cover, and how far up they lie.
#[inline(always)]
pub(crate) fn within_word(place: usize, bytes: u32) -> (u32, u32) {
    let shift = (place as u32 & 3) * 8;
    ((if bytes == 1 { 0xFF } else { 0xFFFF }) << shift, shift)
}

/// One flag for each byte of a word that `bytes` (at most 4) at `place` cover.
#[inline(always)]
pub(crate) fn byte_flags(place: usize, bytes: u32) -> u8 {
    ((1u8 << bytes) - 1) << (place & 3)
}

/// The value of a byte, if a lane can read it.
pub(crate) fn byte(memory: &impl LaneMemory, lane: usize, address: u64) -> Option<u8> {
    let place = memory.check(lane, address, 1, false).ok()?;
    Some(memory.get(lane, place, 1).0 as u8)
}

/// A number that tells different contents of `size` bytes apart: up to 8 bytes their value. Bytes that a lane cannot read count
/// as zero.
pub(crate) fn value(memory: &impl LaneMemory, lane: usize, address: u64, size: u32) -> u64 {
    if matches!(size, 1 | 2 | 4 | 8)
        && let Ok(place) = memory.check(lane, address, size, false)
    {
        return memory.get(lane, place, size).0;
    }
    (0..size).fold(0, |all, index| {
        let byte = byte(memory, lane, address.wrapping_add(index.into())).unwrap_or(0);
        all ^ u64::from(byte).rotate_left(8 * index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words() {
        assert_eq!(byte_flags(2, 2), 0b1100);
        assert_eq!(within_word(5, 1), (0xFF00, 8));
    }
}
