//! `malloc` and `free` of the device runtime, lane by lane in ascending order.

use crate::finding::InvalidFree;
use crate::isa::names::Pc;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;

/// How many instructions a call of `malloc` counts as, for the budget alone. A GPU executes hundreds for each; here it takes as long as
/// some hundreds, and a loop that allocates without end shall end as soon as any other.
const INSTRUCTIONS_OF_MALLOC: u64 = 256;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn malloc(&mut self, mask: u32, size: u32, result: Option<u32>) {
        self.warp.executed += INSTRUCTIONS_OF_MALLOC;
        for lane in lanes(mask) {
            let size = self.argument(lane, size, 8);
            let address = self.env.memory.malloc(size).unwrap_or(0);
            if let Some(result) = result {
                self.set_argument(lane, result, 8, address);
            }
        }
    }

    pub(super) fn free(&mut self, pc: Pc, mask: u32, pointer: u32) {
        for lane in lanes(mask) {
            let address = self.argument(lane, pointer, 8);
            if let Err(again) = self.env.memory.heap.free(address) {
                self.record(InvalidFree { address, again }, pc, 1 << lane);
            }
        }
    }
}
