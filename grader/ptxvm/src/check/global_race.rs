//! Races in global memory: between the warps of a block with no barrier between, and between blocks, which nothing orders.
//!
//! Atomics and volatile accesses do not race among themselves, and a plain read beside an atomic is let pass: loops around
//! `atomicCAS` begin with one. A program with fences orders its blocks by hand (a flag, a
//! counter of finished blocks), which only a model of the whole memory order could follow, so nothing is said of it.

use std::collections::HashMap;

use super::race::Clocks;
use super::stamps::{self, Access, Events, Stamp};
use crate::cooperative;
use crate::finding::{AccessKind, FindingKind, Log, RaceKind};
use crate::hooks::{Event, coordinates};

/// Units of a page of the shadow.
const PAGE: usize = 128;

/// A plain write of a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    stamp: Stamp,
    value: u32,
}

/// Stamps of a page; most pages need few of these lists.
#[derive(Debug, Default)]
struct Stamps(Option<Box<[Stamp; PAGE]>>);

impl Stamps {
    fn get(&self, at: usize) -> Stamp {
        self.0.as_ref().map_or_else(Stamp::default, |stamps| stamps[at])
    }

    fn set(&mut self, at: usize, stamp: Stamp) {
        self.0.get_or_insert_with(|| Box::new([Stamp::default(); PAGE]))[at] = stamp;
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Stamp> {
        self.0.iter_mut().flat_map(|stamps| stamps.iter_mut())
    }
}

/// What is known of the units of a page: four bytes for each kind of access that happened there, and four for what was written.
#[derive(Debug, Default)]
struct Page {
    /// The last plain write.
    writers: Option<Box<[Written; PAGE]>>,
    /// The last atomic or volatile writer: it does not hide a plain one before it.
    strong_writers: Stamps,
    /// Of the readers the first and one of another thread: a writer is at most one of them.
    readers: [Stamps; 2],
}

impl Page {
    fn writer(&self, at: usize) -> Written {
        self.writers.as_ref().map_or_else(Written::default, |writers| writers[at])
    }

    fn stamps(&mut self) -> impl Iterator<Item = &mut Stamp> {
        let Self { writers, strong_writers, readers } = self;
        let writers = writers.iter_mut().flat_map(|all| all.iter_mut()).map(|w| &mut w.stamp);
        writers.chain(strong_writers.all()).chain(readers.iter_mut().flat_map(Stamps::all))
    }
}

/// Buffer, unit size in bytes, and number of the page, in one word. Halves and bytes have units of their own, for neighbours
/// in one word do not race.
fn page_key(buffer: usize, unit: u32, page: u64) -> u64 {
    (buffer as u64) << PAGE_KEY_BUFFER | u64::from(unit) << PAGE_KEY_UNIT | page
}

/// Where the unit size begins in a key: a buffer has less than 2^36 bytes.
const PAGE_KEY_UNIT: u32 = 36;
/// Where the buffer begins in a key: units have 1 to 4 bytes.
const PAGE_KEY_BUFFER: u32 = PAGE_KEY_UNIT + 3;

/// Buffer and byte offset of the first unit of a page, and bytes of a unit.
fn page_place(key: u64) -> (usize, u64, u64) {
    let unit = key >> PAGE_KEY_UNIT & 7;
    let page = key & ((1 << PAGE_KEY_UNIT) - 1);
    ((key >> PAGE_KEY_BUFFER) as usize, page * PAGE as u64 * unit, unit)
}

/// What is known of the global memory that kernels may write.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    pages: HashMap<u64, Page>,
    events: Events,
    grid: [u32; 3],
    /// Index of the running block from 1.
    block: u32,
    /// What earlier blocks did is kept, to be compared with later ones.
    across_blocks: bool,
    silent: bool,
    /// The topmost bit of the barrier of a cooperative grid.
    phase: bool,
}

impl GlobalRaces {
    /// A shadow that compares blocks with one another only if this host thread runs them all.
    pub fn new(grid: [u32; 3], across_blocks: bool, fenced: bool) -> Self {
        let (pages, events) = (HashMap::new(), Events::new());
        Self { pages, events, grid, block: 0, across_blocks, silent: fenced, phase: false }
    }

    /// The next accesses are those of block `index`.
    pub fn resume(&mut self, index: u64) {
        self.block = index as u32 + 1;
    }

    /// A block begins.
    pub fn block_start(&mut self) {
        if !self.across_blocks {
            self.forget();
        }
    }

