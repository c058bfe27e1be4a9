//! What a launch found, typed and without words: the caller knows the tensors' names.

use crate::isa::names::Pc;
use crate::memory::global::BufferId;
use crate::source_loc::SourceLoc;

/// Kinds of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// The order in which a race happened to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RaceKind {
    /// The reader may come too early.
    ReadAfterWrite,
    /// The writer may come too early.
    WriteAfterRead,
    /// Either value may stay.
    WriteAfterWrite,
}

/// State spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory.
    Global,
    /// On-chip memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Constant memory and the kernel's parameters.
    Const,
}

/// Something wrong that a thread did.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Source line.
    pub loc: Option<SourceLoc>,
    /// First block that did it.
    pub block: [u32; 3],
    /// First thread of it.
    pub thread: [u32; 3],
    /// How many lanes did the same at this line.
    pub count: u64,
}

/// Typed, without words: the caller knows the tensors' names.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingKind {
    /// Outside every allocation.
    OutOfBounds {
        /// Where.
        space: Space,
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// The buffer whose address range lies nearest (global), and the offset in bytes from its start.
        nearest: Option<(BufferId, i64)>,
        /// Raw address; small values are null-pointer arithmetic.
        address: u64,
    },
    /// Address not a multiple of the access size.
    Misaligned {
        /// Where.
        space: Space,
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// Buffer and offset (global).
        buffer: Option<(BufferId, i64)>,
    },
    /// Read of a word that nobody wrote.
    Uninitialised {
        /// Where.
        space: Space,
        /// Bytes.
        size: u32,
        /// Buffer and offset (global).
        buffer: Option<(BufferId, i64)>,
        /// Offset (shared, local).
        offset: i64,
    },
    /// Write to a read-only buffer.
    WriteToReadOnly {
        /// Buffer and offset.
        buffer: (BufferId, i64),
        /// Bytes.
        size: u32,
    },
    /// A barrier that part of the block can never reach, or reached by part of a warp only.
    BarrierDivergence {
        /// Where the other threads are: None if they have returned.
        other: Option<SourceLoc>,
    },
    /// Two threads of a block access one place of shared memory, at least one of them writes, and no barrier lies between.
    ///
    /// The finding's line and thread are those of the later access. Writes of the same value, atomics among themselves and
    /// volatile accesses among themselves are no race.
    SharedRace {
        /// What follows what.
        kind: RaceKind,
        /// Bytes of the later access.
        size: u32,
        /// Offset in shared memory.
        offset: i64,
        /// Line of the earlier access.
        other: Option<SourceLoc>,
        /// Thread of the earlier access. None, and no line, where there was no room to remember it: that takes a kernel in
        /// which threads of three warps race for single bytes.
        other_thread: Option<[u32; 3]>,
        /// Both threads are lanes of one warp: `__syncwarp()` between them suffices.
        same_warp: bool,
    },
    /// Two threads access one place of global memory, at least one of them writes, and nothing orders them: threads of one
    /// block without a barrier between, or threads of two blocks.
    ///
    /// The rules of [`SharedRace`](Self::SharedRace) hold. Fences, releases and acquires order threads of two blocks as well.
    GlobalRace {
        /// What followed what in this run.
        kind: RaceKind,
        /// Bytes of the later access.
        size: u32,
        /// Buffer and offset.
        buffer: (BufferId, i64),
        /// Line of the earlier access.
        other: Option<SourceLoc>,
        /// Block of the earlier access, and thread in it. None where there was no room to remember all of them: that takes a
        /// kernel that accesses single bytes, or races, in random order.
        other_thread: Option<([u32; 3], [u32; 3])>,
        /// Both threads are of one block: a barrier between them suffices.
        same_block: bool,
        /// Both threads are lanes of one warp.
        same_warp: bool,
    },
    /// The member mask of a warp operation (`__shfl_sync`, `__ballot_sync`, `__syncwarp` ...) does not name the thread itself, or
    /// names threads that run but do not take part here (PTX ISA 9.7.9.6: the behaviour is undefined).
    InvalidMembers {
        /// The mask of the first thread, a bit for each lane.
        named: u32,
        /// The lanes that take part with the same mask.
        here: u32,
    },
    /// An operation of the whole warp (`mma`, `wmma`, `ldmatrix`) that only a part of it comes to (PTX ISA 9.7.14: the
    /// behaviour is undefined).
    PartOfWarp {
        /// The lanes that came, a bit for each.
        here: u32,
    },
    /// The threads of a warp give different addresses or strides to a `wmma.load` or `wmma.store`, of which there is one
    /// (PTX ISA 9.7.14.4.3: the behaviour is undefined).
    UnevenOperands,
    /// An access of shared memory that an asynchronous copy (`cp.async`) is still on its way to: its thread has not waited.
    InFlight {
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// Offset in shared memory of the first such word.
        offset: i64,
        /// Line of the copy.
        copy: Option<SourceLoc>,
        /// The thread that copies.
        copy_thread: [u32; 3],
    },
    /// A barrier object in shared memory (`mbarrier`: `cuda::barrier`, `cuda::pipeline`) that is not used as it must be.
    Mbarrier {
        /// How.
        misuse: MbarrierMisuse,
        /// Its offset in shared memory.
        offset: i64,
    },
    /// Still running when the budget was spent.
    EndlessLoop {
        /// Instructions of the warp.
        instructions: u64,
    },
    /// An access of memory that a kernel allocated and freed again.
    UseAfterFree {
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
        /// The allocation and the offset in bytes from its start.
        buffer: (BufferId, i64),
    },
    /// `free` or `delete` of something that is no allocation of the device heap.
    InvalidFree {
        /// The pointer.
        address: u64,
        /// It was one and has been freed before.
        again: bool,
    },
    /// The frames of active functions do not fit on the stack of a thread.
    StackOverflow {
        /// Bytes of the stack.
        limit: u32,
    },
    /// A call through a pointer that is null, uninitialised or not the address of a function with these parameters.
    InvalidCall {
        /// The pointer.
        address: u64,
    },
    /// The kernel waits for the whole grid (`this_grid().sync()`), but the launch is not cooperative.
    GridSync,
    /// `trap` or a failed `assert`.
    Trap {
        /// The assertion's text, where known.
        message: Option<String>,
    },
}

