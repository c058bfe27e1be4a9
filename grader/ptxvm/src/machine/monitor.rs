//! The interface through which checks and counters observe a run.
//!
//! The executor calls a [`Monitor`] and never depends on what it does. The methods are empty by default, and the executor is
//! generic over the monitor, so that what is not observed costs nothing.

use crate::finding::{AccessKind, Log};
use crate::isa::ir::Instr;
use crate::isa::names::{Elements, Pc, Slot};
use crate::isa::ordering::Ordering;
use crate::isa::window::Window;
use crate::lanes::LaneIndices;
use crate::lanes::coordinates;
use crate::machine::registers::Registers;
use crate::memory::Memory;
use crate::memory::flat::Flat;
use crate::memory::local::Local;
use crate::program::code::Program;

/// One memory instruction of one warp.
pub(crate) struct Event<'a> {
    pub pc: Pc,
    pub kind: AccessKind,
    pub window: Window,
    /// Bytes that each lane accesses.
    pub size: u32,
    /// Lanes that execute the instruction.
    pub mask: u32,
    /// Lanes whose access was valid, and has happened.
    pub done: u32,
    /// Those of them that represent all for a check of races: of many lanes that read one word, two are enough.
    pub representative_lanes: u32,
    /// Addresses inside the window.
    pub addresses: &'a [u64; 32],
    pub block: [u32; 3],
    /// Index of the warp in its block.
    pub warp: u32,
    pub memory: &'a Memory,
    pub program: &'a Program,
    pub block_size: [u32; 3],
    /// A strong operation in the sense of the memory model: atomic, volatile, or relaxed and stronger.
    pub strong: bool,
    /// All lanes are known to hit the buffer that the first one does.
    pub one_buffer: bool,
    /// A number for the kind of atomic operation; atomics of the same kind commute.
    pub operation: u32,
    /// Whether this is the completion of an asynchronous copy, whose beginning was an event too.
    pub ends_copy: bool,
    /// The registers of the warp, and which of them are stored, if that is what happens.
    pub registers: &'a Registers,
    pub stored: Option<Elements>,
    /// Lanes that stored less than a word, and the same value that lay there already.
    pub unchanged: u32,
    /// Of shared memory in a cluster: its number, and the rank of the block whose memory it is.
    pub cluster: Option<(u64, u32)>,
}

impl Event<'_> {
    /// Coordinates of a thread of the block.
    pub fn thread_coordinates(&self, index: u32) -> [u32; 3] {
        coordinates(index, self.block_size)
    }

    /// The register that is stored, if single words are.
    pub fn stored_word(&self) -> Option<&[u32; 32]> {
        match self.stored {
            Some(Elements { slots: [Slot::Reg32(register), ..], count: 1, element })
                if element.bytes == 4 =>
            {
                Some(self.registers.r(register))
            }
            _ => None,
        }
    }

    /// Some bytes, at most four, of what a lane stores: `unit` bytes from the `index`-th unit on.
    pub fn stored_unit(&self, lane: usize, index: u32, unit: u32) -> Option<u32> {
        let Elements { slots, count, element } = self.stored?;
        if unit <= element.bytes {
            let at = index * unit;
            let slot =
                *slots[..count.into()].get((at >> element.bytes.trailing_zeros()) as usize)?;
            let value = self.registers.lane(slot, lane) >> (at % element.bytes * 8);
            return Some(value as u32 & (u32::MAX >> (32 - unit * 8)));
        }
        let byte = |at: u32| {
            let slot = *slots[..count.into()].get((at / element.bytes) as usize)?;
            let value = self.registers.lane(slot, lane);
            Some((value >> (at % element.bytes * 8)) as u32 & 0xFF)
        };
        let mut bytes = (index * unit..(index + 1) * unit).rev();
        bytes.try_fold(0, |all, at| Some(all << 8 | byte(at)?))
    }
}

/// A load of aligned words, all of one buffer or of shared memory, and all defined.
pub(crate) struct WordReads<'a> {
    pub pc: Pc,
    pub program: &'a Program,
    pub window: Window,
    pub words: &'a LaneIndices,
    pub mask: u32,
    /// Index of the warp in its block.
    pub warp: u32,
    /// Whether the running launch may write the buffer.
    pub written: bool,
    /// See [`Event::strong`].
    pub strong: bool,
}

/// An instruction that a warp is about to execute.
pub(crate) struct Step<'a> {
    pub pc: Pc,
    pub instr: &'a Instr,
    /// Lanes that execute it; of a branch, those whose guard holds.
    pub mask: u32,
    /// Lanes that have reached it together.
    pub split: u32,
    /// Index of the warp in its block.
    pub warp: u32,
    pub registers: &'a Registers,
    /// For each lane the lanes that join it in a warp operation; see [`crate::machine::warp::Warp::members`].
    pub members: &'a [u32; 32],
    pub memory: &'a Memory,
    pub shared: &'a Flat,
    pub local: &'a Local,
}

