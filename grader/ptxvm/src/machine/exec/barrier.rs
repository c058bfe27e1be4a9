//! Barriers of the block (`bar`), as one warp arrives at them.

use super::Machine;
use super::state::YieldReason;
use crate::finding::BarrierDivergence;
use crate::isa::ir::{Bar, BarReduce};
use crate::isa::names::Pc;
use crate::lanes::lanes;
use crate::machine::monitor::Monitor;
use crate::machine::warp::Warp;
use crate::machine::warp::simt_stack::WarpStatus;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Arrives at a barrier of the block, which needs every live lane of the warp. Lanes that arrive without the others are
    /// reported and go on.
    pub(super) fn barrier(&mut self, pc: Pc, bar: &Bar) -> Option<YieldReason> {
        let mask = self.warp.current.mask;
        let come = mask | std::mem::take(&mut self.warp.guests);
        if come != self.warp.live {
            self.retire_idle_lanes();
        }
        if come != self.warp.live {
            let other =
                self.warp.other_pc().and_then(|pc| self.env.program.source_location(pc)).cloned();
            self.record(BarrierDivergence { other }, pc, mask);
            self.finish_alone(bar, mask);
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        let id = self.warp.registers.r(bar.id)[lane];
        let threads = bar.threads.map(|threads| self.warp.registers.r(threads)[lane]);
        self.warp.current.pc = pc + 1;
        self.warp.spin.probe = None;
        if bar.waits {
            self.warp.status = WarpStatus::Waiting(id);
        }
        Some(YieldReason::Barrier { bar: pc, id, threads })
    }

    /// Retires lanes that have returned in the source but wait at a jump to the kernel's end: which side of a branch runs first
    /// must not decide what a barrier reports.
    pub(super) fn retire_idle_lanes(&mut self) {
        let mut rest = self.warp.live & !self.warp.current.mask;
        let mut ended = 0;
        for split in self.warp.stack.iter().rev() {
            if self.env.program.only_ends(split.pc) {
                ended |= split.mask & rest;
            }
            rest &= !split.mask;
        }
        self.warp.retire(ended);
        for subwarp in std::mem::take(&mut self.warp.others) {
            if subwarp.state.is_runnable()
                && self.env.program.only_ends(subwarp.current.pc)
                && subwarp.stack.is_empty()
            {
                self.warp.live &= !subwarp.current.mask;
            } else {
                self.warp.others.push(subwarp);
            }
        }
    }

    /// Computes a reduction over lanes that arrived without the others.
    fn finish_alone(&mut self, bar: &Bar, mask: u32) {
        if let Some((reduce, guard)) = bar.reduce {
            let bits = self.guard_bits(guard) & mask;
            let all = bits == mask;
            finish_reduction(self.warp, reduce, mask, bits.count_ones(), all);
        }
    }
}

/// Writes the result of `bar.red` to the lanes of a warp.
pub(crate) fn finish_reduction(
    warp: &mut Warp,
    reduce: BarReduce,
    mask: u32,
    count: u32,
    all: bool,
) {
    match reduce {
        BarReduce::Popc(d) => {
            for lane in lanes(mask) {
                warp.registers.r_mut(d)[lane] = count;
            }
        }
        BarReduce::And(d) => warp.registers.set_p(d, mask, if all { u32::MAX } else { 0 }),
        BarReduce::Or(d) => warp.registers.set_p(d, mask, if count > 0 { u32::MAX } else { 0 }),
    }
}
