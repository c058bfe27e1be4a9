//! Races in global memory: within a block, where no barrier lies between two accesses, and between blocks, which only grid
//! barriers and fences order.
//!
//! Atomic and volatile accesses do not race among themselves, and a plain read beside an atomic is accepted, because loops
//! around `atomicCAS` begin with one, unless what it reads gets into memory. Where a program has fences, [`super::super::order`] knows
//! what they order.

#[cfg(test)]
mod tests;

use crate::finding::{AccessKind, GlobalRace, Log, RaceKind, ReadOnlyLoad, ThreadId};
use crate::instruments::check::clocks::Clocks;
use crate::instruments::check::cluster_memory::ClusterMemory;
use crate::instruments::check::epochs::{self, Access, AccessId, EpochTable};
use crate::instruments::check::global::keys::{page_key, page_place};
use crate::instruments::check::global::packed;
use crate::instruments::check::global::page_slots::{PageSlot, Pages, open};
use crate::instruments::check::global::pages::{AccessIds, PAGE, Page, ROW};
use crate::instruments::check::global::read_only::ReadOnlyLoads;
use crate::instruments::check::order::cluster_phases::ClusterPhases;
use crate::instruments::check::order::happens_before::HappensBefore;
use crate::instruments::check::order::sync_variables::{SyncVariables, cells};
use crate::instruments::check::order::vector_clock::CountedNodes;
use crate::instruments::check::table::HEADER;
use crate::instruments::check::table::table_bytes;
use crate::lanes::coordinates;
use crate::machine::monitor::Event;
use crate::memory::Memory;
use crate::memory::grid_workspace;
use crate::program::code::Program;

/// Bytes that the shadow memory may take in any case. One access takes up to 60,000 more if its lanes hit pages far apart.
const FIXED: usize = 1 << 14;
/// Beyond that, half bytes for each byte of the buffers that the launch may write. Flags of what is defined take a quarter of a
/// byte, and growing tables need some room. If several blocks run in parallel, a quarter of a byte is left for each shadow.
const HALVES: usize = 7;

/// How often pages may be packed in vain before everything is forgotten.
const MAX_IN_VAIN: u32 = 32;

/// How the blocks run that a shadow memory sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockExecution {
    /// Each by itself: what earlier blocks did is forgotten.
    Single,
    /// One after another. What they did is remembered, to be compared with later ones.
    Sequential,
    /// Interleaved: an earlier one may go on after a later one has begun.
    Interleaved,
}

/// The check of races in the global memory that kernels may write.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    pages: Pages,
    epochs: EpochTable,
    grid: [u32; 3],
    /// Index of the running block from 1.
    block: u32,
    pub(crate) blocks: BlockExecution,
    /// The words that blocks synchronise by.
    sync_variables: SyncVariables,
    cluster_phases: ClusterPhases,
    cluster_memory: ClusterMemory,
    read_only: ReadOnlyLoads,
    /// The topmost bit of the barrier of a cooperative grid.
    phase: bool,
    /// Bytes that the pages take.
    held: usize,
    /// The most bytes that the shadow memory has taken.
    most: usize,
    /// Size in bytes from which on pages are packed.
    limit: usize,
    /// Accesses since the shadow memory last shrank.
    accesses: usize,
    /// How often that was in vain.
    in_vain: u32,
}

impl GlobalRaces {
    /// A check that compares blocks with one another only if this host thread runs them all.
    pub fn new(grid: [u32; 3], across_blocks: bool) -> Self {
        Self {
            pages: Pages::default(),
            epochs: EpochTable::new(),
            grid,
            block: 0,
            blocks: if across_blocks { BlockExecution::Sequential } else { BlockExecution::Single },
            sync_variables: SyncVariables::default(),
            cluster_phases: ClusterPhases::default(),
            cluster_memory: ClusterMemory::default(),
            read_only: ReadOnlyLoads::default(),
            phase: false,
            held: 0,
            most: 0,
            limit: FIXED,
            accesses: 0,
            in_vain: 0,
        }
    }

