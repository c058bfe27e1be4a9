//! Where the values of a run come from: each carries the sum of products that made it.

use super::Provenance;
use super::expansion::Expansion;
use super::number::Number;

use super::arena::{Arena, LocationId, NodeId};
use super::cells::Cells;
use super::registers::Expressions;
use crate::memory::Memory;
use crate::memory::buffer::BufferId;
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
            tile: Vec::new(),
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

    /// Block and thread that stored an element of a named tensor last; `None` if no kernel wrote it.
    pub fn last_writer(&self, buffer: BufferId, byte: u64) -> Option<([u32; 3], [u32; 3])> {
        let number = self.tensors.get(&buffer)?;
        let cell = self.global.at(buffer.address() + byte, number.bytes())?;
        Some((cell.by.block, cell.by.thread))
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
