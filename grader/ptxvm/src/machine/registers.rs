//! The register files of a warp.

use crate::isa::names::{Pred, Reg32, Reg64, Slot};
use crate::lanes::LaneArray;
use crate::program::code::Program;

/// The register files of a warp; every register holds a value for each of the 32 lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    pub r: Vec<LaneArray<u32>>,
    pub q: Vec<LaneArray<u64>>,
    pub p: Vec<u32>,
    /// The carry flag of each lane.
    pub carry: u32,
}

impl Registers {
    pub fn new(program: &Program) -> Self {
        Self {
            r: vec![LaneArray([0; 32]); program.r_count],
            q: vec![LaneArray([0; 32]); program.q_count],
            p: vec![0; program.p_count],
            carry: 0,
        }
    }

    /// The registers as a program finds them: all ones, a NaN in every float type. What is computed from an uninitialised
    /// variable must not look right by chance, as it would with zeros.
    pub fn undefined(program: &Program) -> Self {
        let mut registers = Self::new(program);
        registers.r.fill(LaneArray([u32::MAX; 32]));
        registers.q.fill(LaneArray([u64::MAX; 32]));
        registers
    }

    /// Copies the values of `other`, reusing the storage.
    pub fn reset_from(&mut self, other: &Self) {
        self.r.clone_from(&other.r);
        self.q.clone_from(&other.q);
        self.p.clone_from(&other.p);
        self.carry = other.carry;
    }

    #[inline(always)]
    pub fn r(&self, register: Reg32) -> &[u32; 32] {
        &self.r[register.0 as usize].0
    }

    #[inline(always)]
    pub fn r_mut(&mut self, register: Reg32) -> &mut [u32; 32] {
        &mut self.r[register.0 as usize].0
    }

    #[inline(always)]
    pub fn q(&self, register: Reg64) -> &[u64; 32] {
        &self.q[register.0 as usize].0
    }

    #[inline(always)]
    pub fn q_mut(&mut self, register: Reg64) -> &mut [u64; 32] {
        &mut self.q[register.0 as usize].0
    }

    #[inline(always)]
    pub fn p(&self, register: Pred) -> u32 {
        self.p[register.0 as usize]
    }

    /// Sets a predicate in the lanes of a mask.
    #[inline(always)]
    pub fn set_p(&mut self, register: Pred, mask: u32, value: u32) {
        let old = &mut self.p[register.0 as usize];
        *old = (*old & !mask) | (value & mask);
    }

    /// The value of one lane of a register; 0 for a sink.
    #[inline(always)]
    pub fn lane(&self, slot: Slot, lane: usize) -> u64 {
        match slot {
            Slot::Reg32(register) => self.r(register)[lane].into(),
            Slot::Reg64(register) => self.q(register)[lane],
            Slot::Sink => 0,
        }
    }

    /// Sets all lanes of a register.
    pub fn fill(&mut self, slot: Slot, value: u64) {
        match slot {
            Slot::Reg32(register) => *self.r_mut(register) = [value as u32; 32],
            Slot::Reg64(register) => *self.q_mut(register) = [value; 32],
            Slot::Sink => {}
        }
    }

    #[inline(always)]
    pub fn set_lane(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot {
            Slot::Reg32(register) => self.r_mut(register)[lane] = value as u32,
            Slot::Reg64(register) => self.q_mut(register)[lane] = value,
            Slot::Sink => {}
        }
    }
}
