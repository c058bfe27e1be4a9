//! Launches a kernel: checks the configuration, then runs block after block, in parallel where the result allows.

use crate::program::variables::{place_variables, variable_address};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::LaunchError;
use crate::finding::{Finding, Raw};
use crate::instruments::check::block_conflicts::{Conflicts, OrderWatch};
use crate::instruments::check::global::races::GlobalRaces;
use crate::instruments::check::races::Races;
use crate::instruments::count::tally::Tally;
use crate::instruments::trace::{Traced, Tracer};
use crate::instruments::watch::{Watch, Watcher, Writer};
use crate::isa::ir::{Special, Uniform};
use crate::isa::names::{Pc, Slot};
use crate::lanes::coordinates;
use crate::launch::cooperative;
use crate::launch::residents::Resident;
use crate::machine::block::{Ended, Patience, Turns};
use crate::machine::exec::state::{BlockState, Env};
use crate::machine::registers::Registers;
use crate::machine::simd::dispatch;
use crate::machine::warp::state::Warp;
use crate::memory::flat::Flat;
use crate::memory::global::{BufferId, Memory};
use crate::memory::layout::Layout;
use crate::program::code::{Program, UniformSlot};
use crate::program::module::{Kernel, Module};

mod footprint;
mod outcome;
mod parallel;
mod together;

pub use footprint::Footprint;
use footprint::Most;
use parallel::{Fork, Setback};

/// Grid, block, dynamic shared memory and the parameters' bytes.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes.
    pub dynamic_shared: u32,
    /// One entry for each parameter, little-endian, of the parameter's size.
    pub params: Vec<Vec<u8>>,
}

/// Limits and extras of a launch.
#[derive(Clone, Debug)]
pub struct Options {
    /// Instructions that one warp may execute before it counts as endless; the warps of a block together may execute
    /// twice as many.
    pub budget: u64,
    /// Record every global access of this thread: (block, thread).
    pub trace: Option<([u32; 3], [u32; 3])>,
    /// Find who wrote this place last.
    pub watch: Option<Watch>,
    /// At most this many findings are kept apart (by kind and source line); each counts its repetitions.
    pub max_findings: usize,
    /// A cooperative launch (`cudaLaunchCooperativeKernel`): all blocks run at once and may wait for each other with
    /// `this_grid().sync()`. More blocks than an H200 has room for are refused.
    pub cooperative: bool,
}

