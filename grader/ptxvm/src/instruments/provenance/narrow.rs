//! Follows arithmetic on 16-bit floats. Their registers hold bits, so their nodes say so; see [`raw`].

use crate::instruments::provenance::Provenance;
use crate::instruments::provenance::arena::raw;
use crate::instruments::provenance::arena::{LocationId, Node, NodeId};
use crate::instruments::provenance::rules::Half;
use crate::isa::names::Slot;
use crate::machine::registers::Registers;

impl Provenance {
    pub(super) fn half(
        &mut self,
        op: Half,
        name: &'static str,
        (registers, warp): (&Registers, u32),
        sources: [Slot; 3],
        lane: usize,
        place: LocationId,
    ) -> NodeId {
        let count = match op {
            Half::Neg => 1,
            Half::Add | Half::Sub | Half::Mul => 2,
            Half::Fma => 3,
        };
        let mut nodes = [NodeId::NONE; 3];
        for (node, &slot) in nodes.iter_mut().zip(&sources).take(count) {
            let known = self.warps[warp as usize].get(slot, lane);
            *node = if known.is_some() {
                match self.arena.get(known) {
                    Node::Function(of, [inner, _], at) if of == raw(name) || of == name => {
                        self.arena.widened(name, (of, inner, at))
                    }
                    _ => return self.arena.opaque(place),
                }
            } else {
                let bits = registers.lane(slot, lane) as u16;
                self.arena.constant(if name == "f16" {
                    half::f16::from_bits(bits).to_f64()
                } else {
                    half::bf16::from_bits(bits).to_f64()
                })
            };
        }
        let [x, y, z] = nodes;
        let result = match op {
            Half::Neg => self.arena.neg(x),
            Half::Add => self.arena.add(x, y, place),
            Half::Sub => {
                let y = self.arena.neg(y);
                self.arena.add(x, y, place)
            }
            Half::Mul => self.arena.mul(x, y, place),
            Half::Fma => {
                let product = self.arena.mul(x, y, place);
                self.arena.add(z, product, place)
            }
        };
        self.arena.function(raw(name), [result, NodeId::NONE], place)
    }
}