    /// A block has arrived at the barrier of the grid. With the last one the topmost bit changes: all that came before lies
    /// before all that follows.
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
        self.events.clear();
    }

    /// Buffer, byte offset, block (from 1) of every plain access so far, and whether it was a write.
    pub fn touched(&self) -> impl Iterator<Item = (usize, u64, u32, bool)> {
        self.pages.iter().flat_map(move |(&key, page)| {
            let (buffer, start, unit) = page_place(key);
            (0..PAGE).flat_map(move |at| {
                let offset = start + at as u64 * unit;
                let plain = move |stamp: Stamp, wrote: bool| {
                    let event = self.events.access(stamp)?.event;
                    (!event.strong).then_some((buffer, offset, event.block, wrote))
                };
                let [first, second] = &page.readers;
                let readers = [first.get(at), second.get(at)];
                let written = plain(page.writer(at).stamp, true);
                written.into_iter().chain(readers.into_iter().filter_map(move |r| plain(r, false)))
            })
        })
    }

    pub fn access(&mut self, event: &Event, clocks: &Clocks, log: &mut Log) {
        if self.silent || event.done == 0 {
            return;
        }
        let first = event.addresses[event.mask.trailing_zeros() as usize % 32];
        if event.kind == AccessKind::Atomic
            && cooperative::barrier_address(event.memory) == Some(first)
        {
            self.grid_arrival(event, first);
            return;
        }
        if event.one_buffer && !event.memory.is_writable(first) {
            return;
        }
        if self.events.are_many() {
            let fit = self.events.keep_used(&mut self.pages.values_mut().flat_map(Page::stamps));
            if !fit {
                // More than can be told apart: what comes is compared with what comes later only.
                self.forget();
            }
        }
        let unit = event.size.clamp(1, 4);
        let warp = event.warp as usize % clocks.len();
        let shared = stamps::Event {
            block: self.block,
            clock: clocks[warp][warp],
            pc: event.pc,
            warp: warp as u8,
            strong: event.strong,
        };
        let number = self.events.number(shared);
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
            let access = Access { event: shared, thread };
            let stamp = Events::stamp(number, lane);
            let first = offset as u64 / u64::from(unit);
            for index in first..first + u64::from(event.size.div_ceil(unit)) {
                let at = index * u64::from(unit);
                // The store has happened: what lies there now is what this thread or a lane of its warp stored.
                let Some(value) = event.memory.value(id, at, unit) else { continue };
                let page = page_key(buffer, unit, index / PAGE as u64);
                let page = self.pages.entry(page).or_default();
                let now = Now { stamp, access, kind: event.kind, value: value as u32 };
                let place = index as usize % PAGE;
                let Some((kind, other)) = visit(page, place, &now, &self.events, clocks) else {
                    continue;
                };
                let same_block = other.event.block == self.block;
                let finding = FindingKind::GlobalRace {
                    kind,
                    size: event.size,
                    buffer: (id, at as i64),
                    other: event.program.place(other.event.pc).cloned(),
                    other_block: coordinates(other.event.block - 1, self.grid),
                    other_thread: event.thread_coordinates(other.thread),
                    same_block,
                    same_warp: same_block && other.event.warp == shared.warp,
                };
                log.record(finding, event.pc, thread, 1);
                break;
            }
        }
    }
}

/// One access of one unit.
struct Now {
    stamp: Stamp,
    access: Access,
    kind: AccessKind,
    /// What lies there after it.
    value: u32,
}