impl Default for Options {
    /// A budget of 2^28 instructions, no trace, no watch, 64 findings, not cooperative.
    fn default() -> Self {
        Self { budget: 1 << 28, trace: None, watch: None, max_findings: 64, cooperative: false }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Sorted by block, then thread of the first occurrence; the same at every run.
    pub findings: Vec<Finding>,
    /// The accesses of the traced thread, in program order.
    pub trace: Vec<Traced>,
    /// Who wrote the watched place last: of several blocks, the one with the highest index.
    pub writer: Option<Writer>,
    /// Instructions executed, counted once for each active lane.
    pub lane_instructions: u64,
    /// What the kernel printed, block after block.
    pub printed: String,
    /// The memory that the checks needed.
    pub footprint: Footprint,
}

/// Shared memory of a block, static and dynamic, in bytes: what compute capability 9.0 grants a kernel that asks for it
/// (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). A launch here always asks.
pub const MAX_SHARED: u32 = 227 << 10;
/// Static shared memory of a kernel: more of it does not compile.
const MAX_STATIC_SHARED: u32 = 48 << 10;
/// Threads of a block at most.
pub const MAX_THREADS: u32 = 1024;
/// Once a launch has printed so many bytes, the rest is dropped: as much as the hardware's buffer holds.
const MAX_PRINTED: usize = 1 << 20;
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Runs one kernel to its end. Blocks run in parallel with the same result at every run.
///
/// After an [`EndlessLoop`](crate::FindingKind::EndlessLoop) or a [`StackOverflow`](crate::FindingKind::StackOverflow), blocks behind
/// the one that found it may not have run.
///
/// # Errors
/// Where the device could not start the kernel: it was refused, the configuration is out of the limits, or parameters do not
/// match.
pub fn launch(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<Outcome, LaunchError> {
    launch_with::<()>(module, kernel, launch, memory, options).map(|(outcome, ..)| outcome)
}

/// As [`launch()`], with what a tally has seen of the same run, and whether a loop did not end.
pub(crate) fn launch_with<T: Tally>(
    module: &Module,
    kernel: &Kernel,
    launch: &Launch,
    memory: &mut Memory,
    options: &Options,
) -> Result<(Outcome, T, bool), LaunchError> {
    if let Some(error) = kernel.refusal() {
        return Err(LaunchError::Refused(error.clone()));
    }
    let shared = check_configuration(kernel, launch)?;
    let params = parameters(kernel, launch)?;
    let workspace = if options.cooperative {
        cooperative::workspace(memory, launch, shared.packed)?
    } else {
        0
    };
    let first_variable = place_variables(module, memory);
    let constants = module.constants(first_variable);
    let program = &kernel.program;
    memory.prepare(written_addresses(program, &params, first_variable).as_deref());
    let env = Env {
        program,
        memory,
        constants: &constants,
        params: &params,
        block_size: launch.block,
        budget: options.budget,
        workspace,
        simd: dispatch::best(),
    };
    let start = Start::new(&env, launch, &shared, first_variable);
    let index = |at: [u32; 3], of: [u32; 3]| (at[2] * of[1] + at[1]) * of[0] + at[0];
    let tracer = options
        .trace
        .filter(|(_, thread)| (0..3).all(|axis| thread[axis] < launch.block[axis]))
        .map(|(block, thread)| (block, index(thread, launch.block)));
    let run = Run {
        env: &env,
        start: &start,
        grid: launch.grid,
        tracer,
        watch: options.watch,
        room: cooperative::room(launch, shared.packed),
        cooperative: options.cooperative,
        stop: AtomicU64::new(u64::MAX),
        most: Most::default(),
    };
    let (outcome, tally) = run.all(options.max_findings);
    Ok((outcome, tally, run.stop.load(Relaxed) != u64::MAX))
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

pub(crate) fn check_configuration(kernel: &Kernel, launch: &Launch) -> Result<Layout, LaunchError> {
    let error = |message: String| Err(LaunchError::Configuration(message));
    for axis in 0..3 {
        let name = ["x", "y", "z"][axis];
        if launch.grid[axis] == 0 || launch.grid[axis] > MAX_GRID[axis] {
            let (is, most) = (launch.grid[axis], MAX_GRID[axis]);
            return error(format!("the grid has {is} blocks in {name}; 1 to {most} are possible"));
        }
        if launch.block[axis] == 0 || launch.block[axis] > MAX_BLOCK[axis] {
            let (is, most) = (launch.block[axis], MAX_BLOCK[axis]);
            return error(format!(
                "the block has {is} threads in {name}; 1 to {most} are possible"
            ));
        }
    }
    let threads: u32 = launch.block.iter().product();
    if threads > MAX_THREADS {
        return error(format!("the block has {threads} threads; {MAX_THREADS} are possible"));
    }
    let mut shared = kernel.program.shared.clone();
    let placed = shared.place(launch.dynamic_shared.into(), kernel.program.dynamic_shared_align);
    let (fixed, dynamic) = (kernel.program.shared.packed, launch.dynamic_shared);
    if fixed > MAX_STATIC_SHARED {
        return error(format!(
            "the kernel declares {fixed} bytes of shared memory; {MAX_STATIC_SHARED} are possible, \
             more only as dynamic shared memory"
        ));
    }
    if placed.is_none() || shared.packed > MAX_SHARED {
        return error(format!(
            "the block needs {fixed} bytes of static and {dynamic} of dynamic shared memory; \
             {MAX_SHARED} are possible"
        ));
    }
    Ok(shared)
}

/// The parameter window.
pub(crate) fn parameters(kernel: &Kernel, launch: &Launch) -> Result<Flat, LaunchError> {
    let (given, wanted) = (launch.params.len(), kernel.params.len());
    if given != wanted {
        return Err(LaunchError::Parameters(format!(
            "{given} parameters given, but the kernel has {wanted}"
        )));
    }
    let size = kernel.params.iter().zip(&kernel.param_offsets);
    let end = size.map(|(param, &offset)| offset as usize + param.size).max().unwrap_or(0);
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

/// What every block starts from.
pub(crate) struct Start {
    pub registers: Registers,
    pub shared: Flat,
    pub shared_bytes: u32,
    /// Registers that differ between blocks or warps.
    varying: Vec<(Special, Slot)>,
    pub warps: u32,
    pub threads: u32,
}

impl Start {
    pub fn new(env: &Env, launch: &Launch, shared: &Layout, first_variable: BufferId) -> Self {
        let threads: u32 = launch.block.iter().product();
        let mut start = Self {
            registers: Registers::undefined(env.program),
            shared_bytes: shared.used(),
            shared: Flat::undefined(shared),
            varying: Vec::new(),
            warps: threads.div_ceil(32),
            threads,
        };
        if let Some((first, size)) = env.program.zeroed_shared {
            for word in (first..first + size).step_by(4) {
                start.shared.set_word(word.into(), 0);
            }
        }
        let dynamic = shared.variables.last().map_or(0, |&(start, _)| start);
        for &(uniform, slot) in &env.program.uniforms {
            let slot = match slot {
                UniformSlot::R(register) => Slot::R(register),
                UniformSlot::Q(register) => Slot::Q(register),
            };
            let value = match uniform {
                Uniform::Bits(bits) => bits,
                Uniform::Param { offset, bytes } => param_value(env.params, offset, bytes),
                Uniform::Global(index, addend) => variable_address(first_variable, index, addend),
                Uniform::DynamicShared(addend) => u64::from(dynamic).wrapping_add_signed(addend),
                Uniform::Special(special) => {
                    let fixed = start.fixed(special, launch, shared.packed, env.workspace);
                    let Some(value) = fixed else {
                        start.varying.push((special, slot));
                        continue;
                    };
                    value.into()
                }
            };
            for lane in 0..32 {
                start.registers.set_lane(slot, lane, value);
            }
        }
        for lane in 0..32 {
            for index in 0..start.varying.len() {
                let (special, slot) = start.varying[index];
                if let Some(value) = of_lane(special, lane as u32) {
                    start.registers.set_lane(slot, lane, value.into());
                }
            }
        }
        start.varying.retain(|&(special, _)| of_lane(special, 0).is_none());
        start
    }

    /// Special registers that are the same for all threads of a launch.
    fn fixed(&self, special: Special, launch: &Launch, shared: u32, workspace: u64) -> Option<u32> {
        Some(match special {
            Special::Ntid(axis) => launch.block[usize::from(axis)],
            Special::Nctaid(axis) => launch.grid[usize::from(axis)],
            Special::NWarpId => self.warps,
            Special::WarpSize => 32,
            Special::NSmId => 1,
            Special::DynamicSharedSize => launch.dynamic_shared,
            Special::TotalSharedSize => shared,
            Special::Environment(1) => (workspace >> 32) as u32,
            Special::Environment(2) => workspace as u32,
            Special::Environment(_) | Special::SmId | Special::GridId | Special::Zero => 0,
            _ => return None,
        })
    }

    /// Sets what differs between blocks and warps.
    pub fn vary(&self, warp: &mut Warp, block_size: [u32; 3], block: [u32; 3]) {
        let first = coordinates(warp.index * 32, block_size);
        for &(special, slot) in &self.varying {
            let (mut thread, index) = (first, warp.index);
            for lane in 0..32 {
                let value = match special {
                    Special::Tid(axis) => thread[usize::from(axis)],
                    Special::Ctaid(axis) => block[usize::from(axis)],
                    _ => index,
                };
                warp.registers.set_lane(slot, lane, value.into());
                step(&mut thread, block_size);
            }
        }
    }
}

/// The coordinates of the thread that comes next.
fn step(thread: &mut [u32; 3], size: [u32; 3]) {
    let [x, y, z] = thread;
    *x += 1;
    if *x == size[0] {
        (*x, *y) = (0, *y + 1);
        if *y == size[1] {
            (*y, *z) = (0, *z + 1);
        }
    }
}

/// Special registers that are the same for all warps.
fn of_lane(special: Special, lane: u32) -> Option<u32> {
    let bit = 1 << lane;
    Some(match special {
        Special::LaneId => lane,
        Special::LaneMaskEq => bit,
        Special::LaneMaskLt => bit - 1,
        Special::LaneMaskLe => bit | (bit - 1),
        Special::LaneMaskGe => !(bit - 1),
        Special::LaneMaskGt => !(bit | (bit - 1)),
        _ => return None,
    })
}

fn param_value(params: &Flat, offset: u32, bytes: u32) -> u64 {
    use crate::memory::lane_memory::LaneMemory;
    match params.check(0, offset.into(), bytes, false) {
        Ok(place) => params.get(0, place, bytes).0,
        Err(_) => 0,
    }
}

pub(crate) fn block_coordinates(index: u64, grid: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(grid[0]), u64::from(grid[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}

/// What one block leaves for the report.
struct BlockResult {
    index: u64,
    raw: Vec<Raw>,
    printed: String,
    trace: Vec<Traced>,
    /// Instruction and thread.
    written: Option<(Pc, u32)>,
}

/// One launch.
struct Run<'r, 'e> {
    env: &'r Env<'e>,
    start: &'r Start,
    grid: [u32; 3],
    tracer: Option<([u32; 3], u32)>,
    watch: Option<Watch>,
    /// Blocks that run at once where they wait for each other.
    room: u64,
    cooperative: bool,
    /// Blocks behind this one need not run.
    stop: AtomicU64,
    most: Most,
}

/// The checks that look on while a block runs.
type Checks<'c> = (Races, (Option<Tracer>, (Option<Watcher>, Option<OrderWatch<'c>>)));
/// All that looks on.
type Monitors<'c, T> = (Checks<'c>, T);

/// Storage that one host thread reuses from block to block.
type Worker<'c, T> = Resident<Monitors<'c, T>>;

impl Run<'_, '_> {
    fn all<T: Tally>(&self, max_findings: usize) -> (Outcome, T) {
        let blocks = self.grid.iter().map(|&count| u64::from(count)).product();
        let mut worker = self.worker(None);
        let mut results = Vec::new();
        let mut next = 0;
        if self.cooperative {
            let (results, lane_instructions, tally) = self.together(None, worker, 0, blocks);
            return (self.merged(results, lane_instructions, max_findings), tally);
        }
        let mut may_fork = !self.env.program.ordered && self.env.memory.heap.is_unused();
        let mut order_matters = false;
        while next < blocks && next <= self.stop.load(Relaxed) {
            if may_fork && let Some(fork) = self.fork(next, blocks, &worker) {
                if fork == Fork::Later {
                    may_fork = false;
                    worker.state.monitor.0.0.global.make_room(self.env.memory);
                }
                if !order_matters {
                    match self.parallel(next, blocks, &worker, fork) {
                        Ok((mut rest, lane_instructions, tally)) => {
                            results.append(&mut rest);
                            worker.state.lane_instructions += lane_instructions;
                            worker.state.monitor.1.add(tally);
                            break;
                        }
                        Err(setback) => order_matters = setback == Setback::OrderMatters,
                    }
                }
            }
            self.start.begin(self.env, self.grid, &mut worker, next);
            next += 1;
            let ended = self.run_block(&mut worker, self.patience());
            if matches!(ended, Ended::Paused | Ended::Idle) {
                let storage = self.worker(None);
                let (mut rest, lane_instructions, tally) =
                    self.together(Some(worker), storage, next, blocks);
                results.append(&mut rest);
                return (self.merged(results, lane_instructions, max_findings), tally);
            }
            results.extend(self.leavings(&mut worker));
        }
        self.most.note(Footprint::of(&worker));
        let BlockState { lane_instructions, monitor: (_, tally), .. } = worker.state;
        (self.merged(results, lane_instructions, max_findings), tally)
    }

    fn worker<'c, T: Tally>(&self, conflicts: Option<&'c Conflicts>) -> Worker<'c, T> {
        let tracer = self.tracer.map(|(block, thread)| Tracer::new(block, thread));
        let order = conflicts.map(|conflicts| OrderWatch { conflicts, block: 0 });
        let across_blocks = conflicts.is_none();
        let races = Races::new(GlobalRaces::new(self.grid, across_blocks), self.env.program.fenced);
        let checks = (races, (tracer, (self.watch.map(Watcher::new), order)));
        let monitor = (checks, T::new(self.env.program));
        Resident::new(self.env.program, self.start.warps, monitor)
    }

