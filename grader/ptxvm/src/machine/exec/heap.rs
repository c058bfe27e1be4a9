//! `malloc` and `free` of the device runtime, lane by lane in ascending order.

use crate::finding::InvalidFree;
use crate::isa::names::Pc;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn malloc(&mut self, mask: u32, size: u32, result: Option<u32>) {
        for lane in lanes(mask) {
            let size = self.argument(lane, size, 8);
            let address = self.env.memory.heap.alloc(size).unwrap_or(0);
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
