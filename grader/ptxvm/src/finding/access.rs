//! What was done to memory, and in which kind of memory.

use super::check::Words;

/// Kinds of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// The access is a load.
    Read,
    /// The access is a store.
    Write,
    /// The access is an atomic read-modify-write.
    Atomic,
}

impl AccessKind {
    /// The access as a noun: `write`.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic update",
        }
    }

    /// The access with the preposition that leads to its place: `write to`.
    pub(super) fn of(self) -> String {
        let preposition = if self == Self::Write { "to" } else { "of" };
        format!("{} {preposition}", self.noun())
    }
}

/// The order in which the two accesses of a race happened to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RaceKind {
    /// The reader may come too early.
    ReadAfterWrite,
    /// The writer may come too early.
    WriteAfterRead,
    /// Either value may stay.
    WriteAfterWrite,
}

impl RaceKind {
    /// What the earlier access of the two was.
    pub fn earlier(self) -> AccessKind {
        match self {
            Self::ReadAfterWrite | Self::WriteAfterWrite => AccessKind::Write,
            Self::WriteAfterRead => AccessKind::Read,
        }
    }

    /// What the later access of the two was.
    pub fn later(self) -> AccessKind {
        match self {
            Self::ReadAfterWrite => AccessKind::Read,
            Self::WriteAfterRead | Self::WriteAfterWrite => AccessKind::Write,
        }
    }

    /// What is missing between two accesses of one block, `same_warp` if both threads are lanes of one warp.
    pub(super) fn missing_barrier(self, same_warp: bool) -> &'static str {
        match (same_warp, self) {
            (false, _) => "no __syncthreads() lies between the two: their order is chance",
            (true, Self::WriteAfterWrite) => {
                "which of the two values stays is chance, within a warp, too: let one thread write, or put a __syncthreads() between, or a __syncwarp() if no other warp comes here"
            }
            (true, _) => {
                "the threads of a warp need not run in step: put a __syncthreads() between the two, or a __syncwarp() if no other warp comes here"
            }
        }
    }
}

/// Adds to what is said of a race of volatile accesses what `volatile` does not do.
pub(super) fn volatile_help(words: Words, volatile: bool) -> Words {
    if !volatile {
        return words;
    }
    words.help("volatile makes the compiler load and store each time; it orders no threads, and does not make `x += y` one step")
}

/// The kinds of memory that a program tells apart: the state spaces of PTX, and the device heap, a part of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory that the host allocated, and variables of the module.
    Global,
    /// On-chip memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Device memory that the kernel allocated itself (`malloc`, `new`).
    Heap,
    /// Constant memory and the kernel's parameters.
    Const,
}

impl Space {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global => "global memory",
            Self::Shared => "shared memory",
            Self::Local => "a thread's local memory",
            Self::Heap => "memory from malloc",
            Self::Const => "constant memory",
        }
    }
}
