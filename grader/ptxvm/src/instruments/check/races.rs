//! Races: two accesses of one word by different threads, at least one of them a write, that no synchronisation orders. This
//! module checks shared memory; [`super::global`] checks global memory.
//!
//! Happens-before by vector clocks of warps, with one shadow word for each word ([`super::shared`]; Flanagan and Freund,
//! "`FastTrack`: Efficient and Precise Dynamic Race Detection", 2009). A warp's clock advances at every barrier it passes, and
//! after what it releases. An earlier access by another warp is ordered if this warp has, through a barrier, seen that warp's
//! clock of that time; one by another lane of the same warp, if the lanes have converged since.

use crate::finding::{AccessKind, Log, RaceKind, SharedRace};
use crate::instruments::check::clocks::{Clocks, WARPS};
use crate::instruments::check::cluster_memory::ClusterAccess;
use crate::instruments::check::epochs::{self as global_epochs, Epoch};
use crate::instruments::check::global::races::{BlockExecution, GlobalRaces, PriorOrder};
use crate::instruments::check::order::happens_before::{Common, HappensBefore};
use crate::instruments::check::order::phases::Phases;
use crate::instruments::check::order::sync_variables::SyncVariables;
use crate::instruments::check::shared::epochs::Access;
use crate::instruments::check::shared::race_check::{CurrentAccess, Race};
use crate::instruments::check::shared::shadow_memory::SharedMemoryShadow;
use crate::instruments::check::shared::{byte_cells, epochs};
use crate::isa::ir::Op;
use crate::isa::mbarrier::OPERATION;
use crate::isa::ordering::Ordering;
use crate::isa::window::{RANK_SHIFT, Window};
use crate::lanes::{HALF, are_in_turn};
use crate::machine::monitor::{Event, MbarrierEvent, Monitor, ObjectOwner, WordReads};
use crate::machine::simd::shadow_words::ShortAccessId;

/// The checker of blocks, one after another.
#[derive(Debug)]
pub(crate) struct Races {
    clocks: Box<Clocks>,
    /// Warps of the block.
    warps: usize,
    shadow: SharedMemoryShadow,
    order: HappensBefore,
    phases: Phases,
    /// Whether other blocks of a cluster may access its shared memory, and it has been accessed.
    in_cluster: bool,
    pub global: GlobalRaces,
}

impl Races {
    /// A checker that has seen nothing. `fenced`: the program has fences, releases or acquires.
    pub fn new(global: GlobalRaces, fenced: bool) -> Self {
        let order = HappensBefore::new(fenced, global.blocks());
        Self {
            clocks: Box::new([[0; WARPS]; WARPS]),
            warps: 0,
            shadow: SharedMemoryShadow::default(),
            order,
            phases: Phases::default(),
            in_cluster: false,
            global,
        }
    }

    /// Bytes of what is known of shared memory, and of the words and objects by which its block orders its threads.
    pub fn shared_bytes(&self) -> usize {
        self.shadow.bytes() + self.order.bytes() + self.phases.bytes()
    }
}

impl Monitor for Races {
    fn block_start(&mut self, shared_bytes: u32, warps: u32) {
        self.global.block_start();
        self.phases.clear();
        self.in_cluster = false;
        self.warps = warps as usize;
        self.shadow.begin((shared_bytes as usize).div_ceil(4));
        let highest = self.clocks.iter().flatten().copied().max().unwrap_or(0);
        let base = if highest > u32::MAX / 2 { 1 } else { highest + 1 };
        for (warp, clocks) in self.clocks.iter_mut().enumerate() {
            // Nothing of this block is seen yet.
            clocks.fill(base - 1);
            clocks[warp] = base;
        }
        self.order.begin(self.global.block(), self.warps, &self.clocks);
    }

    #[inline(always)]
    fn access(&mut self, event: &Event, log: &mut Log) {
        if event.window == Window::Shared && event.done != 0 {
            self.shared_access(event, log);
        } else if event.window == Window::Global {
            self.global.access(event, &self.clocks, &self.order, log);
        }
        if event.program.cluster.maps {
            self.cluster_access(event, log);
        }
        // `mbarrier_events` follows what operations on barrier objects order.
        let own = event.operation != OPERATION;
        if own
            && self.order.tracks()
            && (event.strong || event.program.ordering(event.pc).is_some())
        {
            self.synchronise(event);
        }
    }

    #[inline(always)]
    fn can_skip(&self, reads: &WordReads) -> bool {
        match reads.window {
            Window::Shared => !self.in_cluster && self.shadow.are_redundant(reads),
            // A buffer that nobody writes has no races.
            Window::Global => !reads.written,
            _ => true,
        }
    }