/// What a warp does to the barrier object (`mbarrier`) at an address of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierEvent {
    /// Lanes arrive, which releases what they did before.
    Arrive(u64),
    /// The arrival completes the phase with this number.
    Complete(u64),
    /// Lanes have seen that a phase is complete, which acquires what was released.
    Acquire(u64),
    /// The object is initialised or invalidated.
    Forget(u64),
}

/// Barrier objects that a warp operates on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectOwner {
    /// In a launch with clusters: the number of the cluster, and the rank of the block that has the objects.
    pub cluster: Option<(u64, u32)>,
    /// Whether that is another block than the warp's own.
    pub elsewhere: bool,
}

/// Observes the execution of a block: each method is an event, and by default does nothing.
pub(crate) trait Monitor {
    /// Whether a monitor of this type may want to see every instruction before it runs.
    const STEPS: bool = false;
    /// Whether this one does: then arithmetic runs one instruction at a time.
    fn steps(&self) -> bool {
        Self::STEPS
    }
    /// An instruction is about to run. Called only if `steps` holds.
    #[inline(always)]
    fn before(&mut self, _step: &Step) {}
    /// A new block begins.
    fn block_start(&mut self, _shared_bytes: u32, _warps: u32) {}
    /// A warp accesses memory.
    #[inline(always)]
    fn access(&mut self, _event: &Event, _log: &mut Log) {}
    /// Whether `access` would do nothing with these reads; the executor then leaves it out.
    #[inline(always)]
    fn can_skip(&self, _reads: &WordReads) -> bool {
        false
    }
    /// Whether `note_reads` may take the place of `access` for these reads.
    #[inline(always)]
    fn can_note(&self, reads: &WordReads) -> bool {
        self.can_skip(reads)
    }
    /// Notes reads that race with nothing. `access` must see the lanes of the mask that is returned, if there are any. Called only if
    /// `can_note` holds.
    #[inline(always)]
    fn note_reads(&mut self, _reads: &WordReads) -> u32 {
        0
    }
    /// The warps of a mask have passed a barrier.
    fn barrier(&mut self, _warps: u32) {}
    /// Lanes of a warp have synchronised (`__syncwarp`): those of a mask, or all that have not ended (`u32::MAX`).
    fn warp_barrier(&mut self, _warp: u32, _lanes: u32) {}
    /// Lanes of a warp have done this to barrier objects, in this order.
    fn mbarrier_events(
        &mut self,
        _warp: u32,
        _lanes: u32,
        _owner: ObjectOwner,
        _events: &[MbarrierEvent],
    ) {
    }
    /// Lanes of a warp arrive at the barrier of their cluster, whose number and phase these are, and release what they did.
    fn cluster_arrive(&mut self, _warp: u32, _lanes: u32, _phase: (u64, u64)) {}
    /// Lanes of a warp, or all of it, have seen that a phase is over.
    fn cluster_wait(&mut self, _warp: u32, _whole: bool, _phase: (u64, u64)) {}
    /// All blocks of a cluster have exited.
    fn cluster_end(&mut self, _cluster: u64) {}
    /// Lanes of a warp execute a fence.
    fn fence(&mut self, _warp: u32, _lanes: u32, _fence: Ordering) {}
    /// Called where blocks are interleaved, each with a monitor of its own: swaps with `common` what belongs to the launch and
    /// not to the block.
    fn exchange(&mut self, _common: &mut Self) {}
    /// The next events belong to this block.
    fn resume(&mut self, _block: u64) {}
}

/// The monitor that observes nothing.
impl Monitor for () {
    #[inline(always)]
    fn can_skip(&self, _reads: &WordReads) -> bool {
        true
    }
}

/// `None` observes nothing.
impl<M: Monitor> Monitor for Option<M> {
    const STEPS: bool = M::STEPS;

    fn steps(&self) -> bool {
        self.as_ref().is_some_and(M::steps)
    }

    #[inline(always)]
    fn before(&mut self, step: &Step) {
        if let Some(monitor) = self {
            monitor.before(step);
        }
    }

    fn block_start(&mut self, shared_bytes: u32, warps: u32) {
        if let Some(monitor) = self {
            monitor.block_start(shared_bytes, warps);
        }
    }

    #[inline(always)]
    fn access(&mut self, event: &Event, log: &mut Log) {
        if let Some(monitor) = self {
            monitor.access(event, log);
        }
    }

    #[inline(always)]
    fn can_skip(&self, reads: &WordReads) -> bool {
        match self {
            Some(monitor) => monitor.can_skip(reads),
            None => true,
        }
    }

    #[inline(always)]
    fn can_note(&self, reads: &WordReads) -> bool {
        match self {
            Some(monitor) => monitor.can_note(reads),
            None => true,
        }
    }

