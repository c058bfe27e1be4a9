//! What a launch needs before its first block: the one place where launches are refused, checked and prepared.

use std::borrow::Cow;

use super::blocks::Grid;
use super::cluster_shape::ClusterShape;
use super::config::{Launch, Options};
use super::cooperative;
use super::initial_state::{InitialState, param_value};
use crate::error::LaunchError;
use crate::finding::SharedArray;
use crate::isa::ir::Uniform;
use crate::machine::exec::state::Env;
use crate::machine::simd::dispatch;
use crate::memory::Memory;
use crate::memory::buffer::BufferId;
use crate::memory::flat::Flat;
use crate::memory::grid_workspace;
use crate::memory::layout::Layout;
use crate::program::code::Program;
use crate::program::module::{Kernel, Module, variable_address};
use hardware::{MAX_BLOCK, MAX_GRID, MAX_THREADS, SHARED_WITHOUT_OPT_IN};

/// Bytes of shared memory of a block, static and dynamic: what the newest compute capability grants a kernel that asks for
/// it. A launch here always asks.
const MAX_SHARED: u32 = hardware::NEWEST.block_shared();

/// How many budgets the warps of a block may spend together in any case, so that an endless loop is found as soon in a block of
/// many warps as in a block of two.
const BUDGETS_OF_A_BLOCK: u64 = 2;

/// The most instructions that the work of an element grants to a block; they take some two seconds.
const MOST_FOR_ELEMENTS: u64 = 1 << 27;

/// Instructions that the warps of a block may execute together.
fn block_budget(launch: &Launch, options: &Options) -> u64 {
    let warps = u64::from(launch.threads().div_ceil(32));
    let elements = warps.saturating_mul(options.element.instructions).min(MOST_FOR_ELEMENTS);
    options.budget.saturating_mul(BUDGETS_OF_A_BLOCK).max(elements)
}

/// A launch that can start.
pub(crate) struct Setup<'m> {
    pub kernel: &'m Kernel,
    /// All kernels of the module.
    kernels: &'m [Kernel],
    launch: &'m Launch,
    memory: &'m Memory,
    constants: Cow<'m, Flat>,
    constant: Option<SharedArray>,
    params: Flat,
    shared: Layout,
    first_variable: BufferId,
    budget: u64,
    block_budget: u64,
    printed: u64,
    cooperative: bool,
    cluster: ClusterShape,
    /// Address of the workspace of a cooperative launch; else 0.
    workspace: u64,
}

impl<'m> Setup<'m> {
    /// Checks a launch and prepares the memory for it.
    ///
    /// # Errors
    /// The kernel is refused, the configuration is out of the limits, or the parameters do not match.
    pub fn new(
        module: &'m Module,
        kernel: &'m Kernel,
        launch: &'m Launch,
        memory: &'m mut Memory,
        options: &Options,
    ) -> Result<Self, LaunchError> {
        if let Some(error) = kernel.refusal() {
            return Err(LaunchError::Refused(error.clone()));
        }
        let shared = check_configuration(kernel, launch)?;
        let cluster = ClusterShape::new(kernel.program.cluster.size, options.cluster, launch.grid)?;
        let params = parameters(kernel, launch)?;
        let mut workspace = 0;
        if options.cooperative {
            cooperative::check_device(launch, shared.packed)?;
            workspace = grid_workspace::prepare(memory);
        }
        let at_once = if options.cooperative { launch.blocks() } else { cluster.blocks() };
        cooperative::check_local(launch, at_once, kernel.program.local.packed)?;
        let first_variable = module.place_variables(memory);
        let constants = module.constants(first_variable);
        let written = written_addresses(&kernel.program, &params, first_variable);
        memory.prepare(written.as_deref());
        Ok(Self {
            kernel,
            kernels: &module.kernels,
            launch,
            memory,
            constants,
            constant: module.only_constant(),
            params,
            shared,
            first_variable,
            budget: options.budget,
            block_budget: block_budget(launch, options),
            printed: options.printed,
            cooperative: options.cooperative,
            cluster,
            workspace,
        })
    }

    /// What all blocks of the launch share.
    pub fn env(&self) -> Env<'_> {
        let simd = dispatch::best();
        Env {
            program: &self.kernel.program,
            memory: self.memory,
            constants: &self.constants,
            constant: self.constant.clone(),
            params: &self.params,
            block_size: self.launch.block,
            budget: self.budget,
            block_budget: self.block_budget,
            printed: self.printed,
            kernels: self.kernels,
            workspace: self.workspace,
            simd,
            threaded: (simd.thread)(&self.kernel.program.code),
        }
    }

    /// The blocks, none of which has begun.
    pub fn grid<'e>(&self, env: &'e Env<'e>) -> Grid<'e> {
        Grid {
            env,
            start: InitialState::new(
                env,
                self.launch,
                self.cluster,
                &self.shared,
                self.first_variable,
            ),
            shared_arrays: shared_arrays(&self.kernel.program, &self.shared),
            size: self.launch.grid,
            room: cooperative::room(
                self.launch,
                self.shared.packed,
                self.kernel.program.local.packed,
            ),
            cooperative: self.cooperative,
            cluster: self.cluster,
        }
    }
}