    #[inline(always)]
    fn can_note(&self, reads: &WordReads) -> bool {
        let warp = reads.warp as usize % WARPS;
        match reads.window {
            // What is left out here is what `access` does beside noting them.
            Window::Shared => {
                let WordReads { program, pc, .. } = *reads;
                !reads.strong
                    && !program.cluster.maps
                    && !self.in_cluster
                    && (!self.order.tracks() || program.ordering(pc).is_none())
                    && self.order.lanes_know_nothing(warp)
            }
            _ => self.can_skip(reads),
        }
    }

    fn note_reads(&mut self, reads: &WordReads) -> u32 {
        if reads.window != Window::Shared {
            return 0;
        }
        let warp = reads.warp as usize % WARPS;
        let epoch = epochs::Epoch {
            clock: self.clocks[warp][warp],
            pc: reads.pc,
            warp: warp as u8,
            strong: false,
            writes: false,
            valued: false,
        };
        let number = self.shadow.number(epoch);
        let mut left = reads.mask;
        if left == u32::MAX {
            for ((word, pattern), begin) in reads.words.halves().into_iter().zip([0, HALF]) {
                let access_id = ShortAccessId::new(number, begin);
                if !self.shadow.note_reads(word, pattern, warp, access_id) {
                    break;
                }
                left &= !(((1 << HALF) - 1) << begin);
            }
        }
        self.shadow.note_lanes(&reads.words.index, left, warp, number)
    }

    fn barrier(&mut self, warps: u32) {
        let members = || crate::lanes::lanes(warps);
        let mut joined = [0; WARPS];
        for warp in members() {
            for (all, &clock) in joined.iter_mut().zip(&self.clocks[warp]) {
                *all = clock.max(*all);
            }
        }
        // Equal clocks, so that what warps do is of as few kinds as can be.
        let latest = members().map(|warp| joined[warp]).max().unwrap_or(0);
        for warp in members() {
            self.clocks[warp] = joined;
            self.clocks[warp][warp] = latest.saturating_add(1);
        }
        self.order.barrier(warps, &self.clocks);
        for warp in members() {
            self.find_floor(warp);
        }
        self.shadow.note_partial_sync();
        self.shadow.settle(self.warps);
    }

    fn warp_barrier(&mut self, warp: u32, lanes: u32) {
        let warp = warp as usize % WARPS;
        self.tick(warp);
        self.order.warp_barrier(warp, lanes, &self.clocks);
        if lanes != u32::MAX {
            self.shadow.note_partial_sync();
        }
        self.find_floor(warp);
    }

    fn fence(&mut self, warp: u32, lanes: u32, fence: Ordering) {
        let warp = warp as usize % WARPS;
        self.order.fence(warp, lanes, fence, &mut self.clocks);
        self.shadow.note_partial_sync();
        self.tick(warp);
        self.find_floor(warp);
    }

    fn cluster_arrive(&mut self, warp: u32, lanes: u32, phase: (u64, u64)) {
        let warp = warp as usize % WARPS;
        let clock = self.order.clock_of(warp, lanes, &self.clocks);
        self.global.cluster_phases().arrive(phase, &clock);
        self.tick(warp);
        self.find_floor(warp);
    }

    fn cluster_wait(&mut self, warp: u32, whole: bool, phase: (u64, u64)) {
        if let Some(clock) = self.global.cluster_phases().get(phase) {
            let warp = warp as usize % WARPS;
            self.order.learn_from_cluster(warp, clock, &mut self.clocks);
            self.shadow.note_partial_sync();
            self.find_floor(warp);
        }
        if whole {
            self.warp_barrier(warp, u32::MAX);
        }
    }

    fn cluster_end(&mut self, cluster: u64) {
        self.global.cluster_memory().end(cluster);
    }

    fn mbarrier_events(
        &mut self,
        warp: u32,
        lanes: u32,
        owner: ObjectOwner,
        events: &[MbarrierEvent],
    ) {
        let warp = warp as usize % WARPS;
        let (mut released, mut converged) = (false, false);
        for &event in events {
            released |= matches!(event, MbarrierEvent::Arrive(_));
            if self.order.tracks() {
                let common = owner.cluster.map(|(number, rank)| Common {
                    all: &mut self.global.cluster_memory().order(number).objects,
                    base: u64::from(rank) << RANK_SHIFT,
                });
                self.order.object_event(warp, lanes, event, common, &mut self.clocks);
            }
            if !owner.elsewhere {
                let own = self.phases.step(event, warp, &mut self.clocks);
                converged |= own.is_some_and(|clock| clock >= self.order.converged_at(warp));
            }
        }
        if released || converged {
            // What follows is later than what was released.
            self.tick(warp);
        }
        if converged {
            self.order.converge(warp, &self.clocks);
        }
        self.shadow.note_partial_sync();
        self.find_floor(warp);
    }

