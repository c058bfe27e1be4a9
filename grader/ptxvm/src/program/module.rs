//! A loaded module and its kernels.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use super::code::Program;
use super::symbols::Symbols;
use crate::error::LoadError;
use crate::memory::buffer::BufferId;
use crate::memory::flat::Flat;

/// A loaded module: parsed, checked, decoded. Clones share the kernels, and have constants of their own.
#[derive(Clone, Debug)]
pub struct Module {
    /// Tells modules apart in [`crate::Memory`], which keeps their variables between launches.
    pub(crate) id: u64,
    pub(crate) kernels: Arc<[Kernel]>,
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
            kernels: kernels.into(),
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

    /// Bytes of the variables in global memory.
    pub fn global_bytes(&self) -> u64 {
        self.variables.iter().map(|variable| variable.bytes.len() as u64).sum()
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

/// A variable in constant memory (`.const`).
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub name: String,
    /// Where it starts in the constant window.
    pub start: u32,
    /// Size of the variable in bytes.
    pub size: usize,
}

/// A variable in global memory (`.global`).
#[derive(Clone, Debug)]
pub(crate) struct ModuleVariable {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Where addresses of other variables stand in it: place, variable, addend.
    pub addresses: Vec<(usize, u32, i64)>,
}

/// Size and alignment of a kernel parameter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// Size of the parameter in bytes.
    pub size: usize,
    /// Alignment of the parameter in bytes.
    pub align: usize,
}

/// A kernel: a function that can be launched (`.entry`).
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

    /// The names in its program, if it was compiled for a debugger.
    pub fn symbols(&self) -> Option<&Symbols> {
        self.program.symbols.as_deref()
    }

    /// The source line of an instruction.
    pub fn source_line(&self, pc: u32) -> Option<&crate::SourceLoc> {
        self.program.source_location(pc)
    }

    /// Whether the threads wait for each other at an instruction: a barrier of the block.
    pub fn is_barrier(&self, pc: u32) -> bool {
        let op = self.program.instruction(pc).map(|instr| &instr.op);
        matches!(op, Some(crate::isa::ir::Op::Bar(_)))
    }

    /// Sizes and alignments of the parameters, in the order of the declaration.
    pub fn params(&self) -> &[ParamType] {
        &self.params
    }

    /// Bytes of shared memory that the kernel declares itself.
    pub fn static_shared(&self) -> u32 {
        self.program.shared.packed
    }
}
