//! Where the values of a run come from: each carries the sum of products that made it.

use super::expansion::Expansion;
use super::number::Number;
use rustc_hash::FxHashMap;
use std::ops::Range;

use super::arena::{Arena, LocationId, NodeId};
use super::cells::Cells;
use super::registers::Expressions;
use crate::memory::buffer::BufferId;
use crate::memory::global::Memory;
use crate::program::code::Program;
use crate::program::module::Module;
use crate::source_loc::SourceLoc;

/// Where a written element's value came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementOrigin {
    /// Block of the last thread that wrote it.
    pub block: [u32; 3],
    /// That thread in its block.
    pub thread: [u32; 3],
    /// Line of that write.
    pub loc: Option<SourceLoc>,
    /// Another thread had stored something there before; atomics do not count.
    pub overwrote: bool,
    /// The expression of the value that was written.
    pub value: Expansion,
}

/// Nodes at most: some 50 bytes each.
const MAX_NODES: usize = 1 << 20;
/// Instructions of warps at most.
const MAX_STEPS: u64 = 1 << 24;

/// The expressions behind the elements of tensors, over the launches of `launch_with_provenance`.
///
/// Expressions start where a kernel loads an element of one of the named tensors that no kernel has written, and go through
/// registers, shared, local and global memory, vectors, calls, shuffles, selects and atomics:
///
/// - sums, differences, products and quotients by constants are what [`Expansion::Products`] lists;
/// - of a select, `min`, `max` or absolute value, the chosen side is followed, and [`Self::depends_on_values`] tells;
/// - other functions stand as a `Factor::Function` of what they were applied to. Rounding to `f32` or `f64` is none,
///   rounding to 16 bits is;
/// - integers are plain values. Where a path or an address depends on an element, or on a buffer that is no named
///   tensor, [`Self::depends_on_values`] tells.
///
/// # Example
///
/// ```
/// use ptxvm::{
///     Access, Expansion, Factor, Init, Launch, Memory, Module, Number, Options, Provenance, launch_with_provenance,
/// };
///
/// // y[0] = x[0] * x[1] + x[0]
/// let module = Module::load(r#"
///     .version 9.0
///     .target sm_75
///     .address_size 64
///     .visible .entry k(.param .u64 x, .param .u64 y)
///     {
///         .reg .b64 %rd<3>; .reg .f32 %f<4>;
///         .loc 1 1 0
///         ld.param.u64 %rd1, [x];
///         ld.param.u64 %rd2, [y];
///         .loc 1 3 5
///         ld.global.v2.f32 {%f1, %f2}, [%rd1];
///         fma.rn.f32 %f3, %f1, %f2, %f1;
///         st.global.f32 [%rd2], %f3;
///         ret;
///     }
///     .file 1 "k.cu"
/// "#)?;
/// let mut memory = Memory::default();
/// let x = memory.alloc(Init::Bytes([2f32, 5.0].iter().flat_map(|v| v.to_le_bytes()).collect()), Access::ReadOnly);
/// let y = memory.alloc(Init::Undefined { len: 4 }, Access::ReadWrite);
/// let params = [x, y].map(|id| memory.address(id).to_le_bytes().to_vec()).to_vec();
/// let config = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params };
///
/// let mut provenance = Provenance::new([(x, Number::F32), (y, Number::F32)]);
/// let kernel = module.kernel("k").expect("the kernel");
/// launch_with_provenance(&module, kernel, &config, &mut memory, &Options::default(), &mut provenance)?;
///
/// assert!(provenance.is_complete() && !provenance.depends_on_values());
/// let written = provenance.element(&memory, y, 0, 100).expect("it was written");
/// let Expansion::Products(products) = written.value else { panic!("a sum of products") };
/// // x[0] and x[0] * x[1], both from line 3.
/// assert_eq!(products.iter().map(|p| p.factors.len()).collect::<Vec<_>>(), [1, 2]);
/// assert!(products.iter().all(|p| p.coefficient == 1.0));
/// assert!(products.iter().all(|p| p.loc.as_ref().is_some_and(|loc| loc.line == 3)));
/// assert!(matches!(products[1].factors[1], Factor::Element { buffer, byte: 4, .. } if buffer == x));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Provenance {
    pub(super) tensors: FxHashMap<BufferId, Number>,
    /// Places of the constant window that hold copies of buffers.
    pub(super) constants: Vec<(Range<u64>, BufferId)>,
    pub(super) arena: Arena,
    pub(super) global: Cells,
    pub(super) shared: Cells,
    /// Of all threads of a block; see [`local_address`].
    pub(super) local: Cells,
    pub(super) warps: Vec<Expressions>,
    pub(super) places: Vec<SourceLoc>,
    /// For each instruction of the kernel that runs.
    pub(super) place_of: Vec<LocationId>,
    pub(super) pending: PendingAtomic,
    pub(super) depends: bool,
    pub(crate) lost: bool,
    pub(super) steps: u64,
    pub(crate) max_steps: u64,
    pub(crate) only: Option<[u32; 3]>,
}

