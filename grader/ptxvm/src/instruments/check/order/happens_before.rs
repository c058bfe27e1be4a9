//! The happens-before order of threads that synchronise by fences, releases and acquires, and not only by barriers (PTX ISA
//! 8.8 and 8.9).
//!
//! What a thread did before a fence happens before what another does after it has read, by a strong access, a strong write
//! that followed the fence. The same holds for what a thread did before a release of that word. Fences and accesses of block
//! scope order the threads of their block only. Barriers pass all this on: after a fence before `__syncthreads()`, a write
//! behind the barrier releases, whichever thread writes.
//!
//! Two things are accepted although the memory model forbids them, because NVIDIA's own code relies on them and GPUs behave
//! as it expects. A read by `volatile` or `atomicAdd` needs no fence: `threadFenceReduction` has none between the count and
//! the sums of the others. (Reads that are explicitly relaxed need one, or a later acquire.) And a block passes on what it
//! learnt from another block's fence without one of its own, as block 0 does in `cub/grid/grid_barrier.cuh`.

use crate::finding::AccessKind;
use crate::instruments::check::clocks::{Clocks, WARPS};
use crate::instruments::check::epochs::{self, Access};
use crate::instruments::check::order::lane_clocks::LaneClocks;
use crate::instruments::check::order::object_phases::{Knowledge, ObjectPhases};
use crate::instruments::check::order::sync_variables::{
    SyncAccess, SyncVariable, SyncVariables, cells,
};
use crate::instruments::check::order::vector_clock::{
    CountedNodes, JoinCache, VectorClock, WarpClock,
};
use crate::isa::ir::Op;
use crate::isa::ordering::Ordering;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::monitor::{Event, MbarrierEvent};
use crate::memory::grid_workspace;

/// Bytes that the synchronisation variables of global memory may take, beside half of the size of the buffers.
const WORDS: usize = 1 << 20;
/// Bytes that the synchronisation variables of a block's, or a cluster's, shared memory may take.
const SHARED_WORDS: usize = 1 << 16;

/// The clocks of lanes at their last fence, each with a mask of lanes.
#[derive(Debug, Default)]
struct FenceClocks(Vec<(u32, VectorClock)>);

impl FenceClocks {
    fn set(&mut self, lanes: u32, clock: VectorClock) {
        self.0.retain_mut(|(of, _)| {
            *of &= !lanes;
            *of != 0
        });
        self.0.push((lanes, clock));
    }

    fn get(&self, lane: usize) -> Option<&VectorClock> {
        self.0.iter().find(|(of, _)| of >> lane & 1 == 1).map(|(_, clock)| clock)
    }

    fn bytes(&self, counted: &mut CountedNodes) -> usize {
        let known: usize = self.0.iter().map(|(_, clock)| clock.bytes(counted)).sum();
        self.0.capacity() * size_of::<(u32, VectorClock)>() + known
    }

    /// The join of all lanes' clocks.
    fn all(&self) -> VectorClock {
        let mut all = VectorClock::default();
        for (_, clock) in &self.0 {
            all.join(clock);
        }
        all
    }

    /// Adds what another thread has fenced already: all lanes may pass it on.
    fn learn(&mut self, clock: &VectorClock) {
        let mut others = u32::MAX;
        for (lanes, own) in &mut self.0 {
            own.join(clock);
            others &= !*lanes;
        }
        if others != 0 {
            self.0.push((others, clock.clone()));
        }
    }

    /// The lanes have converged: all take the join of their clocks.
    fn converge(&mut self) {
        if self.0.len() > 1 {
            self.set(u32::MAX, self.all());
        } else if let Some((lanes, _)) = self.0.first_mut() {
            *lanes = u32::MAX;
        }
    }
}

/// What orders a warp of the running block after others.
#[derive(Debug, Default)]
struct WarpOrder {
    /// What it knows of other warps, those of its own block included.
    clock: VectorClock,
    /// The clocks of its last fences: of device scope, and of any scope.
    device_scope: FenceClocks,
    block_scope: FenceClocks,
    /// What it will know after the next fence, from relaxed reads: of all blocks, and of its own.
    relaxed: [VectorClock; 2],
    /// The last word that it polled, its version, and whether the read was an acquire.
    polled: Option<(u64, u32, bool)>,
}

