//! Calls of functions that may be active more than once in a thread, and calls through wrong pointers.

use super::Machine;
use crate::finding::FindingKind;
use crate::isa::ir::{Enter, Leave, Pc, Q};
use crate::machine::call_stack::STACK;
use crate::machine::monitor::Monitor;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Begins a frame and brings the arguments there; false if the stack is full.
    pub(super) fn enter(&mut self, pc: Pc, mask: u32, enter: &Enter) -> bool {
        let frames = &self.env.program.frames;
        let frame = &frames[enter.frame as usize];
        let lane = mask.trailing_zeros() as usize % 32;
        let before = self.warp.registers.q(enter.pointer)[lane];
        let Some(start) = self.warp.calls.push(mask, frame, before) else {
            self.record(FindingKind::StackOverflow { limit: STACK }, pc, mask);
            return false;
        };
        if let Some(caller) = enter.caller {
            let caller = &frames[caller as usize];
            self.warp.calls.keep_registers(mask, caller, &self.warp.registers);
        }
        self.warp.local.open_frame(mask, start, &frame.variables);
        for &(from, to, size) in &enter.arguments {
            self.copy_local(mask, start + to, from, size);
        }
        self.set_frame_pointer(enter.pointer, mask, start.into());
        true
    }

    /// Brings the results to the caller and ends the frame.
    pub(super) fn leave(&mut self, mask: u32, leave: &Leave) {
        let frames = &self.env.program.frames;
        let frame = &frames[leave.frame as usize];
        let lane = mask.trailing_zeros() as usize % 32;
        let start = self.warp.registers.q(leave.pointer)[lane] as u32;
        for &(from, to, size) in &leave.results {
            self.copy_local(mask, to, start + from, size);
        }
        self.warp.local.close_frame(mask, start, &frame.variables);
        if let Some(caller) = leave.caller {
            let caller = &frames[caller as usize];
            self.warp.calls.restore_registers(mask, caller, &mut self.warp.registers);
        }
        let before = self.warp.calls.pop(mask);
        self.set_frame_pointer(leave.pointer, mask, before);
    }

    fn set_frame_pointer(&mut self, pointer: Q, mask: u32, address: u64) {
        for lane in crate::machine::warp::lanes(mask) {
            self.warp.registers.q_mut(pointer)[lane] = address;
        }
    }

    /// Tells of each lane whose pointer leads to no function.
    pub(super) fn invalid_call(&mut self, pc: Pc, mask: u32, pointer: Q) {
        for lane in crate::machine::warp::lanes(mask) {
            let address = self.warp.registers.q(pointer)[lane];
            self.record(FindingKind::InvalidCall { address }, pc, 1 << lane);
        }
    }
}
