//! What a program says of the place of managed memory.

use std::collections::BTreeMap;
use std::ffi::c_int;

/// The C type `cudaMemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The `cudaMemLocationType`: 0 invalid, 1 device, 2 host, 3 and 4 nodes of the host.
    pub kind: c_int,
    pub id: c_int,
}

pub const NOWHERE: Location = Location { kind: 0, id: 0 };
pub const DEVICE: c_int = 1;
pub const HOST: c_int = 2;

impl Location {
    /// Its number where a place is one number: that of a device, `cudaCpuDeviceId` or `cudaInvalidDeviceId`.
    pub fn number(self) -> c_int {
        match self.kind {
            DEVICE => self.id,
            HOST..=4 => -1,
            _ => -2,
        }
    }
}

/// What was said of some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    pub mostly_read: bool,
    pub preferred: Location,
    pub prefetched: Location,
    /// By the device, and by the host.
    pub accessed: [bool; 2],
}

impl Default for Advice {
    fn default() -> Self {
        Self { mostly_read: false, preferred: NOWHERE, prefetched: NOWHERE, accessed: [false; 2] }
    }
}

/// The advice of all memory: where it begins, up to where the next one does.
#[derive(Debug, Default)]
pub struct AdviceMap(BTreeMap<u64, Advice>);

impl AdviceMap {
    /// That of a byte.
    fn at(&self, address: u64) -> Advice {
        self.0.range(..=address).next_back().map_or_else(Advice::default, |(_, &advice)| advice)
    }

    /// Changes that of a range.
    pub fn change(&mut self, start: u64, end: u64, change: impl Fn(&mut Advice)) {
        for edge in [start, end] {
            let advice = self.at(edge);
            self.0.insert(edge, advice);
        }
        self.0.range_mut(start..end).for_each(|(_, advice)| change(advice));
    }

    /// What is said of all of a range alike; `None` where the parts differ.
    pub fn of<T: PartialEq>(&self, start: u64, end: u64, what: impl Fn(&Advice) -> T) -> Option<T> {
        let first = what(&self.at(start));
        let same = self.0.range(start..end).all(|(_, advice)| what(advice) == first);
        same.then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_range_may_differ() {
        let mut map = AdviceMap::default();
        let mostly_read = |map: &AdviceMap, start, end| map.of(start, end, |all| all.mostly_read);
        map.change(100, 200, |all| all.mostly_read = true);
        assert_eq!(mostly_read(&map, 100, 200), Some(true));
        assert_eq!(mostly_read(&map, 0, 100), Some(false));
        assert_eq!(mostly_read(&map, 99, 200), None);
        map.change(150, 160, |all| all.mostly_read = false);
        assert_eq!(mostly_read(&map, 100, 200), None);
        assert_eq!(mostly_read(&map, 160, 200), Some(true));
        assert_eq!(mostly_read(&map, 200, 300), Some(false));
    }
}
