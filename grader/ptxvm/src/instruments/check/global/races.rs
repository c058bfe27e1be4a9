//! Races in global memory: between the warps of a block with no barrier between, and between blocks, which only grid barriers and fences order.
//!
//! Atomics and volatile accesses do not race among themselves, and a plain read beside an atomic is let pass: loops around
//! `atomicCAS` begin with one. Where a program has fences, `super::sync` knows what they order.

#[cfg(test)]
mod tests;

use crate::finding::{AccessKind, FindingKind, Log, RaceKind};
use crate::instruments::check::clocks::Clocks;
use crate::instruments::check::global::keys::{page_key, page_place};
use crate::instruments::check::global::packed;
use crate::instruments::check::global::pages::{PAGE, Page, ROW, Stamps};
use crate::instruments::check::global::slots::{Pages, Slot, open};
use crate::instruments::check::order::happens_before::Order;
use crate::instruments::check::order::sync_variables::{Words, cells};
use crate::instruments::check::order::vector_clock::Counted;
use crate::instruments::check::stamps::{self, Access, Events, Stamp};
use crate::instruments::check::table::HEADER;
use crate::instruments::check::table::table_bytes;
use crate::lanes::coordinates;
use crate::machine::monitor::Event;
use crate::memory::global::Memory;
use crate::memory::grid_workspace;
use crate::program::code::Program;

/// Bytes that the shadow may have in any case. One access takes up to 60,000 more where its lanes hit pages far apart.
const FIXED: usize = 1 << 14;
/// Beyond that, halves of a byte for each byte of the buffers that the launch may write. Flags of what is defined take
/// a quarter, and growing tables need some room. Where several blocks run in parallel, a quarter of a byte must do for theirs.
const HALVES: usize = 7;

/// Pages are put aside in vain so often before all is forgotten.
const MAX_IN_VAIN: u32 = 32;

/// The blocks that a shadow sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// One: what earlier ones did is forgotten.
    Single,
    /// One after another. What they did is kept, to be compared with later ones.
    OneByOne,
    /// The same, but an earlier one may go on.
    InTurns,
}

/// What is known of the global memory that kernels may write.
#[derive(Debug)]
pub(crate) struct GlobalRaces {
    pages: Pages,
    events: Events,
    grid: [u32; 3],
    /// Index of the running block from 1.
    block: u32,
    pub(crate) blocks: Blocks,
    /// Words by which blocks order each other.
    words: Words,
    /// The topmost bit of the barrier of a cooperative grid.
    phase: bool,
    /// Bytes of the pages.
    held: usize,
    /// Most bytes of the shadow so far.
    most: usize,
    /// Bytes of the shadow from which on pages are put aside.
    limit: usize,
    /// Accesses since that was done last.
    accesses: usize,
    /// How often that was of no use.
    in_vain: u32,
}

impl GlobalRaces {
    /// A shadow that compares blocks with one another only if this host thread runs them all.
    pub fn new(grid: [u32; 3], across_blocks: bool) -> Self {
        Self {
            pages: Pages::default(),
            events: Events::new(),
            grid,
            block: 0,
            blocks: if across_blocks { Blocks::OneByOne } else { Blocks::Single },
            words: Words::default(),
            phase: false,
            held: 0,
            most: 0,
            limit: FIXED,
            accesses: 0,
            in_vain: 0,
        }
    }

    /// The next accesses are those of block `index`.
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

    /// The words by which blocks order each other.
    pub(crate) fn words(&mut self) -> &mut Words {
        &mut self.words
    }