    fn exchange(&mut self, common: &mut Self) {
        std::mem::swap(&mut self.global, &mut common.global);
        self.global.blocks = BlockExecution::Interleaved;
        common.global.blocks = BlockExecution::Interleaved;
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
    }

    /// Compares an access of shared memory with those of other blocks of the cluster.
    #[cold]
    fn cluster_access(&mut self, event: &Event, log: &mut Log) {
        self.in_cluster |= event.cluster.is_some();
        let op = event.program.instruction(event.pc).map(|instr| &instr.op);
        let own = matches!(
            op,
            Some(
                Op::Load(..)
                    | Op::Store(..)
                    | Op::Atom(_)
                    | Op::WideAtom(_)
                    | Op::PoisonPropagatingLoad(_)
                    | Op::PoisonPropagatingStore(_)
            )
        );
        if let Some(of) = event.cluster.filter(|_| own) {
            self.compare_in_cluster(event, of, log);
        }
    }

    /// Compares an access of the shared memory of a block of a cluster, which `of` names, with those of other blocks.
    fn compare_in_cluster(&mut self, event: &Event, of: (u64, u32), log: &mut Log) {
        let warp = event.warp as usize % WARPS;
        let epoch = Epoch {
            block: self.global.block(),
            clock: self.clocks[warp][warp],
            pc: event.pc,
            warp: warp as u8,
            strong: event.strong,
        };
        for lane in crate::lanes::lanes(event.representative_lanes) {
            let access = global_epochs::Access { epoch, thread: event.warp * 32 + lane as u32 };
            let (start, size) = (event.addresses[lane] as u32, event.size);
            let mut race = None;
            for word in start / 4..(start + size).div_ceil(4) {
                let bytes =
                    (0..4).filter(|byte| (start..start + size).contains(&(word * 4 + byte)));
                let bytes = bytes.fold(0, |all, byte| all | 1 << byte);
                let whole = bytes == 0b1111 && event.kind == AccessKind::Write;
                let part = (word * 4).wrapping_sub(start) / 4;
                let new = ClusterAccess {
                    access,
                    kind: event.kind,
                    bytes,
                    elsewhere: event.window == Window::Cluster,
                    value: whole.then(|| event.stored_unit(lane, part, 4)).flatten(),
                };
                let prior =
                    PriorOrder { clocks: &self.clocks, order: &self.order, program: event.program };
                let happened_before =
                    |old: &global_epochs::Access| !prior.is_unordered(&access, old);
                let memory = self.global.cluster_memory();
                race = race.or(memory.access(of, word, new, happened_before));
            }
            let Some((kind, other)) = race else { continue };
            let elsewhere = other.epoch.block != epoch.block;
            let finding = SharedRace {
                kind,
                size,
                offset: i64::from(start),
                array: None,
                other: event.program.source_location(other.epoch.pc).cloned(),
                other_thread: Some(event.thread_coordinates(other.thread)),
                other_block: self.global.coordinates(other.epoch.block).filter(|_| elsewhere),
                same_warp: !elsewhere && other.epoch.warp == epoch.warp,
                volatile: event.program.is_volatile([event.pc, other.epoch.pc]),
            };
            log.record(finding, event.pc, access.thread, 1);
        }
    }

    /// Sees what an access orders.
    fn synchronise(&mut self, event: &Event) {
        let warp = event.warp as usize % WARPS;
        let words = common_words(&mut self.global, event);
        let (released, learnt) = self.order.access(event, words, &mut self.clocks);
        if released {
            // What follows is later than what was released.
            self.tick(warp);
        }
        if learnt {
            self.find_floor(warp);
        }
        if released || learnt {
            self.shadow.note_partial_sync();
        }
    }

    /// Finds what lies before a warp, of which it or its lanes know more now.
    fn find_floor(&mut self, warp: usize) {
        self.shadow.raise_floor(
            warp,
            &self.clocks[warp],
            self.order.converged_at(warp),
            self.warps,
        );
    }