    /// Runs a block that has begun.
    fn run_block<T: Tally>(&self, worker: &mut Worker<T>, patience: Patience) -> Ended {
        let Resident { index, state, warps, barriers } = worker;
        let stop = || self.stop.load(Relaxed) < *index;
        let ended = Turns { env: self.env, state, warps }.run_for(barriers, patience, stop);
        if ended == Ended::Endless {
            self.stop.fetch_min(*index, Relaxed);
        }
        ended
    }

    /// What a block that has ended leaves; None if there is nothing to report.
    fn leavings<T: Tally>(&self, worker: &mut Worker<T>) -> Option<BlockResult> {
        let Resident { index, state, .. } = worker;
        let index = *index;
        let ((_, (tracer, (watcher, _))), _) = &mut state.monitor;
        let trace = tracer.as_mut().map(|tracer| tracer.take(self.env.program));
        let result = BlockResult {
            index,
            raw: std::mem::take(&mut state.log.raw),
            printed: std::mem::take(&mut state.printed),
            trace: trace.unwrap_or_default(),
            written: watcher.as_mut().and_then(Watcher::take),
        };
        let silent = result.raw.is_empty()
            && result.printed.is_empty()
            && result.trace.is_empty()
            && result.written.is_none();
        (!silent).then_some(result)
    }
}
