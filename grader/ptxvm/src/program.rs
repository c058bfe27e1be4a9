//! A kernel ready to run.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{self, AtomicU64};

use crate::error::LoadError;
use crate::isa::ir::{Instr, Op, Pc, Q, R, Uniform};
use crate::loc::SourceLoc;
use crate::memory::flat::Flat;
use crate::memory::global::BufferId;
use crate::memory::layout::Layout;

/// A loaded module: parsed, checked, decoded.
#[derive(Debug)]
pub struct Module {
    /// Tells modules apart in [`crate::Memory`], which keeps their variables between launches.
    pub(crate) id: u64,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) variables: Vec<ModuleVariable>,
    pub(crate) constants: Flat,
    pub(crate) constant_names: Vec<Constant>,
    /// Where addresses of variables stand in the constants: place, variable, addend.
    pub(crate) addresses: Vec<(u32, u32, i64)>,
}

impl Module {
    pub(crate) fn new(
        kernels: Vec<Kernel>,
        variables: Vec<ModuleVariable>,
        constants: Flat,
        constant_names: Vec<Constant>,
        addresses: Vec<(u32, u32, i64)>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, atomic::Ordering::Relaxed),
            kernels,
            variables,
            constants,
            constant_names,
            addresses,
        }
    }

    /// The constants with the addresses of variables, whose first one has the given number.
    pub(crate) fn constants(&self, first: BufferId) -> Cow<'_, Flat> {
        if self.addresses.is_empty() {
            return Cow::Borrowed(&self.constants);
        }
        let mut constants = self.constants.clone();
        for &(place, variable, addend) in &self.addresses {
            let id = BufferId(first.0 + variable as usize);
            constants.fill(place, &id.address().wrapping_add_signed(addend).to_le_bytes());
        }
        Cow::Owned(constants)
    }

    /// All `.entry` functions, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter()
    }

    /// By its name in the PTX (mangled).
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// A `.const` variable.
#[derive(Debug)]
pub(crate) struct Constant {
    pub name: String,
    /// In the constant window.
    pub start: u32,
    /// Bytes.
    pub size: usize,
}

/// A `.global` variable.
#[derive(Debug)]
pub(crate) struct ModuleVariable {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Where addresses of other variables stand in it: place, variable, addend.
    pub addresses: Vec<(usize, u32, i64)>,
}

/// Size and alignment of a kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
}

/// An `.entry` function.
#[derive(Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) params: Vec<ParamType>,
    /// Where each parameter starts in the parameter window.
    pub(crate) param_offsets: Vec<u32>,
    pub(crate) program: Program,
    /// Why it cannot run.
    pub(crate) refusal: Option<LoadError>,
}

impl Kernel {
    /// A kernel with an instruction that this machine cannot run.
    pub(crate) fn refused(name: &str, error: LoadError) -> Self {
        Self {
            name: name.to_owned(),
            params: Vec::new(),
            param_offsets: Vec::new(),
            program: Program::default(),
            refusal: Some(error),
        }
    }

    /// Why it cannot run: the first instruction, of it or of a function that it calls, which this machine does not have. The
    /// other kernels of the module run all the same.
    pub fn refusal(&self) -> Option<&LoadError> {
        self.refusal.as_ref()
    }

    /// Name in the PTX (mangled).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parameters, in order.
    pub fn params(&self) -> &[ParamType] {
        &self.params
    }

    /// Bytes of shared memory that the kernel declares itself.
    pub fn static_shared(&self) -> u32 {
        self.program.shared.packed
    }
}

/// Where a value that a launch fixes goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UniformSlot {
    R(R),
    Q(Q),
}

/// How an access, or a fence, orders others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ordering {
    /// So does every strong read that says nothing of an order.
    pub acquires: bool,
    pub releases: bool,
    /// Its scope takes in other blocks.
    pub wide: bool,
}

/// Memory of a function that may be active more than once in a thread, on the call stack.
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

/// The code of a kernel and of every function that it calls, and what a warp needs to run it.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub code: Vec<Instr>,
    /// For each instruction 1 + the index of its place, or 0.
    pub places: Vec<u32>,
    pub place_table: Vec<SourceLoc>,
    /// For each of them, whether it stands for code of the headers of cooperative groups.
    pub place_in_groups: Vec<bool>,
    /// Sizes of the register files.
    pub r_count: usize,
    pub q_count: usize,
    pub p_count: usize,
    pub uniforms: Vec<(Uniform, UniformSlot)>,
    pub shared: Layout,
    pub dynamic_shared_align: u64,
    /// Start and bytes of shared memory that is zero when a block begins.
    pub zeroed_shared: Option<(u32, u32)>,
    pub local: Layout,
    pub frames: Vec<Frame>,
    /// Blocks must run one after another, because the result depends on their order (float atomics, say).
    pub ordered: bool,
    /// Those of `uniforms` that pointers which it writes through may come from; None: any.
    pub written: Option<BTreeSet<usize>>,
    /// Has fences, releases or acquires, so its threads may order themselves.
    pub fenced: bool,
    /// Strong accesses with an order or of block scope, by instruction, and reads that pass the L1 cache.
    pub orderings: Vec<(Pc, Ordering)>,
    /// Looks at memory that other blocks change, so that it may wait for them.
    pub polls: bool,
}

/// Steps that a search for the end follows.
const STEPS_TO_THE_END: usize = 64;

impl Program {
    /// From here a thread does nothing but end.
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
        index.and_then(|index| self.place_in_groups.get(index as usize)).is_some_and(|&is| is)
    }

    /// The line that an instruction came from.
    pub fn place(&self, pc: Pc) -> Option<&SourceLoc> {
        let index = self.places.get(pc as usize)?.checked_sub(1)?;
        self.place_table.get(index as usize)
    }
}