    /// The next accesses belong to block `index`.
    pub fn resume(&mut self, index: u64) {
        self.block = index as u32 + 1;
    }

    /// Blocks of the launch; at most as many as have numbers.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().fold(1, |all, &count| count.saturating_mul(all))
    }

    /// The running block, from 1.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The phases of the barriers of clusters.
    pub(crate) fn cluster_phases(&mut self) -> &mut ClusterPhases {
        &mut self.cluster_phases
    }

    /// The shared memory of clusters.
    pub(crate) fn cluster_memory(&mut self) -> &mut ClusterMemory {
        &mut self.cluster_memory
    }

    /// The coordinates of a block, counted from 1.
    pub(crate) fn coordinates(&self, block: u32) -> Option<[u32; 3]> {
        Some(coordinates(block.checked_sub(1)?, self.grid))
    }

    /// The words that blocks synchronise by.
    pub(crate) fn sync_variables(&mut self) -> &mut SyncVariables {
        &mut self.sync_variables
    }

    /// Prepares for a new block.
    pub fn block_start(&mut self) {
        if self.blocks == BlockExecution::Single {
            self.forget();
            self.sync_variables.clear();
        }
    }

    /// A block has arrived at the barrier of the grid. With the last block the topmost bit of the word changes: everything before
    /// happened before everything that follows.
    fn grid_arrival(&mut self, event: &Event, address: u64) {
        let Some((id, offset)) = event.memory.locate(address) else { return };
        let value = event.memory.value(id, offset as u64, 4).unwrap_or(0);
        let phase = value >> 31 & 1 == 1;
        if phase != self.phase {
            self.phase = phase;
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.pages.clear();
        self.epochs.clear();
        self.held = 0;
    }

    /// Bytes that the shadow memory takes, with the overhead of the allocator and the page table.
    pub fn bytes(&self) -> usize {
        self.held + table_bytes(&self.pages) + self.epochs.bytes()
    }

    /// The most bytes that it has taken, with those of the synchronisation variables.
    pub fn most_bytes(&self) -> usize {
        self.most.max(self.bytes())
            + self.sync_variables.bytes(&mut CountedNodes::default())
            + self.cluster_memory.bytes()
    }

    /// Drops unused epochs. If a block is given, only the instructions of other blocks' epochs are kept.
    fn compact_epochs(&mut self, block: Option<u32>) {
        let pages = &mut self.pages;
        let fit = self.epochs.keep_used(block, |each| {
            for page in pages.values_mut() {
                page.change(each);
            }
        });
        if !fit {
            // More epochs than can be told apart: later accesses are compared with each other only.
            self.forget();
        }
        self.count();
    }

    /// Packs pages if the shadow memory has become large in relation to the buffers.
    fn shrink(&mut self, event: &Event) {
        let written: usize = event.memory.written_sizes().flatten().sum();
        let own = written.saturating_add(event.memory.heap_use().bytes as usize);
        let share = match self.blocks {
            BlockExecution::Single => own / 4 / rayon::current_num_threads(),
            BlockExecution::Sequential | BlockExecution::Interleaved => {
                // Words by which threads order each other may take a half.
                own.saturating_mul(HALVES - usize::from(event.program.fenced)) / 2
            }
        };
        self.limit = FIXED.saturating_add(share);
        if self.bytes() <= self.limit {
            return;
        }
        if self.epochs.bytes() > self.limit / 4 {
            self.compact_epochs(None);
        }
        let may_forget = self.blocks == BlockExecution::Sequential && !event.program.fenced;
        // If all pages are soon opened again, packing them was in vain.
        let is_often = std::mem::take(&mut self.accesses) < self.pages.len() / 4;
        // Where other host threads never share the blocks, all may be forgotten: what comes is compared with what comes later only.
        let in_order = self.blocks == BlockExecution::Interleaved || self.blocks() == 1;
        self.in_vain += u32::from(is_often);
        if is_often && in_order && self.in_vain > MAX_IN_VAIN {
            self.forget();
            return;
        }
        if is_often && may_forget {
            self.forget_threads();
        }
        if self.bytes() > self.limit / 4 * 3 {
            self.pack_pages();
        }
        if self.bytes() > self.limit / 4 * 3 && may_forget {
            self.forget_threads();
            self.pack_pages();
        }
        if self.bytes() > self.limit && in_order {
            self.forget();
        } else if self.bytes() > self.limit / 8 * 7 {
            // Where that did not help, it will not help soon.
            self.limit = self.bytes() / 4 * 5;
        }
    }

    /// Packs the pages that are not packed yet, which frees most of their memory.
    fn pack_pages(&mut self) {
        self.most = self.most.max(self.bytes());
        for page in self.pages.values_mut() {
            page.pack();
        }
        self.count();
    }

    /// Packs pages, if there are many, before other host threads run blocks in parallel. It must not depend on the number of host
    /// threads, because it decides what is forgotten later.
    pub fn make_room(&mut self, memory: &Memory) {
        if self.bytes() > memory.written_sizes().flatten().sum::<usize>() {
            self.pack_pages();
        }
    }

    /// Forgets the threads of earlier blocks: whatever those did races with what follows, but not which thread it was.
    fn forget_threads(&mut self) {
        self.compact_epochs(Some(self.block));
        for page in self.pages.values_mut() {
            page.compact(&self.epochs);
        }
        self.count();
    }

    fn count(&mut self) {
        self.held = self.pages.values().map(PageSlot::bytes).sum();
    }

    /// Calls `tell` with buffer, byte offset and block (from 1) of every plain access so far, and whether it was a write.
    pub fn touched(&self, mut tell: impl FnMut(usize, u64, u32, bool)) {
        for (&key, slot) in &self.pages {
            let (buffer, start, unit) = page_place(key);
            let unpacked;
            let page = match slot {
                PageSlot::Open(page) => &**page,
                PageSlot::Packed(bytes) => {
                    unpacked = packed::unpack(bytes);
                    &unpacked
                }
            };
            for at in 0..PAGE {
                let offset = start + at as u64 * unit;
                let [first, second] = &page.readers;
                let reads = [first.get(at), second.get(at)].map(|access_id| (access_id, false));
                for (access_id, wrote) in [(page.writers.get(at), true)].into_iter().chain(reads) {
                    let event = self.epochs.access(access_id).map(|access| access.epoch);
                    if let Some(event) = event.filter(|event| !event.strong) {
                        tell(buffer, offset, event.block, wrote);
                    }
                }
            }
        }
    }

    pub(crate) fn access(
        &mut self,
        event: &Event,
        clocks: &Clocks,
        order: &HappensBefore,
        log: &mut Log,
    ) {
        if event.done == 0 {
            return;
        }
        let first = event.addresses[event.mask.trailing_zeros() as usize % 32];
        if event.kind == AccessKind::Atomic
            && grid_workspace::barrier_address(event.memory) == Some(first)
        {
            self.grid_arrival(event, first);
            return;
        }
        if event.one_buffer && !event.memory.is_written(first) {
            return;
        }
        if self.epochs.are_many() {
            self.compact_epochs(None);
        }
        self.accesses += 1;
        let bytes = self.bytes();
        self.most = self.most.max(bytes);
        if bytes > self.limit {
            self.shrink(event);
        }
        let unit = event.size.clamp(1, 4);
        let warp = event.warp as usize % clocks.len();
        let shared = epochs::Epoch {
            block: self.block,
            clock: clocks[warp][warp],
            pc: event.pc,
            warp: warp as u8,
            strong: event.strong,
        };
        let number = self.epochs.number(shared);
        let prior = PriorOrder { clocks, order, program: event.program };
        self.read_only.note(event);
        let row = RowAccess { epoch: shared, number, prior };
        let left = self.rows(event, unit, &row);
        let prior = row.prior;
        let mut last = (u64::MAX, None);
        for lane in crate::lanes::lanes(left) {
            let address = event.addresses[lane];
            if !event.memory.is_written(address) {
                continue;
            }
            let (Some((id, offset)), Some((buffer, start))) =
                (event.memory.locate(address), event.memory.shadow_start(address))
            else {
                continue;
            };
            let thread = event.warp * 32 + lane as u32;
            let access = Access { epoch: shared, thread };
            let access_id = EpochTable::access_id(number, lane);
            let first = offset as u64 / u64::from(unit);
            for index in first..first + u64::from(event.size.div_ceil(unit)) {
                let at = index * u64::from(unit);
                // Where the registers do not tell, what lies there now is what this thread or a lane of its warp stored.
                let Some(value) = event.memory.value(id, at, unit) else { continue };
                let own = event.stored_unit(lane, (index - first) as u32, unit);
                let value = own.unwrap_or(value as u32);
                let in_shadow = index + start / u64::from(unit);
                let key = page_key(buffer, unit, in_shadow / PAGE as u64);
                let page = match last {
                    (known, Some(page)) if known == key => page,
                    _ => open(&mut self.pages, key, &mut self.held),
                };
                let current = UnitAccess { access_id, access, kind: event.kind, unit, value };
                let place = in_shadow as usize % PAGE;
                if let Some(other) = self.read_only.conflict(event, page, place, &self.epochs) {
                    let finding = ReadOnlyLoad {
                        size: event.size,
                        place: Some((id, at as i64)),
                        written_here: event.kind != AccessKind::Read,
                        by_image: event.program.reads_image(event.pc),
                        other: event.program.source_location(other).cloned(),
                    };
                    log.record(finding, event.pc, thread, 1);
                }
                let followed = || {
                    let address = address.wrapping_sub(offset as u64).wrapping_add(at);
                    let mut cells = cells(address, unit, self.sync_variables.has_bytes());
                    cells.any(|(cell, _)| {
                        let word = self.sync_variables.get(cell);
                        word.is_some_and(|word| order.follows_reader(shared.warp, word))
                    })
                };
                let (found, grown) = visit(page, place, &current, &self.epochs, &prior, followed);
                self.held += grown;
                last = (key, Some(page));
                let Some((kind, other)) = found else { continue };
                let same_block = other.epoch.block == self.block;
                let finding = GlobalRace {
                    kind,
                    size: event.size,
                    place: Some((id, at as i64)),
                    other: event.program.source_location(other.epoch.pc).cloned(),
                    other_thread: other.epoch.block.checked_sub(1).map(|block| ThreadId {
                        block: coordinates(block, self.grid),
                        thread: event.thread_coordinates(other.thread),
                    }),
                    same_block,
                    same_warp: same_block && other.epoch.warp == shared.warp,
                    volatile: event.program.is_volatile([event.pc, other.epoch.pc]),
                    beside_atomic: match kind {
                        RaceKind::ReadAfterWrite => event.program.is_atomic(other.epoch.pc),
                        RaceKind::WriteAfterRead => event.program.is_atomic(event.pc),
                        RaceKind::WriteAfterWrite => false,
                    },
                };
                log.record(finding, event.pc, thread, 1);
                break;
            }
        }
    }
}

