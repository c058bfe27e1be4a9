//! Races in distributed shared memory: accesses by different blocks of a cluster, or by one block in the memory of another.
//! [`super::shared`] compares what a block does in its own memory.
//!
//! The barrier of the cluster orders blocks, and so do fences, releases and acquires by words of global memory or of the cluster's
//! shared memory, and the barrier objects there: [`super::order::happens_before::HappensBefore`] knows it, and what it knows of the
//! cluster's words and objects stands here, because all blocks of the cluster use them.

use std::collections::BTreeMap;

use crate::finding::{AccessKind, RaceKind};
use crate::instruments::check::epochs::Access;
use crate::instruments::check::order::object_phases::ObjectPhases;
use crate::instruments::check::order::sync_variables::SyncVariables;
use crate::instruments::check::order::vector_clock::CountedNodes;
use crate::instruments::check::table::{HEADER, Table, table_bytes};

/// Accesses of all words that are remembered at most; beyond that, those of the oldest clusters are forgotten.
const MOST: usize = 1 << 18;
/// Accesses that are remembered of a word.
const OF_WORD: usize = 8;

/// An access of a word, or of some of its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterAccess {
    pub access: Access,
    pub kind: AccessKind,
    /// The bytes of the word, a bit each.
    pub bytes: u8,
    /// Whether the word belongs to another block than the thread.
    pub elsewhere: bool,
    /// What a plain store of the whole word stores, if that is known.
    pub value: Option<u32>,
}

impl ClusterAccess {
    fn writes(&self) -> bool {
        self.kind != AccessKind::Read
    }

    /// The kind of the race with a later access, if the two conflict. Atomic and volatile accesses do not conflict among themselves, and a
    /// plain read does not with an atomic, since loops around compare-and-swap begin with one.
    fn conflict(&self, later: &Self) -> Option<RaceKind> {
        let (old, new) = (self.access.epoch.strong, later.access.epoch.strong);
        let in_own_memory = !self.elsewhere
            && !later.elsewhere
            && self.access.epoch.block == later.access.epoch.block;
        if self.bytes & later.bytes == 0 || in_own_memory || old && new {
            return None;
        }
        match (self.writes(), later.writes()) {
            (false, false) => None,
            (true, true) => {
                let same = self.value.is_some() && self.value == later.value;
                (!same).then_some(RaceKind::WriteAfterWrite)
            }
            (true, false) => (!old).then_some(RaceKind::ReadAfterWrite),
            (false, true) => (!new).then_some(RaceKind::WriteAfterRead),
        }
    }

    /// Whether whatever conflicts with an earlier access, which happened before this one, conflicts with this one too.
    fn stands_for(&self, earlier: &Self) -> bool {
        earlier.bytes & !self.bytes == 0
            && (self.writes() || !earlier.writes())
            && (!self.access.epoch.strong || earlier.access.epoch.strong)
            && (self.elsewhere || !earlier.elsewhere)
            && self.access.epoch.block == earlier.access.epoch.block
    }
}

/// What orders the blocks of a cluster, beside its barrier and global memory. The number of a word, and the address of an object, has the
/// rank of its block above [`RANK_SHIFT`](crate::isa::window::RANK_SHIFT), as addresses of `.shared::cluster` do.
#[derive(Debug, Default)]
pub(crate) struct ClusterOrder {
    /// The words of shared memory by which its threads order each other.
    pub variables: SyncVariables,
    /// Its barrier objects.
    pub objects: ObjectPhases,
}

/// What is known of a running cluster.
#[derive(Debug, Default)]
struct ClusterState {
    /// The latest accesses of each word, by the rank of its block and its number.
    words: Table<Vec<ClusterAccess>>,
    order: ClusterOrder,
}

/// The shared memory of all clusters, by their number.
#[derive(Debug, Default)]
pub(crate) struct ClusterMemory {
    clusters: BTreeMap<u64, ClusterState>,
    /// Accesses that are remembered.
    held: usize,
}

impl ClusterMemory {
    /// What orders the blocks of a cluster.
    pub fn order(&mut self, cluster: u64) -> &mut ClusterOrder {
        &mut self.clusters.entry(cluster).or_default().order
    }

    /// Forgets a cluster whose blocks have exited.
    pub fn end(&mut self, cluster: u64) {
        if let Some(state) = self.clusters.remove(&cluster) {
            self.held -= state.words.values().map(Vec::len).sum::<usize>();
        }
    }