    #[inline(always)]
    fn note_reads(&mut self, reads: &WordReads) -> u32 {
        match self {
            Some(monitor) => monitor.note_reads(reads),
            None => 0,
        }
    }

    fn barrier(&mut self, warps: u32) {
        if let Some(monitor) = self {
            monitor.barrier(warps);
        }
    }

    fn warp_barrier(&mut self, warp: u32, lanes: u32) {
        if let Some(monitor) = self {
            monitor.warp_barrier(warp, lanes);
        }
    }

    fn mbarrier_events(
        &mut self,
        warp: u32,
        lanes: u32,
        owner: ObjectOwner,
        events: &[MbarrierEvent],
    ) {
        if let Some(monitor) = self {
            monitor.mbarrier_events(warp, lanes, owner, events);
        }
    }

    fn cluster_arrive(&mut self, warp: u32, lanes: u32, phase: (u64, u64)) {
        if let Some(monitor) = self {
            monitor.cluster_arrive(warp, lanes, phase);
        }
    }

    fn cluster_wait(&mut self, warp: u32, whole: bool, phase: (u64, u64)) {
        if let Some(monitor) = self {
            monitor.cluster_wait(warp, whole, phase);
        }
    }

    fn cluster_end(&mut self, cluster: u64) {
        if let Some(monitor) = self {
            monitor.cluster_end(cluster);
        }
    }

    fn fence(&mut self, warp: u32, lanes: u32, fence: Ordering) {
        if let Some(monitor) = self {
            monitor.fence(warp, lanes, fence);
        }
    }

    fn exchange(&mut self, common: &mut Self) {
        if let (Some(monitor), Some(common)) = (self, common) {
            monitor.exchange(common);
        }
    }

    fn resume(&mut self, block: u64) {
        if let Some(monitor) = self {
            monitor.resume(block);
        }
    }
}

/// Makes a struct a monitor that forwards every event to its fields, which are monitors.
macro_rules! forward_to_fields {
    ([$($generics:tt)*] $name:ty: $($field:ident: $monitor:ty),*) => {
        impl<$($generics)*> $crate::machine::monitor::Monitor for $name {
            const STEPS: bool = $(<$monitor as $crate::machine::monitor::Monitor>::STEPS)||*;

            fn steps(&self) -> bool {
                $(self.$field.steps())||*
            }

            #[inline(always)]
            fn before(&mut self, step: &$crate::machine::monitor::Step) {
                $(self.$field.before(step);)*
            }

            fn block_start(&mut self, shared_bytes: u32, warps: u32) {
                $(self.$field.block_start(shared_bytes, warps);)*
            }

            #[inline(always)]
            fn access(
                &mut self,
                event: &$crate::machine::monitor::Event,
                log: &mut $crate::finding::Log,
            ) {
                $(self.$field.access(event, log);)*
            }

            #[inline(always)]
            fn can_skip(&self, reads: &$crate::machine::monitor::WordReads) -> bool {
                $(self.$field.can_skip(reads))&&*
            }

            #[inline(always)]
            fn can_note(&self, reads: &$crate::machine::monitor::WordReads) -> bool {
                $(self.$field.can_note(reads))&&*
            }

            #[inline(always)]
            fn note_reads(&mut self, reads: &$crate::machine::monitor::WordReads) -> u32 {
                $(self.$field.note_reads(reads))|*
            }

            fn barrier(&mut self, warps: u32) {
                $(self.$field.barrier(warps);)*
            }

            fn warp_barrier(&mut self, warp: u32, lanes: u32) {
                $(self.$field.warp_barrier(warp, lanes);)*
            }

            fn mbarrier_events(
                &mut self,
                warp: u32,
                lanes: u32,
                owner: $crate::machine::monitor::ObjectOwner,
                events: &[$crate::machine::monitor::MbarrierEvent],
            ) {
                $(self.$field.mbarrier_events(warp, lanes, owner, events);)*
            }

            fn cluster_arrive(&mut self, warp: u32, lanes: u32, phase: (u64, u64)) {
                $(self.$field.cluster_arrive(warp, lanes, phase);)*
            }

            fn cluster_wait(&mut self, warp: u32, whole: bool, phase: (u64, u64)) {
                $(self.$field.cluster_wait(warp, whole, phase);)*
            }

            fn cluster_end(&mut self, cluster: u64) {
                $(self.$field.cluster_end(cluster);)*
            }

            fn fence(&mut self, warp: u32, lanes: u32, fence: $crate::isa::ordering::Ordering) {
                $(self.$field.fence(warp, lanes, fence);)*
            }

            fn exchange(&mut self, common: &mut Self) {
                $(self.$field.exchange(&mut common.$field);)*
            }

            fn resume(&mut self, block: u64) {
                $(self.$field.resume(block);)*
            }
        }
    };
}
pub(crate) use forward_to_fields;