impl WarpOrder {
    /// Reads a synchronisation variable. True if the warp has learnt something.
    fn read(&mut self, word: &SyncVariable, here: SyncAccess, acquires: bool) -> bool {
        let known = word.read(here);
        if acquires {
            return self.learn(known);
        }
        for (later, clock) in self.relaxed.iter_mut().zip(known) {
            later.join(clock.unwrap_or(&VectorClock::default()));
        }
        false
    }

    /// Acquires what was released to all blocks, and to its own. True if the warp has learnt something.
    fn learn(&mut self, [device_scope, block_scope]: [Option<&VectorClock>; 2]) -> bool {
        if let Some(device_scope) = device_scope {
            self.device_scope.learn(device_scope);
        }
        let mut news = false;
        for known in block_scope.into_iter().chain(device_scope) {
            self.block_scope.learn(known);
            news |= self.clock.join(known);
        }
        news
    }

    /// Acquires what others released with an arrival. What they had fenced counts as fenced.
    fn acquire(&mut self, known: &Knowledge) {
        self.clock.join(&known.clock);
        for (fenced, all) in [
            (&mut self.device_scope, &known.device_scope),
            (&mut self.block_scope, &known.block_scope),
        ] {
            if !all.is_empty() {
                fenced.learn(all);
            }
        }
    }

    /// Executes a fence, after which earlier relaxed reads acquire. True if the warp has learnt something.
    fn settle(&mut self, device_scope: bool) -> bool {
        let [of_all, of_block] = std::mem::take(&mut self.relaxed);
        let news = self.learn([Some(&of_all).filter(|_| device_scope), Some(&of_block)]);
        if !device_scope {
            self.relaxed[0] = of_all;
        }
        news
    }
}

/// The happens-before order between the warps of one block and everything else.
#[derive(Debug)]
pub(crate) struct HappensBefore {
    /// Whether the program has fences, releases or acquires.
    tracks: bool,
    levels: u32,
    block: u32,
    warps: Vec<WarpOrder>,
    /// The clock of each warp when its lanes last converged: what it did before happened before all of them.
    converged_at: [u32; WARPS],
    /// What the lanes of each warp have released to each other since then.
    own: [WarpClock; WARPS],
    /// What the lanes of a warp know of each other, if parts of it have synchronised since then.
    lanes: [Option<Box<LaneClocks>>; WARPS],
    shared: SyncVariables,
    /// The barrier objects of the block, where it is in no cluster.
    objects: ObjectPhases,
}

/// What orders threads of several blocks: words of global memory, or the words or barrier objects of a cluster's shared memory.
pub(crate) struct Common<'s, T> {
    pub all: &'s mut T,
    /// What is added to an address to find it there.
    pub base: u64,
}

impl HappensBefore {
    pub(crate) fn new(tracks: bool, blocks: u32) -> Self {
        let levels = super::vector_clock::levels(blocks);
        Self {
            tracks,
            levels,
            block: 0,
            warps: Vec::new(),
            converged_at: [0; WARPS],
            own: [WarpClock::default(); WARPS],
            lanes: [const { None }; WARPS],
            shared: SyncVariables::default(),
            objects: ObjectPhases::default(),
        }
    }

