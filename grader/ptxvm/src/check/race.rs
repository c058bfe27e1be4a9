//! Races: two accesses of one word by different threads, at least one a write, with no barrier between. Here those in
//! shared memory; those in global memory are in [`super::global_race`].
//!
//! Happens-before by vector clocks of warps, with one shadow entry for each word ([`super::shared`]; Flanagan and Freund,
//! "`FastTrack`", 2009). A
//! warp's clock moves on at every barrier it passes. An earlier access by another warp is ordered if this warp has, through
//! a barrier, seen that warp's clock of then; one by another lane of the same warp, if the own clock has moved on since.

use super::global_race::{Blocks, GlobalRaces};
use super::release::Releases;
use super::shared::{self, Access, Mark, Now, Shadow};
use crate::finding::{AccessKind, FindingKind, Log};
use crate::hooks::{Event, Monitor, WordReads};
use crate::memory::Window;

/// Warps of a block at most.
pub(super) const WARPS: usize = 32;

/// What each warp knows of the others' clocks, and its own.
pub(super) type Clocks = [[u32; WARPS]; WARPS];

/// The checker of blocks, one after another.
#[derive(Debug)]
pub(crate) struct Races {
    clocks: Box<Clocks>,
    /// Warps of the block.
    warps: usize,
    shadow: Shadow,
    releases: Releases,
    pub global: GlobalRaces,
}

impl Races {
    /// A checker that has seen nothing.
    pub fn new(global: GlobalRaces) -> Self {
        Self {
            clocks: Box::new([[0; WARPS]; WARPS]),
            warps: 0,
            shadow: Shadow::default(),
            releases: Releases::default(),
            global,
        }
    }

    /// Bytes of what is known of shared memory.
    pub fn shared_bytes(&self) -> usize {
        self.shadow.bytes() + self.releases.bytes()
    }
}

impl Monitor for Races {
    fn block_start(&mut self, shared_bytes: u32, warps: u32) {
        self.global.block_start();
        self.releases.clear();
        self.warps = warps as usize;
        self.shadow.begin((shared_bytes as usize).div_ceil(4));
        let highest = self.clocks.iter().flatten().copied().max().unwrap_or(0);
        let base = if highest > u32::MAX / 2 { 1 } else { highest + 1 };
        for (warp, clocks) in self.clocks.iter_mut().enumerate() {
            // Nothing of this block is seen yet.
            clocks.fill(base - 1);
            clocks[warp] = base;
        }
    }

    #[inline(always)]
    fn access(&mut self, event: &Event, log: &mut Log) {
        if event.window == Window::Shared && event.done != 0 {
            self.shared_access(event, log);
        } else if event.window == Window::Global {
            self.global.access(event, &self.clocks, log);
        }
        if event.strong
            && let Some(ordering) = event.program.ordering(event.pc)
            && self.releases.order(event, ordering, &mut self.clocks)
        {
            // What follows is later than what was released.
            self.tick(event.warp as usize % WARPS);
        }
    }

    #[inline(always)]
    fn knows(&self, reads: &WordReads) -> bool {
        match reads.window {
            Window::Shared => self.shadow.knows_words(reads),
            Window::Global => self.global.knows(reads),
            _ => true,
        }
    }

    fn barrier(&mut self, warps: u32) {
        let members = || crate::warp::lanes(warps);
        let mut joined = [0; WARPS];
        for warp in members() {
            for (all, &clock) in joined.iter_mut().zip(&self.clocks[warp]) {
                *all = clock.max(*all);
            }
        }
        for warp in members() {
            self.clocks[warp] = joined;
            self.tick(warp);
        }
        self.shadow.settle(self.warps);
    }

    fn warp_barrier(&mut self, warp: u32) {
        self.tick(warp as usize % WARPS);
    }

    fn exchange(&mut self, common: &mut Self) {
        std::mem::swap(&mut self.global, &mut common.global);
        self.global.blocks = Blocks::InTurns;
        common.global.blocks = Blocks::InTurns;
    }

    fn resume(&mut self, block: u64) {
        self.global.resume(block);
    }
}

impl Races {
    /// Moves a warp's own clock on.
    fn tick(&mut self, warp: usize) {
        let clocks = &mut self.clocks[warp];
        clocks[warp] = clocks[warp].saturating_add(1);
        self.shadow.raise_floor(warp, clocks, self.warps);
    }

    fn shared_access(&mut self, event: &Event, log: &mut Log) {
        let warp = event.warp as usize % WARPS;
        let new = shared::Event {
            clock: self.clocks[warp][warp],
            pc: event.pc,
            warp: warp as u8,
            strong: event.strong,
        };
        let number = self.shadow.number(new);
        let mut now = Now {
            mark: Mark::new(number, 0),
            access: Access { event: new, thread: 0 },
            clocks: &self.clocks,
            kind: event.kind,
            value: None,
        };
        let stored = event.stored.map(|register| event.registers.r(register));
        let (mut last, mut repeated) = (u64::MAX, 0);
        for lane in crate::warp::lanes(event.telling) {
            let address = event.addresses[lane];
            if event.kind == AccessKind::Read {
                // Of many lanes that read one word, two are as good as all.
                repeated = if address == last { repeated + 1 } else { 0 };
                last = address;
                if repeated > 1 {
                    continue;
                }
            }
            let thread = event.warp * 32 + lane as u32;
            now.mark = Mark::new(number, lane);
            now.access.thread = thread;
            now.value = stored.map(|stored| stored[lane]);
            if event.size == 4 && self.shadow.visit_quietly((address / 4) as usize, &now) {
                continue;
            }
            if let Some((kind, other, at)) = self.shadow.visit(address as u32, event.size, &now) {
                let same_warp = other.thread / 32 == event.warp;
                // Two sums over tiles of several warps use one word of each warp with nothing but a shuffle in between. That is
                // CUDA's own way, whatever one thinks of it.
                if same_warp
                    && [event.pc, other.event.pc].iter().all(|&pc| event.program.in_groups(pc))
                {
                    continue;
                }
                let finding = FindingKind::SharedRace {
                    kind,
                    size: event.size,
                    offset: at.into(),
                    other: event.program.place(other.event.pc).cloned(),
                    other_thread: event.thread_coordinates(other.thread),
                    same_warp,
                };
                log.record(finding, event.pc, thread, 1);
            }
        }
    }
}