impl GlobalRaces {
    /// Checks and records the lanes that access whole rows of units one after another, as lanes usually do, if they conflict with
    /// no earlier access. Returns the other lanes.
    fn rows(&mut self, event: &Event, unit: u32, new: &RowAccess) -> u32 {
        let mut left = event.done;
        if event.size != unit || event.strong || self.read_only.is_seen() {
            return left;
        }
        let size = u64::from(unit);
        let first = event.done.trailing_zeros() as usize % 32;
        let Some((_, offset)) = event.memory.locate(event.addresses[first]) else { return left };
        // The lane that would have the first unit of a row, if all lanes were in order; the next row begins 16 lanes later.
        let begins = (first as u64).wrapping_sub(offset as u64 / size) as usize % ROW;
        for begin in [begins, begins + ROW] {
            let start = event.addresses[begin];
            let in_turn = (0..ROW).all(|unit| {
                let lane = (begin + unit) % 32;
                event.addresses[lane] == start.wrapping_add(unit as u64 * size)
            });
            let lanes = (((1 << ROW) - 1) as u32).rotate_left(begin as u32);
            if in_turn && lanes & !event.done == 0 && self.row(event, unit, begin, new) {
                left &= !lanes;
            }
        }
        left
    }

    /// Checks and records the row that begins with the unit of a lane. False, and nothing done, if the units are not a row, or
    /// conflict with an earlier access.
    fn row(&mut self, event: &Event, unit: u32, begin: usize, new: &RowAccess) -> bool {
        let RowAccess { epoch: current, number, prior } = new;
        let (size, address) = (u64::from(unit), event.addresses[begin]);
        let Some((id, offset)) = event.memory.locate(address) else { return false };
        let Some((buffer, start)) = event.memory.shadow_start(address) else { return false };
        let first = offset as u64 / size;
        let in_shadow = first + start / size;
        if !in_shadow.is_multiple_of(ROW as u64) || !event.memory.is_written(address) {
            return false;
        }
        let key = page_key(buffer, unit, in_shadow / PAGE as u64);
        let page = open(&mut self.pages, key, &mut self.held);
        let row = in_shadow as usize % PAGE / ROW;
        let access_id = EpochTable::access_id(*number, begin);
        // Rows of one warp that begin with different lanes have no unit of one thread in common.
        let unordered = |old: AccessId| {
            self.epochs.access(old).is_some_and(|access| {
                let old_epoch = access.epoch;
                let (by, warp) = (usize::from(old_epoch.warp), usize::from(current.warp));
                let seen = prior.clocks[warp % prior.clocks.len()][by % prior.clocks.len()];
                if old_epoch.block != current.block {
                    !prior.order.lanes_happened_before(current.warp, old_epoch)
                } else if by == warp {
                    old_epoch.clock >= prior.order.converged_at(warp)
                        && old.lane() != access_id.lane()
                } else {
                    old_epoch.clock > seen
                }
            })
        };
        let [first_readers, second_readers] = &page.readers;
        let (Some(writers), Some(readers), Some(others), None) = (
            page.writers.row(row),
            first_readers.row(row),
            second_readers.row(row),
            &page.strong_writers,
        ) else {
            return false;
        };
        if unordered(writers) {
            return false;
        }
        if event.kind == AccessKind::Read {
            if !unordered(readers) {
                page.readers[0].set_row(row, access_id);
            } else if !unordered(others) {
                page.readers[1].set_row(row, access_id);
            }
            return true;
        }
        if unordered(readers) || unordered(others) {
            return false;
        }
        let stored = event.stored_word();
        self.held += page.values.set_row(row, unit, |at| {
            let lane = (begin + at) % 32;
            let value = stored.map(|values| values[lane]);
            value.or_else(|| event.stored_unit(lane, 0, unit)).unwrap_or_else(|| {
                let value = event.memory.value(id, (first + at as u64) * size, unit);
                value.unwrap_or(0) as u32
            })
        });
        page.writers.set_row(row, access_id);
        true
    }
}