    /// Remembers an access of a word, and returns an earlier one that it races with.
    pub fn access(
        &mut self,
        (cluster, rank): (u64, u32),
        word: u32,
        new: ClusterAccess,
        happened_before: impl Fn(&Access) -> bool,
    ) -> Option<(RaceKind, Access)> {
        if self.held > MOST {
            self.forget_before(cluster);
        }
        let words = &mut self.clusters.entry(cluster).or_default().words;
        let all = words.entry(u64::from(rank) << 32 | u64::from(word)).or_default();
        let mut race = None;
        let before = all.len();
        all.retain(|old| {
            let is_before = happened_before(&old.access);
            if !is_before {
                race = race.or_else(|| Some((old.conflict(&new)?, old.access)));
            }
            !(is_before && new.stands_for(old))
        });
        if all.len() == OF_WORD {
            all.remove(0);
        }
        all.push(new);
        self.held = self.held + all.len() - before;
        race
    }

    /// Forgets the accesses of all clusters before one, or if there are none, its own.
    fn forget_before(&mut self, cluster: u64) {
        let older = self.clusters.range(..cluster).any(|(_, state)| !state.words.is_empty());
        for (&number, state) in &mut self.clusters {
            if number < cluster || !older {
                state.words = Table::default();
            }
        }
        let words = self.clusters.values().flat_map(|state| state.words.values());
        self.held = words.map(Vec::len).sum();
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let mut counted = CountedNodes::default();
        let of = |state: &ClusterState| {
            let words = state.words.values();
            let lists: usize =
                words.map(|all| all.capacity() * size_of::<ClusterAccess>() + HEADER).sum();
            let ClusterOrder { variables, objects } = &state.order;
            let order = variables.bytes(&mut counted) + objects.bytes(&mut counted);
            table_bytes(&state.words) + lists + order
        };
        self.clusters.values().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruments::check::epochs::Epoch;

    /// An access of a whole word by a thread of a block in the memory of block 1.
    fn by(block: u32, kind: AccessKind) -> ClusterAccess {
        let epoch = Epoch { block, clock: 1, pc: block, warp: 0, strong: false };
        let access = Access { epoch, thread: 0 };
        ClusterAccess { access, kind, bytes: 0b1111, elsewhere: block != 1, value: None }
    }

    /// Of accesses by several blocks, none of which is ordered, the kinds of races.
    fn races(all: &[ClusterAccess]) -> Vec<RaceKind> {
        let mut memory = ClusterMemory::default();
        let found = all.iter().filter_map(|&new| {
            let own = |old: &Access| old.epoch.block == new.access.epoch.block;
            memory.access((0, 0), 5, new, own).map(|(kind, _)| kind)
        });
        found.collect()
    }

    #[test]
    fn accesses_of_two_blocks_race() {
        let (read, write) = (AccessKind::Read, AccessKind::Write);
        assert_eq!(races(&[by(1, write), by(2, read)]), [RaceKind::ReadAfterWrite]);
        assert_eq!(races(&[by(1, read), by(2, write)]), [RaceKind::WriteAfterRead]);
        assert_eq!(races(&[by(1, write), by(2, write)]), [RaceKind::WriteAfterWrite]);
        assert_eq!(races(&[by(1, read), by(2, read)]), []);
        assert_eq!(races(&[by(1, write), by(1, write), by(1, read)]), []);
        // A later read of the own block does not hide its write.
        assert_eq!(races(&[by(1, write), by(1, read), by(2, read)]), [RaceKind::ReadAfterWrite]);
    }

    #[test]
    fn other_bytes_equal_values_and_atomics_do_not_race() {
        let write = by(1, AccessKind::Write);
        let half = |bytes, block| ClusterAccess { bytes, ..by(block, AccessKind::Write) };
        assert_eq!(races(&[half(0b0011, 1), half(0b1100, 2)]), []);
        let seven = |block| ClusterAccess { value: Some(7), ..by(block, AccessKind::Write) };
        assert_eq!(races(&[seven(1), seven(2)]), []);
        let atomic = |block| {
            let mut atomic = by(block, AccessKind::Atomic);
            atomic.access.epoch.strong = true;
            atomic
        };
        assert_eq!(races(&[atomic(1), atomic(2), by(3, AccessKind::Read)]), []);
        assert_eq!(races(&[write, atomic(2)]), [RaceKind::WriteAfterWrite]);
    }

    #[test]
    fn a_word_that_many_access_stays_small() {
        let mut memory = ClusterMemory::default();
        for round in 0..1000 {
            let new = by(1 + round % 16, AccessKind::Read);
            memory.access((0, 0), 5, new, |old| old.epoch.block == new.access.epoch.block);
        }
        assert!(memory.held <= OF_WORD, "{}", memory.held);
        assert!(memory.bytes() < 2000);
    }
}
