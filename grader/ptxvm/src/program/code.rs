//! The code of a kernel, and what a warp needs to run it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use crate::isa::ir::{Instr, Op, Uniform};
use crate::isa::names::{Marks, Pc, Reg32, Reg64, Strength};
use crate::isa::ordering::Ordering;
use crate::isa::texture::{SurfaceOp, Texture};
use crate::memory::layout::Layout;
use crate::program::symbols::Symbols;
use crate::source_loc::SourceLoc;

/// Where a value that a launch fixes goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UniformSlot {
    Reg32(Reg32),
    Reg64(Reg64),
}

/// The stack frame of a function that may have several activations in a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// Offset and bytes of parameters, results and variables.
    pub variables: Vec<(u32, u32)>,
    /// Bytes with the gaps that catch overruns, and without.
    pub size: u32,
    pub packed: u32,
    pub align: u32,
    /// The function's registers, by file.
    pub r: Range<u32>,
    pub q: Range<u32>,
    pub p: Range<u32>,
}

/// What a kernel says of its cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterUse {
    /// The blocks of a cluster in x, y and z, if the kernel says so.
    pub size: Option<[u32; 3]>,
    /// Whether it waits for its cluster, which may be the block alone.
    pub waits: bool,
    /// Whether it asks where the shared memory of other blocks is.
    pub maps: bool,
}

/// The code of a kernel and of every function that it calls, and what a warp needs to run it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the code")]
pub(crate) struct Program {
    pub code: Vec<Instr>,
    /// For each instruction 1 + the index of its place, or 0.
    pub places: Vec<u32>,
    pub source_locations: Vec<SourceLoc>,
    /// For each of them, whether it stands for code of the headers of cooperative groups.
    pub in_group_headers: Vec<bool>,
    /// Sizes of the register files.
    pub r_count: usize,
    pub q_count: usize,
    pub p_count: usize,
    pub uniforms: Vec<(Uniform, UniformSlot)>,
    pub shared: Layout,
    /// The names of the arrays in shared memory, with the start of each; without one, of dynamic shared memory.
    pub shared_names: Vec<(String, Option<u32>)>,
    pub dynamic_shared_align: u64,
    /// Start and bytes of shared memory that is zero when a block begins.
    pub zeroed_shared: Option<(u32, u32)>,
    pub local: Layout,
    pub frames: Vec<Frame>,
    /// Blocks must run one after another, because the result depends on their order (float atomics, say).
    pub ordered: bool,
    /// Those of `uniforms` that pointers which it writes through may come from; None: any.
    pub written: Option<BTreeSet<usize>>,
    /// Has fences, releases or acquires, so its threads may order themselves, or updates of what others wait for.
    pub fenced: bool,
    /// Has plain reads that race with atomics ([`Marks::kept`]).
    pub keeps_reads: bool,
    /// Strong accesses with an order or of block scope, by instruction, and reads that pass the L1 cache.
    pub orderings: Vec<(Pc, Ordering)>,
    /// Whether it reads memory that other blocks change, so that it may wait for them.
    pub polls: bool,
    pub cluster: ClusterUse,
    /// Lane instructions of a block in the last launch, on the average; 0 before, and where the order of blocks mattered. It decides when host
    /// threads begin, and never what they find.
    pub block_length: AtomicU64,
    /// Names, where the program was compiled for a debugger.
    pub symbols: Option<Box<Symbols>>,
}

/// Steps that a search for the end follows.
const STEPS_TO_THE_END: usize = 64;

impl Program {
    /// The instruction at a place of the code.
    pub fn instruction(&self, pc: Pc) -> Option<&Instr> {
        self.code.get(pc as usize)
    }

    /// Whether a thread that is here does nothing but exit.
    pub fn only_ends(&self, mut pc: Pc) -> bool {
        for _ in 0..STEPS_TO_THE_END {
            let Some(instr) = self.code.get(pc as usize) else { return false };
            match &instr.op {
                Op::Exit if instr.guard.is_none() => return true,
                Op::Branch { target, .. } if instr.guard.is_none() => pc = *target,
                Op::Join | Op::Fence(_) | Op::Nop | Op::Alu(_) => pc += 1,
                _ => return false,
            }
        }
        false
    }

