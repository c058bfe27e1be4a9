//! The asynchronous copies (`cp.async`) of a warp that are not complete.

use crate::isa::names::Pc;
use crate::lanes::lanes;
use crate::machine::group_reads::GroupReads;

/// A copy of one lane that has not arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub pc: Pc,
    pub lane: u8,
    /// Number of the lane's group.
    pub group: u32,
    pub to: u64,
    pub from: u64,
    /// Bytes that are written, and those of them that are read, from `skip` to `read`: the others become those of `fill`.
    pub size: u32,
    pub skip: u32,
    pub read: u32,
    pub fill: u32,
    /// Whether words become `tf32` on the way.
    pub to_tf32: bool,
}

impl Copy {
    pub fn lane(&self) -> usize {
        self.lane.into()
    }

    /// Whether a wait of some lanes for all but the last `groups` of their groups is for this one too.
    pub fn ends(&self, mask: u32, groups: u32, committed: &[u32; 32]) -> bool {
        let lane = self.lane();
        mask >> lane & 1 == 1 && self.group < committed[lane].saturating_sub(groups)
    }
}

/// Shared memory that a bulk copy of one lane reads, which is not known to have been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreSource {
    pub pc: Pc,
    pub lane: u8,
    /// Number of the lane's group of such copies.
    pub group: u32,
    pub from: u64,
    pub bytes: u32,
}

/// The copies of a warp's lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pub pending: Vec<Copy>,
    /// Groups that each lane has committed.
    pub groups: [u32; 32],
    /// What bulk copies to global memory read, and the groups of these that each lane has committed.
    pub stores: Vec<StoreSource>,
    pub store_groups: [u32; 32],
    /// Products of the warp's warpgroup that read shared memory.
    pub products: GroupReads,
}

impl Copies {
    pub fn clear(&mut self) {
        self.pending.clear();
        self.groups = [0; 32];
        self.stores.clear();
        self.store_groups = [0; 32];
        self.products.clear();
    }

    /// As [`Copies::commit`], for bulk copies to global memory.
    pub fn commit_stores(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.store_groups[lane] = self.store_groups[lane].saturating_add(1);
        }
    }

    /// Forgets what the committed groups of these but the last `groups` of each lane read.
    pub fn wait_for_stores(&mut self, mask: u32, groups: u32) {
        let committed = self.store_groups;
        self.stores.retain(|store| {
            let lane = usize::from(store.lane);
            mask >> lane & 1 == 0 || store.group >= committed[lane].saturating_sub(groups)
        });
    }

    /// What comes next belongs to the next group.
    pub fn commit(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.groups[lane] = self.groups[lane].saturating_add(1);
        }
    }

    /// Takes the copies that some lanes have begun.
    pub fn take_begun(&mut self, mask: u32) -> Vec<Copy> {
        let (begun, rest) = self.pending.iter().partition(|copy| mask >> copy.lane & 1 == 1);
        self.pending = rest;
        begun
    }

    /// Takes the copies of all committed groups but the last `groups` of each lane, in their order.
    pub fn take(&mut self, mask: u32, groups: u32) -> Vec<Copy> {
        let committed = self.groups;
        let (ended, rest) =
            self.pending.iter().partition(|copy| copy.ends(mask, groups, &committed));
        self.pending = rest;
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_groups_of_each_lane_stay_on_their_way() {
        let mut copies = Copies::default();
        for group in 0..4 {
            for lane in 0..2 {
                let to = group.into();
                let copy = Copy {
                    pc: 0,
                    lane,
                    group,
                    to,
                    from: 0,
                    size: 4,
                    skip: 0,
                    read: 4,
                    fill: 0,
                    to_tf32: false,
                };
                copies.pending.push(copy);
            }
            if group < 3 {
                copies.commit(0b01);
            }
        }
        let groups = |copies: Vec<Copy>| -> Vec<(u8, u32)> {
            copies.iter().map(|copy| (copy.lane, copy.group)).collect()
        };
        // Lane 0 has committed groups 0 to 2, lane 1 none.
        assert_eq!(groups(copies.take(0b11, 1)), [(0, 0), (0, 1)]);
        assert_eq!(groups(copies.take(0b10, 0)), []);
        assert_eq!(groups(copies.take(0b11, 0)), [(0, 2)]);
        copies.commit(0b11);
        assert_eq!(groups(copies.take(0b01, 0)), [(0, 3)]);
        assert_eq!(copies.pending.len(), 4);
    }

    #[test]
    fn what_bulk_copies_read_is_forgotten_by_groups() {
        let mut copies = Copies::default();
        for group in 0..3 {
            for lane in 0..2 {
                copies.stores.push(StoreSource { pc: 0, lane, group, from: 0, bytes: 16 });
            }
            copies.commit_stores(0b11);
        }
        let left = |copies: &Copies| -> Vec<(u8, u32)> {
            copies.stores.iter().map(|store| (store.lane, store.group)).collect()
        };
        copies.wait_for_stores(0b01, 1);
        assert_eq!(left(&copies), [(1, 0), (1, 1), (0, 2), (1, 2)]);
        copies.wait_for_stores(0b10, 0);
        assert_eq!(left(&copies), [(0, 2)]);
        copies.clear();
        assert!(copies.stores.is_empty() && copies.store_groups == [0; 32]);
    }
}