    /// A block begins.
    pub fn block_start(&mut self) {
        if self.blocks == Blocks::Single {
            self.forget();
            self.words.clear();
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
        self.held = 0;
    }

    /// Bytes of the shadow, with what the allocator and the table of pages add.
    pub fn bytes(&self) -> usize {
        self.held + table_bytes(&self.pages) + self.events.bytes()
    }

    /// The most bytes that it had so far, and those of the words by which blocks order each other.
    pub fn most_bytes(&self) -> usize {
        self.most.max(self.bytes()) + self.words.bytes(&mut Counted::default())
    }

    /// Gives up events that nobody refers to. Where a block is given, of other blocks only the instructions are kept.
    fn tidy_events(&mut self, block: Option<u32>) {
        let pages = &mut self.pages;
        let fit = self.events.keep_used(block, |each| {
            for page in pages.values_mut() {
                page.change(each);
            }
        });
        if !fit {
            // More than can be told apart: what comes is compared with what comes later only.
            self.forget();
        }
        self.count();
    }

    /// Puts pages aside where the shadow has become large for what it is the shadow of.
    fn shrink(&mut self, event: &Event) {
        let written: usize = event.memory.written_sizes().flatten().sum();
        let own = written.saturating_add(event.memory.heap_use().bytes as usize);
        let share = match self.blocks {
            Blocks::Single => own / 4 / rayon::current_num_threads(),
            Blocks::OneByOne | Blocks::InTurns => {
                // Words by which threads order each other may take a half.
                own.saturating_mul(HALVES - usize::from(event.program.fenced)) / 2
            }
        };
        self.limit = FIXED.saturating_add(share);
        if self.bytes() <= self.limit {
            return;
        }
        if self.events.bytes() > self.limit / 4 {
            self.tidy_events(None);
        }
        let may_forget = self.blocks == Blocks::OneByOne && !event.program.fenced;
        // Pages that are all opened again at once were put aside in vain.
        let is_often = std::mem::take(&mut self.accesses) < self.pages.len() / 4;
        // Where other host threads never share the blocks, all may be forgotten: what comes is compared with what comes later only.
        let in_order = self.blocks == Blocks::InTurns || self.blocks() == 1;
        self.in_vain += u32::from(is_often);
        if is_often && in_order && self.in_vain > MAX_IN_VAIN {
            self.forget();
            return;
        }
        if is_often && may_forget {
            self.forget_threads();
        }
        if self.bytes() > self.limit / 4 * 3 {
            self.put_aside();
        }
        if self.bytes() > self.limit / 4 * 3 && may_forget {
            self.forget_threads();
            self.put_aside();
        }
        if self.bytes() > self.limit && in_order {
            self.forget();
        } else if self.bytes() > self.limit / 8 * 7 {
            // Where that did not help, it will not help soon.
            self.limit = self.bytes() / 4 * 5;
        }
    }

    /// Puts all pages aside.
    fn put_aside(&mut self) {
        self.most = self.most.max(self.bytes());
        for page in self.pages.values_mut() {
            page.pack();
        }
        self.count();
    }

    /// Puts pages aside before others run in parallel, if there are many. It must not depend on how many others, for on this
    /// depends what is forgotten later.
    pub fn make_room(&mut self, memory: &Memory) {
        if self.bytes() > memory.written_sizes().flatten().sum::<usize>() {
            self.put_aside();
        }
    }

    /// Whatever an earlier block did races with what comes. Which of its threads it was is forgotten.
    fn forget_threads(&mut self) {
        self.tidy_events(Some(self.block));
        for page in self.pages.values_mut() {
            page.compact(&self.events);
        }
        self.count();
    }

    fn count(&mut self) {
        self.held = self.pages.values().map(Slot::bytes).sum();
    }

    /// Tells buffer, byte offset, block (from 1) of every plain access so far, and whether it was a write.
    pub fn touched(&self, mut tell: impl FnMut(usize, u64, u32, bool)) {
        for (&key, slot) in &self.pages {
            let (buffer, start, unit) = page_place(key);
            let unpacked;
            let page = match slot {
                Slot::Open(page) => &**page,
                Slot::Packed(bytes) => {
                    unpacked = packed::unpack(bytes);
                    &unpacked
                }
            };
            for at in 0..PAGE {
                let offset = start + at as u64 * unit;
                let [first, second] = &page.readers;
                let reads = [first.get(at), second.get(at)].map(|stamp| (stamp, false));
                for (stamp, wrote) in [(page.writers.get(at), true)].into_iter().chain(reads) {
                    let event = self.events.access(stamp).map(|access| access.event);
                    if let Some(event) = event.filter(|event| !event.strong) {
                        tell(buffer, offset, event.block, wrote);
                    }
                }
            }
        }
    }

    pub(crate) fn access(&mut self, event: &Event, clocks: &Clocks, order: &Order, log: &mut Log) {
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
        if self.events.are_many() {
            self.tidy_events(None);
        }
        self.accesses += 1;
        let bytes = self.bytes();
        self.most = self.most.max(bytes);
        if bytes > self.limit {
            self.shrink(event);
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
        let past = Past { clocks, order, program: event.program };
        let row = Row { event: shared, number, past };
        let left = self.rows(event, unit, &row);
        let past = row.past;
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
            let access = Access { event: shared, thread };
            let stamp = Events::stamp(number, lane);
            let first = offset as u64 / u64::from(unit);
            for index in first..first + u64::from(event.size.div_ceil(unit)) {
                let at = index * u64::from(unit);
                // The store has happened: what lies there now is what this thread or a lane of its warp stored.
                let Some(value) = event.memory.value(id, at, unit) else { continue };
                let in_shadow = index + start / u64::from(unit);
                let key = page_key(buffer, unit, in_shadow / PAGE as u64);
                let page = match last {
                    (known, Some(page)) if known == key => page,
                    _ => open(&mut self.pages, key, &mut self.held),
                };
                let now = Now { stamp, access, kind: event.kind, unit, value: value as u32 };
                let place = in_shadow as usize % PAGE;
                let followed = || {
                    let address = address.wrapping_sub(offset as u64).wrapping_add(at);
                    let mut cells = cells(address, unit, self.words.has_bytes());
                    cells.any(|(cell, _)| {
                        let word = self.words.get(cell);
                        word.is_some_and(|word| order.follows_reader(shared.warp, word))
                    })
                };
                let (found, grown) = visit(page, place, &now, &self.events, &past, followed);
                self.held += grown;
                last = (key, Some(page));
                let Some((kind, other)) = found else { continue };
                let same_block = other.event.block == self.block;
                let finding = FindingKind::GlobalRace {
                    kind,
                    size: event.size,
                    buffer: (id, at as i64),
                    other: event.program.place(other.event.pc).cloned(),
                    other_thread: other.event.block.checked_sub(1).map(|block| {
                        (coordinates(block, self.grid), event.thread_coordinates(other.thread))
                    }),
                    same_block,
                    same_warp: same_block && other.event.warp == shared.warp,
                };
                log.record(finding, event.pc, thread, 1);
                break;
            }
        }
    }
}

impl GlobalRaces {
    /// Sees to the lanes that access the units of whole rows in turn, as lanes usually do, where that conflicts with no earlier
    /// access. The others.
    fn rows(&mut self, event: &Event, unit: u32, new: &Row) -> u32 {
        let mut left = event.done;
        if event.size != unit || event.strong {
            return left;
        }
        let size = u64::from(unit);
        let first = event.done.trailing_zeros() as usize % 32;
        let Some((_, offset)) = event.memory.locate(event.addresses[first]) else { return left };
        // The lane that would have the first unit of a row, if all lanes were in turn; the next row begins after 16 more.
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

    /// Sees to the row that begins with the unit of a lane. False, and nothing done, where the units are no row, or conflict
    /// with an earlier access.
    fn row(&mut self, event: &Event, unit: u32, begin: usize, new: &Row) -> bool {
        let Row { event: now, number, past } = new;
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
        let stamp = Events::stamp(*number, begin);
        // Rows of one warp that begin with different lanes have no unit of one thread in common.
        let unordered = |old: Stamp| {
            self.events.access(old).is_some_and(|access| {
                let old_event = access.event;
                let (by, warp) = (usize::from(old_event.warp), usize::from(now.warp));
                let seen = past.clocks[warp % past.clocks.len()][by % past.clocks.len()];
                if old_event.block != now.block {
                    !past.order.knows_lanes(now.warp, old_event)
                } else if by == warp {
                    old_event.clock >= past.order.met(warp) && old.lane() != stamp.lane()
                } else {
                    old_event.clock > seen
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
                page.readers[0].set_row(row, stamp);
            } else if !unordered(others) {
                page.readers[1].set_row(row, stamp);
            }
            return true;
        }
        if unordered(readers) || unordered(others) {
            return false;
        }
        let stored = event.stored.map(|register| event.registers.r(register));
        self.held += page.values.set_row(row, unit, |at| {
            let word = stored.map(|stored| stored[(begin + at) % 32]);
            word.unwrap_or_else(|| {
                let value = event.memory.value(id, (first + at as u64) * size, unit);
                value.unwrap_or(0) as u32
            })
        });
        page.writers.set_row(row, stamp);
        true
    }
}

/// An access whose lanes may take whole rows.
struct Row<'p> {
    event: stamps::Event,
    number: u32,
    past: Past<'p>,
}

/// What lies before an access.
struct Past<'p> {
    /// In its own block.
    clocks: &'p Clocks,
    order: &'p Order,
    program: &'p Program,
}

/// One access of one unit.
struct Now {
    stamp: Stamp,
    access: Access,
    kind: AccessKind,
    /// Bytes.
    unit: u32,
    /// What lies there after it.
    value: u32,
}

/// The conflict of an access with an earlier one, if there is one. Updates the page, and says how many bytes that took.
fn visit(
    page: &mut Page,
    at: usize,
    now: &Now,
    events: &Events,
    past: &Past,
    followed: impl Fn() -> bool,
) -> (Option<(RaceKind, Access)>, usize) {
    let Access { event: new, thread } = now.access;
    let Past { clocks, order, program } = past;
    let unordered = |stamp: Stamp| {
        let access = events.access(stamp)?;
        let old = access.event;
        if old.block != new.block {
            return (!order.knows(new.warp, &access)).then_some(access);
        }
        let (by, warp) = (usize::from(old.warp), usize::from(new.warp));
        let seen = clocks[warp % clocks.len()][by % clocks.len()];
        let early = if by == warp {
            old.clock >= order.met(warp) && !order.own(warp).covers(old.clock, access.thread % 32)
        } else {
            old.clock > seen
        };
        (access.thread != thread && early).then_some(access)
    };
    // Strong accesses of block scope are no such to other blocks.
    let near = |event: &stamps::Event| program.ordering(event.pc).is_some_and(|o| !o.wide);
    let both_strong = |old: &stamps::Event| {
        let strong = old.strong && new.strong;
        strong && (old.block == new.block || !near(old) && !near(&new))
    };
    let conflict = |stamp| unordered(stamp).filter(|old| !both_strong(&old.event));
    let written = page.writers.get(at);
    if now.kind == AccessKind::Read {
        let free = page.readers.iter_mut().find(|readers| unordered(readers.get(at)).is_none());
        let grown = free.map_or(0, |readers| readers.set(at, now.stamp));
        let written = conflict(written);
        // Two strong accesses race where the scope of one leaves the other's block out.
        let written = written.or_else(|| conflict(page.strong_writer(at)).filter(|_| new.strong));
        return (written.map(|old| (RaceKind::ReadAfterWrite, old)), grown);
    }
    // Where all threads of a block write one value, the first one may order it for others.
    let is_of_block = |stamp| unordered(stamp).is_some_and(|old| old.event.block == new.block);
    let plain = now.kind == AccessKind::Write;
    // Two plain writes of the same value leave the same memory in either order.
    let same_value = plain && now.value == page.values.get(at);
    let strong_writer = || conflict(page.strong_writer(at)).filter(|_| !followed());
    let writer = conflict(written).filter(|_| !same_value).or_else(strong_writer);
    let reader = || {
        let mut readers = page.readers.iter().filter_map(|readers| conflict(readers.get(at)));
        readers.next().filter(|_| !new.strong)
    };
    let found = writer
        .map(|writer| (RaceKind::WriteAfterWrite, writer))
        .or_else(|| reader().map(|reader| (RaceKind::WriteAfterRead, reader)));
    let grown = if new.strong {
        let mut grown = 0;
        let stamps = page.strong_writers.get_or_insert_with(|| {
            grown = size_of::<Stamps>() + HEADER;
            Box::default()
        });
        grown + stamps.set(at, now.stamp)
    } else if same_value && order.tracks() && is_of_block(written) {
        0
    } else {
        page.writers.set(at, now.stamp) + page.values.set(at, now.unit, now.value)
    };
    (found, grown)
}