/// What is wrong with the use of a barrier object (PTX ISA 9.7.13.15).
#[derive(Clone, Debug, PartialEq)]
pub enum MbarrierMisuse {
    /// There is none at this place: nobody has initialised one, or it has been invalidated.
    NotInitialised,
    /// There is one already. It must be invalidated before it is initialised again.
    InitialisedAgain {
        /// Line where it was initialised.
        first: Option<SourceLoc>,
        /// The thread that did.
        first_thread: [u32; 3],
    },
    /// A count of arrivals or bytes outside its range: 1 to 2^20 - 1 arrivals, up to 2^20 - 1 bytes.
    InvalidCount {
        /// The count.
        count: u32,
    },
    /// More arrivals than the phase still waits for.
    TooManyArrivals {
        /// Arrivals at once.
        count: u32,
        /// Those that were missing.
        pending: u32,
    },
    /// An arrival that may not be the last one (`.noComplete`) is the last one.
    MayNotComplete,
    /// A wait for a phase that is over since more than one phase: the token is too old, or of another barrier, or none.
    OldToken,
    /// A plain access to the words of the object: only the operations of a barrier may touch them.
    Touched {
        /// How.
        access: AccessKind,
        /// Bytes.
        size: u32,
    },
    /// A thread waits for the end of a phase, and all of its block that are left wait too. It is as if they never ended.
    NeverCompletes {
        /// Arrivals that the phase still waits for.
        arrivals: u32,
        /// Bytes that it still waits for.
        bytes: i32,
    },
}