    /// How an access orders others, if it does.
    pub fn ordering(&self, pc: Pc) -> Option<Ordering> {
        let at = self.orderings.binary_search_by_key(&pc, |&(at, _)| at).ok()?;
        self.orderings.get(at).map(|&(_, ordering)| ordering)
    }

    /// Whether an instruction belongs to the headers of cooperative groups.
    pub fn in_groups(&self, pc: Pc) -> bool {
        let index = self.places.get(pc as usize).and_then(|id| id.checked_sub(1));
        index.and_then(|index| self.in_group_headers.get(index as usize)).is_some_and(|&is| is)
    }

    /// What the program says of other threads that access the same memory as an instruction.
    pub fn marks(&self, pc: Pc) -> Marks {
        self.instruction(pc).map_or(Marks::default(), |instr| match &instr.op {
            Op::Load(address, _) | Op::Store(address, _) => address.marks,
            Op::PoisonPropagatingLoad(access) | Op::PoisonPropagatingStore(access) => {
                access.address.marks
            }
            Op::Atom(_) | Op::WideAtom(_) => Marks::STRONG,
            _ => Marks::default(),
        })
    }

    /// Whether one of two stores by unordered threads may overwrite what the other added, even if their values are the same.
    pub fn lose_update(&self, first: Pc, second: Pc) -> bool {
        let is_store = |pc| {
            let op = self.instruction(pc).map(|instr| &instr.op);
            matches!(op, Some(Op::Store(..) | Op::PoisonPropagatingStore(_)))
        };
        [first, second].into_iter().any(|pc| self.marks(pc).half_update)
            && is_store(first)
            && is_store(second)
    }

    /// Whether a read, of which only decisions depend, and a store are `volatile` on memory that nobody waits for: then the old
    /// value is as right as the new one.
    pub fn is_hint(&self, reads_strongly: bool, store: Pc) -> bool {
        reads_strongly && self.marks(store).strength == Strength::Value
    }

    /// Whether a read and an atomic of another thread race: what the read has found gets into memory.
    pub fn reads_beside_atomic(&self, read: Pc, atomic: Pc) -> bool {
        self.keeps_reads && self.marks(read).kept && self.is_atomic(atomic)
    }

    /// Whether an instruction is an atomic.
    pub fn is_atomic(&self, pc: Pc) -> bool {
        let op = self.instruction(pc).map(|instr| &instr.op);
        matches!(op, Some(Op::Atom(_) | Op::WideAtom(_)))
    }

    /// Whether one of two accesses is `volatile` on memory that nobody waits for, or half of an update.
    pub fn is_volatile(&self, both: [Pc; 2]) -> bool {
        both.into_iter()
            .map(|pc| self.marks(pc))
            .any(|marks| marks.strength == Strength::Value || marks.half_update)
    }

    /// Whether a read and the write of a later instruction are `volatile`: `s[i] += s[i + 16]; __syncwarp();` reads in all lanes
    /// of a warp before it writes in any. The memory model does not promise that, but GPUs do it, and CUDA's own reductions
    /// rely on it.
    pub fn in_step(&self, first: Pc, second: Pc) -> bool {
        [first, second].into_iter().all(|pc| self.marks(pc).strength == Strength::Value)
    }

    /// Whether a load goes through the cache of memory that nobody writes.
    pub fn loads_read_only(&self, pc: Pc) -> bool {
        let op = self.instruction(pc).map(|instr| &instr.op);
        matches!(op, Some(Op::Load(address, _)) if address.marks.read_only)
    }

    /// Whether a load goes through a cache that does not see what the running launch writes: that of `.nc` loads, textures and
    /// surfaces.
    pub fn loads_incoherently(&self, pc: Pc) -> bool {
        self.loads_read_only(pc) || self.reads_image(pc)
    }

    /// Whether an instruction reads a texture or surface.
    pub fn reads_image(&self, pc: Pc) -> bool {
        let Some(Op::Texture(texture)) = self.instruction(pc).map(|instr| &instr.op) else {
            return false;
        };
        match &**texture {
            Texture::Fetch(_) => true,
            Texture::Surface(access) => matches!(access.op, SurfaceOp::Load(_)),
            Texture::Query(_) => false,
        }
    }

    /// The line that an instruction came from.
    pub fn source_location(&self, pc: Pc) -> Option<&SourceLoc> {
        let index = self.places.get(pc as usize)?.checked_sub(1)?;
        self.source_locations.get(index as usize)
    }
}
