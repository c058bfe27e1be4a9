//! A loaded module and its kernels.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use super::code::Program;
use super::symbols::Symbols;
use crate::error::LoadError;
use crate::finding::SharedArray;
use crate::isa::window::Window;
use crate::memory::Memory;
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
    /// The addresses of variables in the constants.
    pub(crate) addresses: Vec<StoredAddress>,
}

impl Module {
    pub(crate) fn new(
        kernels: Vec<Kernel>,
        variables: Vec<ModuleVariable>,
        constants: Flat,
        constant_names: Vec<Constant>,
        addresses: Vec<StoredAddress>,
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
        for address in &self.addresses {
            constants.fill(address.place as u32, address.bytes(first).as_slice());
        }
        Cow::Owned(constants)
    }

    /// The variable in constant memory, if there is only one.
    pub(crate) fn only_constant(&self) -> Option<SharedArray> {
        let [Constant { name, start, size }] = &self.constant_names[..] else { return None };
        let (name, start, bytes) = (name.clone(), *start, *size as u32);
        Some(SharedArray { name, start, bytes, sizes: Vec::new(), element: None })
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

    /// Brings the module's variables into memory, unless an earlier launch did.
    pub(crate) fn place_variables(&self, memory: &mut Memory) -> BufferId {
        if let Some(first) = memory.module_variables(self.id) {
            return first;
        }
        let first = memory.next_variable();
        let values = self.variables.iter().map(|variable| {
            let mut bytes = variable.bytes.clone();
            for address in &variable.addresses {
                let stored = address.bytes(first);
                bytes[address.place..][..stored.len()].copy_from_slice(&stored);
            }
            (variable.name.clone(), bytes)
        });
        let values: Vec<_> = values.collect();
        memory.add_variables(self.id, values.into_iter());
        first
    }

    /// Address and size in `memory` of a variable (`__device__`), by its name in the PTX. The variables come into being with the
    /// first launch, or here.
    pub fn variable(&self, memory: &mut Memory, name: &str) -> Option<(u64, usize)> {
        let index = self.variables.iter().position(|variable| variable.name == name)?;
        let id = BufferId(self.place_variables(memory).0 + index);
        Some((memory.address(id), memory.size(id)))
    }

    /// Place and size in bytes of a `.const` variable, by its name in the PTX.
    pub fn constant(&self, name: &str) -> Option<(usize, usize)> {
        let found = self.constant_names.iter().find(|constant| constant.name == name)?;
        Some((found.start as usize, found.size))
    }

    /// The bytes of all `.const` variables.
    pub fn constant_bytes(&self) -> usize {
        let ends =
            self.constant_names.iter().map(|constant| constant.start as usize + constant.size);
        ends.max().unwrap_or(0)
    }

    /// The generic address at which its kernels see a `.const` variable.
    pub fn constant_address(&self, name: &str) -> Option<u64> {
        let (start, _) = self.constant(name)?;
        Some(Window::Const.base() + start as u64)
    }

    /// The bytes of a `.const` variable from `offset` on; None where they are not inside it.
    pub fn read_constant(&self, name: &str, offset: usize, bytes: usize) -> Option<Vec<u8>> {
        let (start, size) = self.constant(name)?;
        offset.checked_add(bytes).filter(|&end| end <= size)?;
        Some(self.constants.read((start + offset) as u32, bytes))
    }

    /// Writes into a `.const` variable; false where it would not be inside it.
    pub fn write_constant(&mut self, name: &str, offset: usize, bytes: &[u8]) -> bool {
        let Some((start, size)) = self.constant(name) else { return false };
        let inside = offset.checked_add(bytes.len()).is_some_and(|end| end <= size);
        if inside {
            let (start, end) = ((start + offset) as u32, (start + offset + bytes.len()) as u32);
            self.constants.fill(start, bytes);
            // What was an address there is one no more.
            self.addresses.retain(|address| {
                let place = address.place as u32;
                place + address.size() <= start || end <= place
            });
        }
        inside
    }
}

/// The address of a module's variable, by the number of its first one, with an addend.
pub(crate) fn variable_address(first: BufferId, index: u32, addend: i64) -> u64 {
    BufferId(first.0 + index as usize).address().wrapping_add_signed(addend)
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
    /// The addresses of other variables in it.
    pub addresses: Vec<StoredAddress>,
}

/// The address of a variable of the module, or a byte of it, as a value in another variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredAddress {
    /// Where it stands: the offset in the variable, or in constant memory, in bytes.
    pub place: usize,
    /// The index of the variable that it is the address of.
    pub variable: u32,
    pub addend: i64,
    /// The one byte of it that stands there.
    pub byte: Option<u32>,
}

impl StoredAddress {
    /// How many bytes stand there.
    fn size(self) -> u32 {
        if self.byte.is_some() { 1 } else { 8 }
    }

    /// What stands there, where the first variable of the module has this number.
    fn bytes(self, first: BufferId) -> Vec<u8> {
        let all = variable_address(first, self.variable, self.addend).to_le_bytes();
        match self.byte {
            Some(byte) => vec![all[byte as usize]],
            None => all.to_vec(),
        }
    }
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
    /// What a pointer to it is in device code.
    pub(crate) address: u64,
    /// The most threads of a block: its launch bounds.
    pub(crate) bound: u32,
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
            address: 0,
            bound: hardware::MAX_THREADS,
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

    /// Whether it calls `printf` somewhere.
    pub fn prints(&self) -> bool {
        use crate::isa::ir::{Op, System};
        self.program.code.iter().any(|instr| matches!(instr.op, Op::System(System::Printf { .. })))
    }

    /// Sizes and alignments of the parameters, in the order of the declaration.
    pub fn params(&self) -> &[ParamType] {
        &self.params
    }

    /// The blocks of a cluster in x, y and z, if the kernel says so (`__cluster_dims__`).
    pub fn cluster(&self) -> Option<[u32; 3]> {
        self.program.cluster.size
    }

    /// The most threads that a block may have, by its launch bounds (`__launch_bounds__`) and the device.
    pub fn max_threads(&self) -> u32 {
        self.bound
    }

    /// Offset and bytes of each parameter in the parameter window.
    pub(crate) fn placed_params(&self) -> impl Iterator<Item = (u32, usize)> {
        self.param_offsets.iter().zip(&self.params).map(|(&offset, param)| (offset, param.size))
    }

    /// Bytes from the first parameter to the end of the last one.
    pub(crate) fn parameter_bytes(&self) -> usize {
        self.placed_params().map(|(offset, bytes)| offset as usize + bytes).max().unwrap_or(0)
    }

    /// Bytes of shared memory that the kernel declares itself.
    pub fn static_shared(&self) -> u32 {
        self.program.shared.packed
    }
}