impl FindingKind {
    /// Whether two findings at one line are the same finding again: equal but for addresses and offsets.
    fn same(&self, other: &Self) -> bool {
        let buffer = |found: &Option<(BufferId, i64)>| found.map(|(id, _)| id);
        match (self, other) {
            (
                Self::OutOfBounds { space: a, access: b, size: c, nearest: d, .. },
                Self::OutOfBounds { space: e, access: f, size: g, nearest: h, .. },
            )
            | (
                Self::Misaligned { space: a, access: b, size: c, buffer: d },
                Self::Misaligned { space: e, access: f, size: g, buffer: h },
            ) => (a, b, c, buffer(d)) == (e, f, g, buffer(h)),
            (
                Self::Uninitialised { space: a, size: b, buffer: c, .. },
                Self::Uninitialised { space: d, size: e, buffer: f, .. },
            ) => (a, b, buffer(c)) == (d, e, buffer(f)),
            (
                Self::InFlight { access: a, size: b, copy: c, .. },
                Self::InFlight { access: d, size: e, copy: f, .. },
            ) => (a, b, c) == (d, e, f),
            (Self::InvalidFree { again: a, .. }, Self::InvalidFree { again: b, .. }) => a == b,
            (
                Self::WriteToReadOnly { buffer: (a, _), size: b },
                Self::WriteToReadOnly { buffer: (c, _), size: d },
            ) => (a, b) == (c, d),
            (
                Self::SharedRace { kind: a, size: b, other: c, same_warp: d, .. },
                Self::SharedRace { kind: e, size: f, other: g, same_warp: h, .. },
            ) => (a, b, c, d) == (e, f, g, h),
            (
                Self::GlobalRace {
                    kind: a,
                    buffer: (b, _),
                    other: c,
                    same_block: d,
                    same_warp: e,
                    ..
                },
                Self::GlobalRace {
                    kind: f,
                    buffer: (g, _),
                    other: h,
                    same_block: i,
                    same_warp: j,
                    ..
                },
            ) => (a, b, c, d, e) == (f, g, h, i, j),
            (Self::Mbarrier { misuse: a, .. }, Self::Mbarrier { misuse: b, .. }) => a.same(b),
            (Self::EndlessLoop { .. }, Self::EndlessLoop { .. })
            | (Self::InvalidCall { .. }, Self::InvalidCall { .. })
            | (Self::PartOfWarp { .. }, Self::PartOfWarp { .. })
            | (Self::UseAfterFree { .. }, Self::UseAfterFree { .. })
            | (Self::InvalidMembers { .. }, Self::InvalidMembers { .. }) => true,
            _ => self == other,
        }
    }
}

impl MbarrierMisuse {
    /// Equal but for numbers.
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InitialisedAgain { first: a, .. }, Self::InitialisedAgain { first: b, .. }) => {
                a == b
            }
            (Self::Touched { access: a, size: b }, Self::Touched { access: c, size: d }) => {
                (a, b) == (c, d)
            }
            (Self::InvalidCount { .. }, Self::InvalidCount { .. })
            | (Self::TooManyArrivals { .. }, Self::TooManyArrivals { .. })
            | (Self::NeverCompletes { .. }, Self::NeverCompletes { .. }) => true,
            _ => self == other,
        }
    }
}

/// A finding inside a block, before it has its source line.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub kind: FindingKind,
    pub pc: Pc,
    /// Index of the thread in its block.
    pub thread: u32,
    pub count: u64,
}

/// The findings of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub raw: Vec<Raw>,
}

/// Kinds that one block may find before it stops telling new ones apart.
const MAX_PER_BLOCK: usize = 256;

impl Log {
    /// Notes what `count` lanes did, `thread` the first of them.
    pub fn record(&mut self, kind: FindingKind, pc: Pc, thread: u32, count: u32) {
        let count = u64::from(count);
        if let Some(raw) = self.raw.iter_mut().find(|raw| raw.pc == pc && raw.kind.same(&kind)) {
            raw.count += count;
        } else if self.raw.len() < MAX_PER_BLOCK {
            self.raw.push(Raw { kind, pc, thread, count });
        }
    }

    /// Whether something of a kind was found.
    pub fn has(&self, of_kind: impl Fn(&FindingKind) -> bool) -> bool {
        self.raw.iter().any(|raw| of_kind(&raw.kind))
    }
}

/// Adds a finding to those of earlier blocks, or counts it with one of them.
pub(crate) fn merge(all: &mut Vec<Finding>, new: Finding, limit: usize) {
    if let Some(old) = all.iter_mut().find(|old| old.loc == new.loc && old.kind.same(&new.kind)) {
        old.count += new.count;
    } else if all.len() < limit {
        all.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of_bounds(size: u32, offset: i64) -> FindingKind {
        FindingKind::OutOfBounds {
            space: Space::Global,
            access: AccessKind::Read,
            size,
            nearest: Some((BufferId(0), offset)),
            address: 7,
        }
    }

    #[test]
    fn repetitions_are_counted() {
        let mut log = Log::default();
        log.record(out_of_bounds(4, 8), 3, 1, 2);
        log.record(out_of_bounds(4, 12), 3, 0, 5);
        log.record(out_of_bounds(8, 8), 3, 0, 1);
        log.record(out_of_bounds(4, 8), 4, 0, 1);
        let counts: Vec<u64> = log.raw.iter().map(|raw| raw.count).collect();
        assert_eq!(counts, [7, 1, 1]);
        assert_eq!(log.raw[0].thread, 1);
    }
}