/// An access whose lanes may cover whole rows.
struct RowAccess<'p> {
    epoch: epochs::Epoch,
    number: u32,
    prior: PriorOrder<'p>,
}

/// What happened before an access.
pub(crate) struct PriorOrder<'p> {
    /// The clocks of its own block.
    pub clocks: &'p Clocks,
    pub order: &'p HappensBefore,
    pub program: &'p Program,
}

impl PriorOrder<'_> {
    /// Whether nothing orders an earlier access before a new one.
    #[inline(always)]
    pub fn is_unordered(&self, new: &Access, old: &Access) -> bool {
        let Self { clocks, order, .. } = self;
        if old.epoch.block != new.epoch.block {
            return !order.happened_before(new.epoch.warp, old);
        }
        let (by, warp) = (usize::from(old.epoch.warp), usize::from(new.epoch.warp));
        let (clock, lane) = (old.epoch.clock, old.thread % 32);
        let early = if by == warp {
            let known = order.lane_clocks(warp);
            clock >= order.converged_at(warp)
                && !order.own(warp).covers(clock, lane)
                && !known.is_some_and(|lanes| lanes.covers(new.thread % 32, lane, clock))
        } else {
            clock > clocks[warp % clocks.len()][by % clocks.len()]
        };
        old.thread != new.thread && early
    }
}

