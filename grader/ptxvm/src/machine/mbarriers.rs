//! The barrier objects (`mbarrier`) of a block: their states, the waits for them that fail, and the copies that complete with
//! a phase.

use std::collections::BTreeMap;

use crate::finding::{BarrierObject, MbarrierMisuse};
use crate::isa::mbarrier::MbarrierState;
use crate::isa::names::Pc;
use crate::lanes::LaneIndices;
use crate::machine::async_copies::Copy;
use crate::machine::warp::Warp;
use crate::machine::warp::simt_stack::WarpStatus;

/// Size of an object in bytes.
pub const SIZE: u32 = 8;
/// Most warps of a block.
const WARPS: usize = 32;

/// A barrier object between `init` and `inval`.
#[derive(Clone, Copy, Debug)]
pub struct MbarrierObject {
    pub word: MbarrierState,
    /// The instruction that initialised it, and the index of the thread in the block.
    pub made: Pc,
    pub maker: u32,
}

/// An asynchronous copy that completes with a phase.
#[derive(Clone, Debug)]
pub struct AttachedCopy {
    pub copy: Copy,
    pub warp: u32,
    /// Addresses of the objects whose phases wait for it.
    pub objects: Vec<u64>,
}

/// The lanes of a warp that have found a phase incomplete, and where they did so last.
#[derive(Clone, Copy, Debug, Default)]
struct FailedWait {
    changes: u64,
    lanes: u32,
    pc: Pc,
    address: u64,
}

/// The barrier objects of a block.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    /// The objects by their addresses in shared memory.
    pub objects: BTreeMap<u64, MbarrierObject>,
    pub copies: Vec<AttachedCopy>,
    /// Counts every change that could let a waiting thread go on.
    pub changes: u64,
    failed_waits: [FailedWait; WARPS],
    /// A number of changes, and the instruction count of the block since which it is the same.
    unchanged_since: (u64, u64),
}

impl Mbarriers {
    /// Prepares for a new block.
    pub fn clear(&mut self) {
        if self.changes != 0 {
            *self = Self::default();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Notes that memory or an object has changed, so that a waiting thread may go on.
    pub fn note_change(&mut self) {
        self.changes += 1;
    }

    /// The address of the first object that an access touches.
    pub fn touched(&self, address: u64, size: u32) -> Option<u64> {
        let from = address.saturating_sub(u64::from(SIZE) - 1);
        self.objects.range(from..address.saturating_add(size.into())).next().map(|(&at, _)| at)
    }

    /// Whether one of the words may belong to an object.
    pub fn holds_any(&self, words: &LaneIndices, mask: u32) -> bool {
        !words.all(mask, |word| self.touched(word as u64 * 4, 4).is_none())
    }

    /// Removes and returns the copies of a warp that meet a condition.
    pub fn take_copies(&mut self, warp: u32, ends: impl Fn(&Copy) -> bool) -> Vec<Copy> {
        let (taken, rest) = std::mem::take(&mut self.copies)
            .into_iter()
            .partition(|attached| attached.warp == warp && ends(&attached.copy));
        self.copies = rest;
        let taken: Vec<AttachedCopy> = taken;
        taken.into_iter().map(|attached| attached.copy).collect()
    }

    /// Removes and returns the copies that complete with a phase of an object.
    pub fn complete_copies(&mut self, address: u64) -> Vec<Copy> {
        if self.copies.is_empty() {
            return Vec::new();
        }
        let (taken, rest): (Vec<_>, _) = std::mem::take(&mut self.copies)
            .into_iter()
            .partition(|attached| attached.objects.contains(&address));
        self.copies = rest;
        taken.into_iter().map(|attached| attached.copy).collect()
    }

    /// Notes that a lane has waited for a phase in vain.
    pub fn note_failed_wait(&mut self, warp: u32, lane: usize, pc: Pc, address: u64) {
        let failed_wait = &mut self.failed_waits[warp as usize % WARPS];
        if failed_wait.changes != self.changes {
            *failed_wait = FailedWait { changes: self.changes, ..FailedWait::default() };
        }
        failed_wait.lanes |= 1 << lane;
        (failed_wait.pc, failed_wait.address) = (pc, address);
    }

    /// Whether a warp can do nothing but wait in vain. Lanes that wait for others of their warp count as those do.
    fn only_waits(&self, warp: &Warp) -> bool {
        let failed_wait = &self.failed_waits[warp.index as usize % WARPS];
        if failed_wait.changes != self.changes || warp.current.mask & !failed_wait.lanes != 0 {
            return false;
        }
        let may_go_on = |lanes: u32| lanes & warp.live & !failed_wait.lanes != 0;
        if warp
            .others
            .iter()
            .any(|subwarp| subwarp.state.is_runnable() && may_go_on(subwarp.lanes()))
        {
            return false;
        }
        let mut seen = warp.current.mask;
        for split in warp.stack.iter().rev() {
            // Lanes of the running split wait further down for those that have left it.
            if split.mask & warp.current.mask == 0
                && split.mask & warp.live & !seen & !failed_wait.lanes != 0
            {
                return false;
            }
            seen |= split.mask;
        }
        true
    }

    /// The warps of a block that wait for a phase which nobody is left to complete: for each, where it waits, its first waiting
    /// thread, how many wait, and the finding. None if some warp may still go on. `executed` counts the block's instructions;
    /// nothing must have changed for `quota` of them.
    pub fn deadlock(
        &mut self,
        warps: &[Warp],
        executed: u64,
        quota: u64,
    ) -> Option<Vec<(Pc, u32, u32, BarrierObject)>> {
        if self.unchanged_since.0 != self.changes {
            self.unchanged_since = (self.changes, executed);
        }
        if executed - self.unchanged_since.1 < quota {
            return None;
        }
        let running = || warps.iter().filter(|warp| warp.status == WarpStatus::Ready);
        if running().next().is_none() || !running().all(|warp| self.only_waits(warp)) {
            return None;
        }
        let waiting = running().map(|warp| {
            let FailedWait { lanes, pc, address, .. } =
                self.failed_waits[warp.index as usize % WARPS];
            let word = self
                .objects
                .get(&address)
                .map_or_else(MbarrierState::default, |object| object.word);
            let misuse =
                MbarrierMisuse::NeverCompletes { arrivals: word.pending(), bytes: word.bytes() };
            let kind = BarrierObject { misuse, offset: address as i64 };
            (pc, warp.index * 32 + lanes.trailing_zeros().min(31), lanes.count_ones(), kind)
        });
        Some(waiting.collect())
    }
}