/// The conflict of an access with an earlier one, if there is one. Updates the page.
fn visit(
    page: &mut Page,
    at: usize,
    now: &Now,
    events: &Events,
    clocks: &Clocks,
) -> Option<(RaceKind, Access)> {
    let Access { event: new, thread } = now.access;
    let unordered = |stamp: Stamp| {
        let access = events.access(stamp)?;
        let old = access.event;
        if old.block != new.block {
            return Some(access);
        }
        let (by, warp) = (usize::from(old.warp), usize::from(new.warp));
        let seen = clocks[warp % clocks.len()][by % clocks.len()];
        let early = if by == warp { old.clock >= seen } else { old.clock > seen };
        (access.thread != thread && early).then_some(access)
    };
    let conflict = |stamp| unordered(stamp).filter(|old| !(old.event.strong && new.strong));
    let written = page.writer(at);
    if now.kind == AccessKind::Read {
        let free = page.readers.iter_mut().find(|readers| unordered(readers.get(at)).is_none());
        if let Some(readers) = free {
            readers.set(at, now.stamp);
        }
        return conflict(written.stamp).map(|old| (RaceKind::ReadAfterWrite, old));
    }
    let plain = now.kind == AccessKind::Write;
    // Two plain writes of the same value leave the same memory in either order.
    let same_value = plain && now.value == written.value;
    let strong_writer = || conflict(page.strong_writers.get(at));
    let writer = conflict(written.stamp).filter(|_| !same_value).or_else(strong_writer);
    let reader = || {
        let mut readers = page.readers.iter().filter_map(|readers| conflict(readers.get(at)));
        readers.next().filter(|_| !new.strong)
    };
    let found = writer
        .map(|writer| (RaceKind::WriteAfterWrite, writer))
        .or_else(|| reader().map(|reader| (RaceKind::WriteAfterRead, reader)));
    if new.strong {
        page.strong_writers.set(at, now.stamp);
    } else {
        let writers = page.writers.get_or_insert_with(|| Box::new([Written::default(); PAGE]));
        writers[at] = Written { stamp: now.stamp, value: now.value };
    }
    found
}

#[cfg(test)]
impl GlobalRaces {
    /// Bytes of the shadow, with what the allocator and the table of pages add.
    fn bytes(&self) -> usize {
        const HEADER: usize = 16;
        let stamps = |stamps: &Stamps| stamps.0.as_ref().map_or(0, |s| size_of_val(&**s) + HEADER);
        let page = |page: &Page| {
            let writers = page.writers.as_ref().map_or(0, |w| size_of_val(&**w) + HEADER);
            writers + stamps(&page.strong_writers) + page.readers.iter().map(stamps).sum::<usize>()
        };
        // A table keeps every eighth place free, and a byte for each.
        let table = self.pages.capacity() * 8 / 7 * (size_of::<(u64, Page)>() + 1);
        self.pages.values().map(page).sum::<usize>() + table + self.events.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Window;
    use crate::memory::global::{Access, Init, Memory};
    use crate::program::Program;
    use crate::warp::Registers;

    const WORDS: u64 = 1 << 16;
    const THREADS: u64 = 256;

    /// Bytes of shadow for each byte of a buffer, each word of which one thread accesses so, in blocks of 256 threads.
    fn bytes_per_byte(accesses: &[(AccessKind, u64)]) -> f64 {
        let mut memory = Memory::default();
        let id = memory.alloc(Init::Bytes(vec![0; WORDS as usize * 4]), Access::ReadWrite);
        let program = Program::default();
        let registers = Registers::new(&program);
        let mut races = GlobalRaces::new([(WORDS / THREADS) as u32, 1, 1], true, false);
        let clocks = Box::new([[1; 32]; 32]);
        let mut log = Log::default();
        for block in 0..WORDS / THREADS {
            races.block_start();
            races.resume(block);
            for warp in 0..THREADS / 32 {
                for (&(kind, shift), pc) in accesses.iter().zip(0..) {
                    let at = |lane: usize| block * THREADS + warp * 32 + (lane as u64 + shift) % 32;
                    let addresses = std::array::from_fn(|lane| memory.address(id) + 4 * at(lane));
                    let event = Event {
                        pc,
                        kind,
                        window: Window::Global,
                        size: 4,
                        mask: u32::MAX,
                        done: u32::MAX,
                        addresses: &addresses,
                        block: [block as u32, 0, 0],
                        warp: warp as u32,
                        memory: &memory,
                        program: &program,
                        block_size: [THREADS as u32, 1, 1],
                        strong: kind == AccessKind::Atomic,
                        one_buffer: true,
                        operation: 0,
                        registers: &registers,
                        stored: None,
                    };
                    races.access(&event, &clocks, &mut log);
                }
            }
        }
        races.bytes() as f64 / (WORDS * 4) as f64
    }

    #[test]
    fn bytes_of_shadow_for_each_byte_of_a_buffer() {
        use AccessKind::{Atomic, Read, Write};
        for (accesses, most) in [
            (&[(Write, 0)][..], 2.4),
            (&[(Atomic, 0)], 1.4),
            (&[(Read, 0), (Write, 0)], 3.6),
            // The most for words without atomics.
            (&[(Read, 0), (Read, 1), (Write, 2)], 4.8),
        ] {
            let bytes = bytes_per_byte(accesses);
            assert!(bytes <= most, "{bytes} bytes for each byte with {accesses:?}");
        }
    }
}
