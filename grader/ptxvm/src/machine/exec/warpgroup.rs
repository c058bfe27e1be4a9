//! Products of a warpgroup. They take place when they begin; who changes their factors before they are waited for is told so
//! where the warp waits.

use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, UnevenOperands};
use crate::isa::matrix::{Product, Scalar};
use crate::isa::names::Pc;
use crate::isa::ops::fused_sum::BitMatrix;
use crate::isa::ops::{product::product, product8};
use crate::isa::warpgroup::{Descriptor, Factor, GroupProduct, PIECE, ROWS, depth, piece_elements};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::exec::matrix::{gather, scatter};
use crate::machine::group_reads::{GroupReads, PiecesRead};
use crate::machine::monitor::Monitor;
use crate::memory::lane_memory::LaneMemory;

/// The sign of a float that fills its element.
fn sign(scalar: Scalar) -> u64 {
    1 << (8 * scalar.bytes() - 1)
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Executes `wgmma.mma_async` for the rows of this warp.
    pub(super) fn group_product(&mut self, pc: Pc, op: &GroupProduct) {
        let uniform = |machine: &Self, factor: Option<Factor>| {
            let Some(Factor { descriptor, .. }) = factor else { return 0 };
            let all = machine.warp.registers.q(descriptor);
            lanes(u32::MAX).filter(|&lane| all[lane] != all[0]).fold(0, |odd, lane| odd | 1 << lane)
        };
        let adds = op.adds.map_or(u32::MAX, |guard| self.guard_bits(guard));
        let mixed = if adds == 0 || adds == u32::MAX { 0 } else { adds };
        let uneven = uniform(self, op.a) | uniform(self, Some(op.b)) | mixed;
        if uneven != 0 {
            self.record(UnevenOperands, pc, uneven);
            for &slot in &op.product.d.slots {
                self.set_lanes(slot, u32::MAX, &[u64::MAX; 32]);
            }
            return;
        }
        let n = op.product.shape.n;
        let first_row = self.warp.index as usize % 4 * ROWS;
        let mut a = match op.a {
            // Row by row.
            Some(factor) => self.factor(pc, factor, op.product.a.scalar, first_row, ROWS),
            None => gather(&self.warp.registers, &op.product.a),
        };
        let columns = self.factor(pc, op.b, op.product.b.scalar, 0, n);
        let depth = op.product.shape.k;
        let mut b: BitMatrix =
            (0..depth * n).map(|index| columns[index % n * depth + index / n]).collect();
        let Product { a: of_a, b: of_b, .. } = &op.product;
        for ((matrix, of), negated) in [(&mut a, of_a), (&mut b, of_b)].into_iter().zip(op.negated)
        {
            if negated {
                for element in matrix.iter_mut() {
                    *element ^= sign(of.scalar);
                }
            }
        }
        let c = if adds == 0 {
            // A zero of either type.
            vec![0; ROWS * n]
        } else {
            gather(&self.warp.registers, &op.product.c)
        };
        let mut d = if matches!(of_a.scalar, Scalar::E4m3 | Scalar::E5m2) {
            product8::of_group(&op.product, &a, &b, &c)
        } else {
            product(&op.product, &a, &b, &c, self.env.simd.add_products)
        };
        if op.product.d.scalar == Scalar::F16 {
            // A sum that rounds to zero has no sign, other than that of `mma` (measured on an H200).
            for element in d.iter_mut().filter(|element| **element == sign(Scalar::F16)) {
                *element = 0;
            }
        }
        scatter(&mut self.warp.registers, &op.product.d, &d);
    }

    /// Reads `count` rows of A, or columns of B, from `first` on, one behind the other.
    fn factor(
        &mut self,
        pc: Pc,
        factor: Factor,
        scalar: Scalar,
        first: usize,
        count: usize,
    ) -> BitMatrix {
        let descriptor = Descriptor::new(self.warp.registers.q(factor.descriptor)[0]);
        let (depth, each, bytes) = (depth(scalar), piece_elements(scalar), scalar.bytes());
        let mut elements = vec![0; count * depth];
        // The first element of each piece.
        let firsts: Vec<(usize, usize)> = if factor.transposed {
            (0..depth).flat_map(|k| (0..count).step_by(each).map(move |outer| (outer, k))).collect()
        } else {
            (0..count).flat_map(|outer| (0..depth).step_by(each).map(move |k| (outer, k))).collect()
        };
        for group in firsts.chunks(32) {
            let mask = u32::MAX >> (32 - group.len());
            let mut addresses = [0; 32];
            let mut faults = LaneFaults::default();
            for (lane, &(outer, k)) in group.iter().enumerate() {
                let halves = k * bytes as usize / 2;
                let address = descriptor.piece(first + outer, halves, factor.transposed);
                addresses[lane] = address;
                let place = match self.state.shared.check(lane, address, PIECE, false) {
                    Ok(place) => place,
                    Err(fault) => {
                        faults.add(lane, fault);
                        continue;
                    }
                };
                for element in 0..each {
                    let at = place + element * bytes as usize;
                    let (value, defined) = self.state.shared.get(lane, at, bytes);
                    faults.undefined |= u32::from(!defined) << lane;
                    let (outer, k) =
                        if factor.transposed { (outer + element, k) } else { (outer, k + element) };
                    elements[outer * depth + k] = value;
                }
            }
            let info = AccessInfo::plain(pc, AccessKind::Read, PIECE);
            self.accessed(info, Window::Shared, mask, &addresses, faults);
            let read = PiecesRead { pc, mask: mask & !faults.refused(), addresses };
            self.group_reads().open.push(read);
        }
        elements
    }

    fn group_reads(&mut self) -> &mut GroupReads {
        &mut self.state.copies[self.warp.index as usize].products
    }

    /// `wgmma.commit_group`
    pub(super) fn end_products(&mut self) {
        let reads = self.group_reads();
        let group = std::mem::take(&mut reads.open);
        reads.groups.push(group);
    }

    /// `wgmma.wait_group`: all groups but the last `groups` end here, and what they read until now must not have changed.
    pub(super) fn wait_for_products(&mut self, groups: u32) {
        let reads = self.group_reads();
        let ended = reads.groups.len().saturating_sub(groups as usize);
        let ended: Vec<PiecesRead> = reads.groups.drain(..ended).flatten().collect();
        for PiecesRead { pc, mask, addresses } in ended {
            let info =
                AccessInfo { ends_copy: true, ..AccessInfo::plain(pc, AccessKind::Read, PIECE) };
            self.accessed(info, Window::Shared, mask, &addresses, LaneFaults::default());
        }
    }
}