/// The arrays in the shared memory of a block. The launch's own memory is the last; of several names for it none is chosen.
fn shared_arrays(program: &Program, shared: &Layout) -> Vec<SharedArray> {
    let dynamic = shared.variables.get(program.shared.variables.len()).map(|&(start, _)| start);
    let names = &program.shared_names;
    let one_dynamic = names.iter().filter(|(_, start)| start.is_none()).count() == 1;
    let of = |(name, start): &(String, Option<u32>)| {
        let start = start.or(dynamic.filter(|_| one_dynamic))?;
        let &(_, bytes) = shared.variables.iter().find(|&&(other, _)| other == start)?;
        let (name, sizes) = (name.clone(), Vec::new());
        Some(SharedArray { name, start, bytes, sizes, element: None })
    };
    names.iter().filter_map(of).collect()
}

/// An address in each buffer that a program may write; None: in any.
fn written_addresses(
    program: &Program,
    params: &Flat,
    first_variable: BufferId,
) -> Option<Vec<u64>> {
    let uniforms = program.written.as_ref()?.iter().map(|&index| program.uniforms[index].0);
    let addresses = uniforms.filter_map(|uniform| match uniform {
        Uniform::Param { offset, bytes } => Some(param_value(params, offset, bytes)),
        Uniform::Global(index, addend) => Some(variable_address(first_variable, index, addend)),
        _ => None,
    });
    Some(addresses.collect())
}

/// Whether a device could start a kernel like this; the shared memory of a block, if so.
fn check_configuration(kernel: &Kernel, launch: &Launch) -> Result<Layout, LaunchError> {
    let error = |message: String| Err(LaunchError::Configuration(message));
    for axis in 0..3 {
        let name = ["x", "y", "z"][axis];
        if launch.grid[axis] == 0 || launch.grid[axis] > MAX_GRID[axis] {
            let (is, most) = (launch.grid[axis], MAX_GRID[axis]);
            return error(format!("the grid has {is} blocks in {name}; 1 to {most} are allowed"));
        }
        if launch.block[axis] == 0 || launch.block[axis] > MAX_BLOCK[axis] {
            let (is, most) = (launch.block[axis], MAX_BLOCK[axis]);
            return error(format!("the block has {is} threads in {name}; 1 to {most} are allowed"));
        }
    }
    let threads = launch.threads();
    if threads > MAX_THREADS {
        return error(format!(
            "the block has {threads} threads; at most {MAX_THREADS} are allowed"
        ));
    }
    let mut shared = kernel.program.shared.clone();
    let placed = shared.place(launch.dynamic_shared.into(), kernel.program.dynamic_shared_align);
    let (fixed, dynamic) = (kernel.program.shared.packed, launch.dynamic_shared);
    if fixed > SHARED_WITHOUT_OPT_IN {
        return error(format!(
            "the kernel declares {fixed} bytes of shared memory; at most {SHARED_WITHOUT_OPT_IN} are \
             allowed, more only as dynamic shared memory"
        ));
    }
    if placed.is_none() || shared.packed > MAX_SHARED {
        return error(format!(
            "the block needs {fixed} bytes of static and {dynamic} of dynamic shared memory; at \
             most {MAX_SHARED} are allowed"
        ));
    }
    Ok(shared)
}

/// The contents of the parameter window.
fn parameters(kernel: &Kernel, launch: &Launch) -> Result<Flat, LaunchError> {
    let (given, wanted) = (launch.params.len(), kernel.params.len());
    if given != wanted {
        return Err(LaunchError::Parameters(format!(
            "{given} parameters given, but the kernel has {wanted}"
        )));
    }
    let end = kernel.parameter_bytes();
    let mut bytes = vec![0; end];
    for (index, (value, param)) in launch.params.iter().zip(&kernel.params).enumerate() {
        if value.len() != param.size {
            return Err(LaunchError::Parameters(format!(
                "parameter {index} has {} bytes, but {} were given",
                param.size,
                value.len()
            )));
        }
        let offset = kernel.param_offsets[index] as usize;
        bytes[offset..offset + param.size].copy_from_slice(value);
    }
    let mut layout = Layout::default();
    // Room for a load of 8 bytes at the end.
    layout.place(end.next_multiple_of(8) as u64, 16);
    let mut flat = Flat::read_only(&layout);
    flat.fill(0, &bytes);
    Ok(flat)
}
