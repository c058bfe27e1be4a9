//! The expressions in the registers of a warp.

use crate::instruments::provenance::arena::NodeId;
use crate::isa::names::Slot;
use crate::lanes::lanes;
use crate::program::code::Program;

/// The expressions that the registers of one file hold.
#[derive(Debug, Default)]
struct RegisterFile {
    nodes: Vec<[NodeId; 32]>,
    /// Lanes that hold an expression; what the others say is old.
    live: Vec<u32>,
}

impl RegisterFile {
    fn new(count: usize) -> Self {
        Self { nodes: vec![[NodeId::NONE; 32]; count], live: vec![0; count] }
    }
}

/// Register files of expressions.
#[derive(Debug, Default)]
pub struct Expressions {
    r: RegisterFile,
    q: RegisterFile,
}

impl Expressions {
    pub fn new(program: &Program) -> Self {
        Self { r: RegisterFile::new(program.r_count), q: RegisterFile::new(program.q_count) }
    }

    pub fn clear(&mut self) {
        self.r.live.fill(0);
        self.q.live.fill(0);
    }

    fn file(&self, slot: Slot) -> Option<(&RegisterFile, usize)> {
        match slot {
            Slot::Reg32(register) => Some((&self.r, register.0 as usize)),
            Slot::Reg64(register) => Some((&self.q, register.0 as usize)),
            Slot::Sink => None,
        }
    }

    fn file_mut(&mut self, slot: Slot) -> Option<(&mut RegisterFile, usize)> {
        match slot {
            Slot::Reg32(register) => Some((&mut self.r, register.0 as usize)),
            Slot::Reg64(register) => Some((&mut self.q, register.0 as usize)),
            Slot::Sink => None,
        }
    }

    /// Lanes of a register that hold an expression.
    pub fn live(&self, slot: Slot) -> u32 {
        self.file(slot).map_or(0, |(file, index)| file.live[index])
    }

    pub fn get(&self, slot: Slot, lane: usize) -> NodeId {
        match self.file(slot) {
            Some((file, index)) if file.live[index] >> lane & 1 == 1 => file.nodes[index][lane],
            _ => NodeId::NONE,
        }
    }

    pub fn set(&mut self, slot: Slot, lane: usize, node: NodeId) {
        let Some((file, index)) = self.file_mut(slot) else { return };
        file.nodes[index][lane] = node;
        let bit = 1 << lane;
        let live = &mut file.live[index];
        *live = if node.is_some() { *live | bit } else { *live & !bit };
    }

    /// The lanes of a mask take over all nodes.
    pub fn set_lanes(&mut self, slot: Slot, mask: u32, nodes: &[NodeId; 32]) {
        for lane in lanes(mask) {
            self.set(slot, lane, nodes[lane]);
        }
    }

    /// The lanes of a mask hold plain bits.
    pub fn forget(&mut self, slot: Slot, mask: u32) {
        if let Some((file, index)) = self.file_mut(slot) {
            file.live[index] &= !mask;
        }
    }
}