impl Provenance {
    /// Follows the elements of these buffers; outputs belong to them as well as inputs.
    pub fn new(tensors: impl IntoIterator<Item = (BufferId, Number)>) -> Self {
        Self {
            tensors: tensors.into_iter().collect(),
            constants: Vec::new(),
            arena: Arena::new(MAX_NODES),
            global: Cells::default(),
            shared: Cells::default(),
            local: Cells::default(),
            warps: Vec::new(),
            places: Vec::new(),
            place_of: Vec::new(),
            pending: PendingAtomic::default(),
            depends: false,
            lost: false,
            steps: 0,
            max_steps: MAX_STEPS,
            only: None,
        }
    }

    /// Gives up after `nodes` different values (a million otherwise), or `steps` instructions of warps (16 million).
    #[must_use]
    pub fn with_limits(mut self, nodes: usize, steps: u64) -> Self {
        self.arena = Arena::new(nodes);
        self.max_steps = steps;
        self
    }

    /// Runs this block of a launch alone. Its elements are right where no other block writes them, or what it reads.
    #[must_use]
    pub fn with_block(mut self, block: [u32; 3]) -> Self {
        self.only = Some(block);
        self
    }

    /// From now on these `.const` variables of a module, by their names in the PTX, hold copies of buffers: what kernels load
    /// from them counts as elements of the buffers.
    pub fn set_copies<'n>(
        &mut self,
        module: &Module,
        copies: impl IntoIterator<Item = (&'n str, BufferId)>,
    ) {
        let place = |(name, buffer): (&str, BufferId)| {
            let (start, size) = module.constant(name)?;
            Some((start as u64..(start + size) as u64, buffer))
        };
        self.constants = copies.into_iter().filter_map(place).collect();
    }

    /// Everything was followed to its end: no limit was reached, and there was no instruction without a rule.
    pub fn is_complete(&self) -> bool {
        !self.lost && !self.arena.is_full() && self.steps <= self.max_steps
    }

    /// Whether other values of the same tensors might have taken other paths: a branch, a select or an address depends on them.
    pub fn depends_on_values(&self) -> bool {
        self.depends
    }

    /// The element of a named tensor at a byte offset, with at most `limit` products; None if no kernel wrote it.
    pub fn element(
        &self,
        memory: &Memory,
        buffer: BufferId,
        byte: u64,
        limit: usize,
    ) -> Option<ElementOrigin> {
        let number = *self.tensors.get(&buffer)?;
        let cell = self.global.at(buffer.address() + byte, number.bytes())?;
        let value = if cell.node.is_some() {
            self.expansion(cell.node, number, limit)
        } else {
            let bits = memory.value(buffer, byte, number.bytes()).unwrap_or(u64::MAX);
            Expansion::constant(number.decode(bits))
        };
        Some(ElementOrigin {
            block: cell.by.block,
            thread: cell.by.thread,
            loc: self.loc(cell.by.place),
            overwrote: cell.overwrote,
            value,
        })
    }

    pub(super) fn loc(&self, place: LocationId) -> Option<SourceLoc> {
        self.places.get((place as usize).checked_sub(1)?).cloned()
    }

    /// Another kernel is about to run.
    pub(crate) fn begin(&mut self, program: &Program, warps: u32) {
        let base = self.places.len() as LocationId;
        self.places.extend(program.source_locations.iter().cloned());
        let moved = |&place: &LocationId| if place == 0 { 0 } else { place + base };
        self.place_of = program.places.iter().map(moved).collect();
        self.warps = (0..warps).map(|_| Expressions::new(program)).collect();
    }
}

/// One address for a place in the local memory of each thread of a block.
pub(super) fn local_address(warp: u32, lane: usize, address: u64) -> u64 {
    u64::from(warp) << 48 | (lane as u64) << 40 | address
}

/// What an atomic finds before it runs, lane by lane.
#[derive(Debug)]
pub(super) struct PendingAtomic {
    /// The added or stored value.
    pub(super) value: [NodeId; 32],
    /// The bits in memory.
    pub(super) before: [u64; 32],
}

impl Default for PendingAtomic {
    fn default() -> Self {
        Self { value: [NodeId::NONE; 32], before: [0; 32] }
    }
}