    fn shared_access(&mut self, event: &Event, log: &mut Log) {
        let warp = event.warp as usize % WARPS;
        let new = epochs::Epoch {
            clock: self.clocks[warp][warp],
            pc: event.pc,
            warp: warp as u8,
            strong: event.strong,
            writes: event.kind != AccessKind::Read,
            valued: event.stored.is_some() && event.size >= 4,
        };
        // Cells of bytes do not refer to epochs.
        let number = (event.size >= 4).then(|| self.shadow.number(new));
        let access_id =
            |lane| number.map_or(ShortAccessId::NONE, |number| ShortAccessId::new(number, lane));
        let mut current = CurrentAccess {
            access_id: access_id(0),
            access: Access { epoch: new, thread: 0 },
            clocks: &self.clocks,
            converged_at: self.order.converged_at(warp),
            own: self.order.own(warp),
            lanes: self.order.lane_clocks(warp),
            kind: event.kind,
            value: None,
            unchanged: false,
            program: Some(event.program),
        };
        let stored = event.stored_word();
        let has_words = event.stored.is_none() || stored.is_some();
        let (mut last, mut repeated) = (u64::MAX, 0);
        let mut left = event.representative_lanes;
        for (addresses, begin) in event.addresses.as_chunks::<HALF>().0.iter().zip([0, HALF]) {
            let lanes = ((1 << HALF) - 1) << begin;
            let whole = event.size == 4 && !event.strong && has_words && left & lanes == lanes;
            current.access_id = access_id(begin);
            let values = stored.map(|values| &values[begin..begin + HALF]);
            // Rows after lanes that are checked one by one must wait for them.
            if !whole
                || !self.order.lanes_know_nothing(warp)
                || !are_in_turn(addresses)
                || !self.shadow.check_row(addresses[0] as usize / 4, &current, values)
            {
                break;
            }
            left &= !lanes;
        }
        for lane in crate::lanes::lanes(left) {
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
            current.access_id = access_id(lane);
            current.access.thread = thread;
            current.value = stored.map(|values| values[lane]);
            if event.size == 4
                && has_words
                && self.shadow.check_fast_path(address as usize / 4, &current)
            {
                continue;
            }
            current.unchanged = event.unchanged >> lane & 1 == 1;
            let size = event.size.min(4);
            let mut found = None;
            for (part, index) in (0..event.size).step_by(4).zip(0..) {
                let at = address as u32 + part;
                if size == 4 {
                    current.value = event.stored_unit(lane, index, size);
                    if self.shadow.check_fast_path((at / 4) as usize, &current) {
                        continue;
                    }
                }
                found = found.or(self.shadow.check(at, size, &current));
            }
            if let Some((Race { kind, other, same_warp }, at)) = found {
                // The last lane that leaves a pipeline ends its barriers with no more than a vote of its warp before.
                let of_object = event.operation == OPERATION && event.kind == AccessKind::Write;
                if same_warp && of_object {
                    continue;
                }
                // Two sums over tiles of several warps use one word of each warp with nothing but a shuffle in between. That is
                // CUDA's own way, whatever one thinks of it.
                let other_pc = other.map_or(event.pc, |other| other.epoch.pc);
                let in_groups = |pc| byte_cells::in_groups(event.program, pc);
                if same_warp && in_groups(event.pc) && in_groups(other_pc) {
                    continue;
                }
                let in_step = kind == RaceKind::WriteAfterRead && same_warp;
                if in_step && event.program.in_step(event.pc, other_pc) {
                    continue;
                }
                if event.program.lose_update(event.pc, other_pc) {
                    let words = common_words(&mut self.global, event);
                    if self.order.follows_shared_reader(event.warp, address, event.size, words) {
                        continue;
                    }
                }
                let place = |other: Access| event.program.source_location(other.epoch.pc).cloned();
                let finding = SharedRace {
                    kind,
                    size: event.size,
                    offset: at.into(),
                    array: None,
                    other: other.and_then(place),
                    other_thread: other.map(|other| event.thread_coordinates(other.thread)),
                    other_block: None,
                    same_warp,
                    volatile: event.program.is_volatile([event.pc, other_pc]),
                };
                log.record(finding, event.pc, thread, 1);
            }
        }
    }
}

/// The words of the memory that an access goes to, by which threads of several blocks order each other; None for memory of one block.
fn common_words<'g>(
    global: &'g mut GlobalRaces,
    event: &Event,
) -> Option<Common<'g, SyncVariables>> {
    match event.cluster {
        Some((number, rank)) if event.program.cluster.maps => Some(Common {
            all: &mut global.cluster_memory().order(number).variables,
            base: u64::from(rank) << RANK_SHIFT,
        }),
        _ => (event.window == Window::Global)
            .then(|| Common { all: global.sync_variables(), base: 0 }),
    }
}