/// The access of one unit.
struct UnitAccess {
    access_id: AccessId,
    access: Access,
    kind: AccessKind,
    /// Size of a unit of the page in bytes.
    unit: u32,
    /// The value of the unit after the access.
    value: u32,
}

/// The race of an access with an earlier one, if there is one. Records the access, and returns how many bytes that took.
fn visit(
    page: &mut Page,
    at: usize,
    current: &UnitAccess,
    epochs: &EpochTable,
    prior: &PriorOrder,
    followed: impl Fn() -> bool,
) -> (Option<(RaceKind, Access)>, usize) {
    let new = current.access.epoch;
    let PriorOrder { order, program, .. } = prior;
    let unordered = |access_id: AccessId| {
        epochs.access(access_id).filter(|old| prior.is_unordered(&current.access, old))
    };
    // Strong accesses of block scope are no such to other blocks.
    let is_block_scope =
        |event: &epochs::Epoch| program.ordering(event.pc).is_some_and(|o| !o.device_scope);
    let both_strong = |old: &epochs::Epoch| {
        let strong = old.strong && new.strong;
        strong && (old.block == new.block || !is_block_scope(old) && !is_block_scope(&new))
    };
    let conflict = |access_id| {
        unordered(access_id)
            .filter(|old| !both_strong(&old.epoch) || program.lose_update(old.epoch.pc, new.pc))
    };
    let written = page.writers.get(at);
    if current.kind == AccessKind::Read {
        let free = page.readers.iter_mut().find(|readers| unordered(readers.get(at)).is_none());
        let grown = free.map_or(0, |readers| readers.set(at, current.access_id));
        let written = conflict(written).filter(|old| !program.is_hint(new.strong, old.epoch.pc));
        // Two strong accesses race where the scope of one leaves the other's block out.
        let beside_atomic =
            |old: &Access| program.reads_beside_atomic(new.pc, old.epoch.pc) && !followed();
        let written = written.or_else(|| {
            conflict(page.strong_writer(at)).filter(|old| new.strong || beside_atomic(old))
        });
        return (written.map(|old| (RaceKind::ReadAfterWrite, old)), grown);
    }
    // Where all threads of a block write one value, the first one may order it for others.
    let is_of_block =
        |access_id| unordered(access_id).is_some_and(|old| old.epoch.block == new.block);
    let plain = current.kind == AccessKind::Write;
    // Two plain writes of the same value leave the same memory in either order.
    let same_value = plain && current.value == page.values.get(at);
    let strong_writer = || conflict(page.strong_writer(at)).filter(|_| !followed());
    let differs = |old: &Access| !same_value || program.lose_update(old.epoch.pc, new.pc);
    let writer = conflict(written).filter(differs).or_else(strong_writer);
    let reader = || {
        let readers = page.readers.iter().filter_map(|readers| conflict(readers.get(at)));
        let mut readers = readers.filter(|Access { epoch: old, .. }| {
            let same_warp = (old.block, old.warp) == (new.block, new.warp);
            let in_step = same_warp && program.in_step(old.pc, new.pc);
            let races = !new.strong || program.reads_beside_atomic(old.pc, new.pc);
            races && !in_step && !program.is_hint(old.strong, new.pc)
        });
        readers.next()
    };
    let found = writer.map(|writer| (RaceKind::WriteAfterWrite, writer)).or_else(|| {
        let may_race = !new.strong || program.keeps_reads;
        may_race.then(reader).flatten().map(|reader| (RaceKind::WriteAfterRead, reader))
    });
    let grown = if new.strong {
        let mut grown = 0;
        let access_ids = page.strong_writers.get_or_insert_with(|| {
            grown = size_of::<AccessIds>() + HEADER;
            Box::default()
        });
        grown + access_ids.set(at, current.access_id)
    } else if same_value && order.tracks() && is_of_block(written) {
        0
    } else {
        page.writers.set(at, current.access_id) + page.values.set(at, current.unit, current.value)
    };
    (found, grown)
}