    /// Memory that the clocks and synchronisation variables take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let mut counted = CountedNodes::default();
        let warps = self.warps.iter().map(|warp| {
            let WarpOrder {
                clock,
                device_scope,
                block_scope,
                relaxed: [of_all, of_block],
                polled: _,
            } = warp;
            let known = [clock, of_all, of_block].map(|clock| clock.bytes(&mut counted));
            let fenced = [device_scope, block_scope].map(|fenced| fenced.bytes(&mut counted));
            size_of::<WarpOrder>() + known.iter().chain(&fenced).sum::<usize>()
        });
        let warps: usize = warps.sum();
        let lanes = self.lanes.iter().flatten().count() * size_of::<LaneClocks>();
        warps + lanes + self.shared.bytes(&mut counted) + self.objects.bytes(&mut counted)
    }

    /// Whether the program synchronises otherwise than by barriers.
    #[inline(always)]
    pub(crate) fn tracks(&self) -> bool {
        self.tracks
    }

    /// The clock of a warp when its lanes last converged.
    #[inline(always)]
    pub(crate) fn converged_at(&self, warp: usize) -> u32 {
        self.converged_at[warp % WARPS]
    }

    /// What lanes of a warp have released to others of it: a lock that passes from lane to lane, for example.
    #[inline(always)]
    pub(crate) fn own(&self, warp: usize) -> WarpClock {
        self.own[warp % WARPS]
    }

    /// What the lanes of a warp know of each other beside that, if parts of it have synchronised.
    #[inline(always)]
    pub(crate) fn lane_clocks(&self, warp: usize) -> Option<&LaneClocks> {
        self.lanes[warp % WARPS].as_deref()
    }

    /// Whether no lane of a warp has released anything to another since they last converged.
    #[inline(always)]
    pub(crate) fn lanes_know_nothing(&self, warp: usize) -> bool {
        self.own(warp) == WarpClock::default() && self.lane_clocks(warp).is_none()
    }

    /// Prepares for a block, whose warps have these clocks.
    pub(crate) fn begin(&mut self, block: u32, warps: usize, clocks: &Clocks) {
        self.lanes = [const { None }; WARPS];
        self.converged_at = std::array::from_fn(|warp| clocks[warp][warp]);
        if !self.tracks {
            return;
        }
        self.block = block;
        self.own = [WarpClock::default(); WARPS];
        self.shared.clear();
        self.objects.clear();
        self.warps.clear();
        self.warps.resize_with(warps.min(WARPS), WarpOrder::default);
    }

    /// A warp has seen the end of a phase of the cluster's barrier, and learns what was released with it.
    pub(crate) fn learn_from_cluster(
        &mut self,
        warp: usize,
        clock: &VectorClock,
        clocks: &mut Clocks,
    ) {
        if let Some(state) = self.warps.get_mut(warp) {
            state.learn([Some(clock), None]);
            self.learn_own(warp, clocks);
        }
    }

    /// The vector clock of the lanes of a mask: what they have done so far, and all that they know.
    pub(crate) fn clock_of(&self, warp: usize, lanes: u32, clocks: &Clocks) -> VectorClock {
        let seen = |other: usize| {
            let clock = clocks[warp][other];
            if other == warp {
                let converged_at = self.converged_at[warp];
                let known = self.lane_clocks(warp);
                let known = known.map_or(0, |known| known.known_at(lanes, converged_at));
                WarpClock { all: converged_at - 1, lanes: lanes | known, upto: clock }
            } else {
                WarpClock { all: clock, ..WarpClock::default() }
            }
        };
        let own = (0..self.warps.len()).map(seen).collect();
        let mut clock = VectorClock::of(self.block, own, self.levels);
        clock.join(&self.warps[warp].clock);
        clock
    }

    /// Executes a fence. The caller advances the clock of the warp.
    pub(crate) fn fence(&mut self, warp: usize, lanes: u32, fence: Ordering, clocks: &mut Clocks) {
        if warp >= self.warps.len() {
            return;
        }
        if fence.acquires && self.warps[warp].settle(fence.device_scope) {
            self.learn_own(warp, clocks);
        }
        if fence.releases {
            let clock = self.clock_of(warp, lanes, clocks);
            if fence.device_scope {
                self.warps[warp].device_scope.set(lanes, clock.clone());
            }
            self.warps[warp].block_scope.set(lanes, clock);
        }
    }

    /// Follows a strong access, or one with a memory order of its own. `common`: the words of that memory, unless they are the block's
    /// own. Returns whether its warp has released something, so that its clock must advance, and whether it has learnt something of its
    /// own block.
    pub(crate) fn access(
        &mut self,
        event: &Event,
        mut common: Option<Common<SyncVariables>>,
        clocks: &mut Clocks,
    ) -> (bool, bool) {
        let warp = event.warp as usize;
        if warp >= self.warps.len() || common.is_none() && event.window != Window::Shared {
            return (false, false);
        }
        let base = common.as_ref().map_or(0, |common| common.base);
        let own = event.program.ordering(event.pc);
        let usual = Ordering { acquires: true, releases: false, device_scope: true };
        let ordering = own.unwrap_or(usual);
        let here = SyncAccess {
            block: self.block,
            warp: warp as u8,
            device_scope: ordering.device_scope && common.is_some(),
        };
        let released = ordering.releases.then(|| self.clock_of(warp, event.done, clocks));
        let update = event.kind == AccessKind::Atomic;
        // `red` returns nothing, so it does not acquire.
        let instr = event.program.code.get(event.pc as usize).map(|instr| &instr.op);
        let blind =
            matches!(instr, Some(Op::Atom(atom)) if atom.dst == crate::isa::names::Slot::Sink);
        let reads = event.kind == AccessKind::Read || update && !blind;
        let is_global = event.window == Window::Global;
        let grid = if is_global { grid_workspace::barrier_address(event.memory) } else { None };
        let (mut news, mut union) = (false, JoinCache::default());
        let mut last = None;
        for lane in lanes(event.done) {
            let address = base + event.addresses[lane];
            if event.kind == AccessKind::Read && last == Some(address) || grid == Some(address) {
                continue;
            }
            last = Some(address);
            let words = common.as_mut().map_or(&mut self.shared, |common| &mut *common.all);
            for (number, own_size) in cells(address, event.size, words.has_bytes()) {
                let state = &mut self.warps[warp];
                if reads && !update {
                    let word = if event.strong && own_size {
                        words.strongly_read(number)
                    } else {
                        words.get_mut(number)
                    };
                    let Some(word) = word else { continue };
                    if event.program.marks(event.pc).half_update {
                        // What it has read may be overwritten before it stores.
                        news |= state.read(word, here, ordering.acquires);
                        continue;
                    }
                    let seen = Some((number, word.version(), ordering.acquires));
                    if state.polled == seen {
                        continue;
                    }
                    state.polled = seen;
                    let epoch = epochs::Epoch {
                        block: self.block,
                        clock: clocks[warp][warp],
                        pc: event.pc,
                        warp: here.warp,
                        strong: true,
                    };
                    word.note_reader(Access {
                        epoch,
                        thread: u32::from(here.warp) * 32 + lane as u32,
                    });
                    news |= state.read(word, here, ordering.acquires);
                    continue;
                }
                if reads && let Some(word) = words.get(number) {
                    news |= state.read(word, here, ordering.acquires);
                }
                let (device_scope, block_scope) = match &released {
                    Some(all) => (ordering.device_scope.then_some(all), Some(all)),
                    None => (state.device_scope.get(lane), state.block_scope.get(lane)),
                };
                if event.strong && own_size {
                    words.note_strong(number);
                }
                if own_size && (device_scope.is_some() || block_scope.is_some()) {
                    words.entry(number).write(
                        here,
                        update,
                        [device_scope, block_scope],
                        &mut union,
                    );
                } else if !own_size && event.size < 4 {
                    // What others wrote to the rest of the word stays.
                } else if let Some(word) = words.get_mut(number) {
                    word.write(here, update, [None; 2], &mut union);
                }
            }
        }
        if ordering.acquires && own.is_some() && event.strong {
            news |= self.warps[warp].settle(ordering.device_scope);
        }
        if news {
            self.learn_own(warp, clocks);
        }
        let words = common.map_or(&mut self.shared, |common| common.all);
        if words.are_many() {
            let buffers = || event.memory.written_sizes().flatten().sum::<usize>();
            words.keep_within(if is_global { WORDS + buffers() / 2 } else { SHARED_WORDS });
        }
        (released.is_some() && event.done != 0, news)
    }

    /// Copies what a warp knows of its own block into the clocks.
    fn learn_own(&mut self, warp: usize, clocks: &mut Clocks) {
        let seen = self.warps[warp].clock.block(self.block);
        for (other, seen) in seen.iter().enumerate() {
            if other == warp {
                self.own[warp] = *seen;
            } else {
                let clock = &mut clocks[warp][other];
                *clock = seen.all.max(seen.upto).max(*clock);
            }
        }
    }

    /// Lanes of a warp have done this to a barrier object. `common`: the objects of its cluster, if it is in one.
    pub(crate) fn object_event(
        &mut self,
        warp: usize,
        lanes: u32,
        event: MbarrierEvent,
        common: Option<Common<ObjectPhases>>,
        clocks: &mut Clocks,
    ) {
        if warp >= self.warps.len() {
            return;
        }
        let base = common.as_ref().map_or(0, |common| common.base);
        let arriving = matches!(event, MbarrierEvent::Arrive(_)).then(|| Knowledge {
            clock: self.clock_of(warp, lanes, clocks),
            device_scope: self.warps[warp].device_scope.all(),
            block_scope: self.warps[warp].block_scope.all(),
        });
        let objects = common.map_or(&mut self.objects, |common| common.all);
        match event {
            MbarrierEvent::Arrive(at) => {
                if let Some(knowledge) = arriving {
                    objects.arrive(base + at, &knowledge);
                }
            }
            MbarrierEvent::Complete(at) => objects.complete(base + at),
            MbarrierEvent::Forget(at) => objects.forget(base + at),
            MbarrierEvent::Acquire(at) => {
                if let Some(known) = objects.released(base + at) {
                    self.warps[warp].acquire(known);
                    self.learn_own(warp, clocks);
                }
            }
        }
    }

    /// The lanes of a warp have converged, because they are among those that have arrived at a barrier object whose phase is over.
    pub(crate) fn converge(&mut self, warp: usize, clocks: &Clocks) {
        self.converged_at[warp] = clocks[warp][warp];
        self.lanes[warp % WARPS] = None;
    }

    /// Warps have passed a barrier, and their clocks have advanced.
    pub(crate) fn barrier(&mut self, members: u32, clocks: &Clocks) {
        for warp in lanes(members) {
            self.converge(warp, clocks);
        }
        if !self.tracks {
            return;
        }
        let [mut clock, mut device_scope, mut block_scope] =
            [(); 3].map(|()| VectorClock::default());
        let mut relaxed = [VectorClock::default(), VectorClock::default()];
        let members = || lanes(members).filter(|&warp| warp < self.warps.len());
        for warp in members() {
            let warp = &self.warps[warp];
            clock.join(&warp.clock);
            device_scope.join(&warp.device_scope.all());
            block_scope.join(&warp.block_scope.all());
            for (all, own) in relaxed.iter_mut().zip(&warp.relaxed) {
                all.join(own);
            }
        }
        let all: Vec<usize> = members().collect();
        for index in all {
            let warp = &mut self.warps[index];
            warp.clock = clock.clone();
            warp.relaxed.clone_from(&relaxed);
            for (fenced, all) in
                [(&mut warp.device_scope, &device_scope), (&mut warp.block_scope, &block_scope)]
            {
                fenced.0.clear();
                if !all.is_empty() {
                    fenced.set(u32::MAX, all.clone());
                }
            }
        }
    }

    /// Lanes of a warp have synchronised, and its clock has advanced. What they have fenced counts as fenced by all.
    pub(crate) fn warp_barrier(&mut self, warp: usize, lanes: u32, clocks: &Clocks) {
        if lanes == u32::MAX {
            self.converge(warp, clocks);
        } else {
            let known = self.lanes[warp % WARPS].get_or_insert_default();
            known.synchronise(lanes, clocks[warp][warp] - 1);
        }
        if let Some(state) = self.warps.get_mut(warp) {
            state.device_scope.converge();
            state.block_scope.converge();
        }
    }

    /// Whether what a thread of another block did happened before what this warp does now.
    #[inline(always)]
    pub(crate) fn happened_before(&self, warp: u8, old: &Access) -> bool {
        let Some(warp) = self.warps.get(usize::from(warp)) else { return false };
        if warp.clock.is_empty() {
            return false;
        }
        warp.clock.warp(old.epoch.block, old.epoch.warp).covers(old.epoch.clock, old.thread % 32)
    }

    /// The same for what all lanes of a warp did.
    pub(crate) fn lanes_happened_before(&self, warp: u8, old: epochs::Epoch) -> bool {
        let Some(warp) = self.warps.get(usize::from(warp)) else { return false };
        let seen = warp.clock.warp(old.block, old.warp);
        (0..32).all(|lane| seen.covers(old.clock, lane))
    }

    /// Like [`Self::follows_reader`], for a place in shared memory.
    pub(crate) fn follows_shared_reader(
        &self,
        warp: u32,
        address: u64,
        size: u32,
        common: Option<Common<SyncVariables>>,
    ) -> bool {
        let (words, base) = common.map_or((&self.shared, 0), |common| (&*common.all, common.base));
        let mut cells = cells(base + address, size, words.has_bytes());
        cells.any(|(cell, _)| {
            let word = words.get(cell);
            word.is_some_and(|word| self.follows_reader(warp as u8, word))
        })
    }

    /// Whether a warp, or one that it knows of, has read what was written to a word last. That write lies in its past, even
    /// without a fence.
    pub(crate) fn follows_reader(&self, warp: u8, word: &SyncVariable) -> bool {
        word.is_many()
            || word.readers().iter().any(|reader| {
                let same_block = reader.epoch.block == self.block;
                same_block || self.happened_before(warp, reader)
            })
    }
}
