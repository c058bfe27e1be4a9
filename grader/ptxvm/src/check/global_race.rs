//! Races in global memory: between the warps of a block with no barrier between, and between blocks, which nothing orders.
//!
//! Atomics and volatile accesses do not race among themselves, and a plain read beside an atomic is let pass: loops around
//! `atomicCAS` begin with one. A program with fences orders its blocks by hand (a flag, a
//! counter of finished blocks), which only a model of the whole memory order could follow, so nothing is said of it.

use std::collections::HashMap;

use super::race::Clocks;
use crate::finding::{AccessKind, FindingKind, Log, RaceKind};
use crate::hooks::{Event, coordinates};
use crate::ir::Pc;

/// Units of a page of the shadow.
const PAGE: usize = 64;

/// Who touched a unit, when, and by which instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// Index of the block from 1; 0: nobody yet.
    block: u32,
    clock: u32,
    pc: Pc,
    /// Index in the block.
    thread: u16,
    /// Atomic or volatile.
    strong: bool,
}

/// The last plain writer of a unit and other accesses. Of the readers the first and one of another thread are kept: a writer is at most one of them.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    writer: Stamp,
    /// What the writer stored.
    value: Option<u64>,
    /// The last atomic or volatile writer: it does not hide a plain one before it.
    strong_writer: Stamp,
    readers: [Stamp; 2],
}

/// Buffer, unit size in bytes, and number of the page. Halves and bytes have units of their own, for neighbours in one
/// word do not race.
type PageKey = (usize, u32, u64);

/// What is known of the global memory that kernels may write.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    pages: HashMap<PageKey, Box<[Entry; PAGE]>>,
    grid: [u32; 3],
    /// Index of the running block from 1.
    block: u32,
    /// What earlier blocks did is kept, to be compared with later ones.
    across_blocks: bool,
    silent: bool,
}

impl GlobalRaces {
    /// A shadow that compares blocks with one another only if this host thread runs them all.
    pub fn new(grid: [u32; 3], across_blocks: bool, fenced: bool) -> Self {
        Self { pages: HashMap::new(), grid, block: 0, across_blocks, silent: fenced }
    }

    /// The next accesses are those of block `index`.
    pub fn block_start(&mut self, index: u64) {
        self.block = index as u32 + 1;
        if !self.across_blocks {
            self.pages.clear();
        }
    }

    /// Buffer, byte offset, block (from 1) of every plain access so far, and whether it was a write.
    pub fn touched(&self) -> impl Iterator<Item = (usize, u64, u32, bool)> {
        self.pages.iter().flat_map(|(&(buffer, unit, page), entries)| {
            entries.iter().zip(page * PAGE as u64..).flat_map(move |(entry, index)| {
                let at = index * u64::from(unit);
                let plain = |stamp: &Stamp| stamp.block != 0 && !stamp.strong;
                let written = Some(entry.writer).filter(plain).map(|s| (buffer, at, s.block, true));
                let readers = entry.readers.into_iter().filter(plain);
                written.into_iter().chain(readers.map(move |s| (buffer, at, s.block, false)))
            })
        })
    }

    pub fn access(&mut self, event: &Event, clocks: &Clocks, log: &mut Log) {
        if self.silent || event.done == 0 {
            return;
        }
        let first = event.addresses[event.mask.trailing_zeros() as usize % 32];
        if event.one_buffer && !event.memory.is_writable(first) {
            return;
        }
        let unit = event.size.clamp(1, 4);
        let warp = event.warp as usize % clocks.len();
        for lane in crate::warp::lanes(event.done) {
            let address = event.addresses[lane];
            if !event.memory.is_writable(address) {
                continue;
            }
            let (Some((id, offset)), Some(buffer)) =
                (event.memory.locate(address), event.memory.writable_index(address))
            else {
                continue;
            };
            let thread = event.warp * 32 + lane as u32;
            let now = Stamp {
                block: self.block,
                clock: clocks[warp][warp],
                pc: event.pc,
                thread: thread as u16,
                strong: event.strong,
            };
            let first = offset as u64 / u64::from(unit);
            for index in first..first + u64::from(event.size.div_ceil(unit)) {
                let key = (buffer, unit, index / PAGE as u64);
                let page =
                    self.pages.entry(key).or_insert_with(|| Box::new([Entry::default(); PAGE]));
                let entry = &mut page[index as usize % PAGE];
                let at = index * u64::from(unit);
                // The store has happened: what lies there now is what this thread or a lane of its warp stored.
                let value =
                    event.memory.value(id, at, unit).filter(|_| event.kind == AccessKind::Write);
                let Some((kind, other)) = visit(entry, now, event.kind, value, clocks) else {
                    continue;
                };
                let same_block = other.block == now.block;
                let finding = FindingKind::GlobalRace {
                    kind,
                    size: event.size,
                    buffer: (id, at as i64),
                    other: event.program.place(other.pc).cloned(),
                    other_block: coordinates(other.block - 1, self.grid),
                    other_thread: event.thread_coordinates(other.thread.into()),
                    same_block,
                    same_warp: same_block && other.thread / 32 == now.thread / 32,
                };
                log.record(finding, event.pc, thread, 1);
                break;
            }
        }
    }
}

/// The conflict of an access with an earlier one, if there is one. Updates the entry.
fn visit(
    entry: &mut Entry,
    now: Stamp,
    kind: AccessKind,
    value: Option<u64>,
    clocks: &Clocks,
) -> Option<(RaceKind, Stamp)> {
    let unordered = |old: Stamp| {
        if old.block != now.block {
            return old.block != 0;
        }
        let (by, warp) = (usize::from(old.thread) / 32, usize::from(now.thread) / 32);
        let seen = clocks[warp % clocks.len()][by % clocks.len()];
        old.thread != now.thread && if by == warp { old.clock >= seen } else { old.clock > seen }
    };
    let conflicts = |old: Stamp| unordered(old) && !(old.strong && now.strong);
    let writers = [entry.writer, entry.strong_writer];
    if kind == AccessKind::Read {
        let [first, second] = entry.readers;
        if !unordered(first) {
            entry.readers[0] = now;
        } else if !unordered(second) {
            entry.readers[1] = now;
        }
        let conflict = conflicts(entry.writer);
        return conflict.then_some((RaceKind::ReadAfterWrite, entry.writer));
    }
    // Two plain writes of the same value leave the same memory in either order.
    let same_value = value.is_some() && value == entry.value;
    let harmless = |writer: Stamp| !writer.strong && same_value;
    let writer = writers.into_iter().find(|&writer| conflicts(writer) && !harmless(writer));
    let reader = entry.readers.into_iter().find(|&reader| conflicts(reader) && !now.strong);
    if now.strong {
        entry.strong_writer = now;
    } else {
        entry.writer = now;
        entry.value = value;
    }
    let write = writer.map(|writer| (RaceKind::WriteAfterWrite, writer));
    write.or(reader.map(|reader| (RaceKind::WriteAfterRead, reader)))
}
