//! Which expression each place of memory holds.

use rustc_hash::FxHashMap;

use crate::instruments::provenance::arena::{LocationId, NodeId};

/// The thread and the source line that wrote a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOrigin {
    pub place: LocationId,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub atomic: bool,
}

/// A value in memory.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Its first byte in the eight around it, and how many it has.
    offset: u8,
    bytes: u8,
    /// None: the bits of a constant.
    pub node: NodeId,
    pub by: WriteOrigin,
    /// Another thread had stored here before.
    pub overwrote: bool,
}

impl Cell {
    fn overlaps(&self, offset: u8, bytes: u8) -> bool {
        self.offset < offset + bytes && offset < self.offset + self.bytes
    }
}

/// What a load finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadedValue {
    /// Nothing was written there.
    Nothing,
    Whole(NodeId),
    /// Two values of 4 bytes, the lower address first.
    Halves(NodeId, NodeId),
    /// A part of a value, or parts of several values.
    Mixed,
}

/// Values by address. Accesses are aligned, so none crosses a multiple of eight.
#[derive(Debug, Default)]
pub struct Cells(FxHashMap<u64, Vec<Cell>>);

fn split(address: u64) -> (u64, u8) {
    (address >> 3, (address & 7) as u8)
}

impl Cells {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// `bytes` are 1, 2, 4 or 8.
    pub fn load(&self, address: u64, bytes: u32) -> LoadedValue {
        let (key, offset) = split(address);
        let Some(cells) = self.0.get(&key) else { return LoadedValue::Nothing };
        let mut low = None;
        let mut high = None;
        let mut any = false;
        for cell in cells.iter().filter(|cell| cell.overlaps(offset, bytes as u8)) {
            any = true;
            match (cell.offset, cell.bytes) {
                (at, size) if at == offset && u32::from(size) == bytes => {
                    return LoadedValue::Whole(cell.node);
                }
                (0, 4) if bytes == 8 => low = Some(cell.node),
                (4, 4) if bytes == 8 => high = Some(cell.node),
                _ => {}
            }
        }
        match (low, high) {
            (Some(low), Some(high)) => LoadedValue::Halves(low, high),
            _ if any => LoadedValue::Mixed,
            _ => LoadedValue::Nothing,
        }
    }

    /// Stores a value. False if this overwrites only a part of an expression.
    pub fn store(&mut self, address: u64, bytes: u32, node: NodeId, by: WriteOrigin) -> bool {
        let (key, offset) = split(address);
        let bytes = bytes as u8;
        let cells = self.0.entry(key).or_default();
        let mut whole = true;
        let mut overwrote = false;
        cells.retain(|cell| {
            let hit = cell.overlaps(offset, bytes);
            let inside = cell.offset >= offset && cell.offset + cell.bytes <= offset + bytes;
            let other = cell.by.block != by.block || cell.by.thread != by.thread;
            overwrote |= hit && !by.atomic && !cell.by.atomic && (cell.overwrote || other);
            whole &= !hit || inside || !cell.node.is_some();
            !hit
        });
        cells.push(Cell { offset, bytes, node, by, overwrote });
        whole
    }

    /// The value at exactly this place.
    pub fn at(&self, address: u64, bytes: u32) -> Option<&Cell> {
        let (key, offset) = split(address);
        let same = |cell: &&Cell| cell.offset == offset && u32::from(cell.bytes) == bytes;
        self.0.get(&key)?.iter().find(same)
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Arena;
    use super::*;

    #[test]
    fn loads_find_what_was_stored_there() {
        let mut arena = Arena::new(100);
        let (a, b) = (arena.constant(1.0), arena.constant(2.0));
        let mut cells = Cells::default();
        let by = WriteOrigin::default();
        assert!(cells.store(8, 4, a, by));
        assert!(cells.store(12, 4, b, by));
        assert_eq!(cells.load(8, 4), LoadedValue::Whole(a));
        assert_eq!(cells.load(8, 8), LoadedValue::Halves(a, b));
        assert_eq!(cells.load(9, 1), LoadedValue::Mixed);
        assert_eq!(cells.load(16, 4), LoadedValue::Nothing);
        assert!(cells.store(8, 8, b, by), "covers both");
        assert_eq!(cells.load(8, 8), LoadedValue::Whole(b));
        assert!(!cells.store(8, 4, a, by), "half of an expression is left");
        assert_eq!(cells.load(8, 4), LoadedValue::Whole(a));
    }
}
