//! Calls of functions that may have several activations in a thread, and calls through invalid pointers.

use crate::finding::{InvalidCall, StackOverflow};
use crate::isa::ir::{EnterFrame, LeaveFrame, StackUse};
use crate::isa::names::{Pc, Reg64};
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::machine::warp::call_stack::STACK;
use crate::memory::lane_memory::LaneMemory;

impl<M: Monitor> Machine<'_, '_, M> {
    /// Pushes a frame and copies the arguments into it; false if the stack is full.
    pub(super) fn enter(&mut self, pc: Pc, mask: u32, enter: &EnterFrame) -> bool {
        let frames = &self.env.program.frames;
        let frame = &frames[enter.frame as usize];
        let lane = mask.trailing_zeros() as usize % 32;
        let before = self.warp.registers.q(enter.pointer)[lane];
        let Some(start) = self.warp.calls.push(mask, frame, before) else {
            self.record(StackOverflow { limit: STACK, allocates: false }, pc, mask);
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

    /// Copies the results to the caller and pops the frame.
    pub(super) fn leave(&mut self, mask: u32, leave: &LeaveFrame) {
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

    /// Saves, restores or moves the end of the stack; false if it is full.
    pub(super) fn use_stack(&mut self, pc: Pc, mask: u32, what: StackUse) -> bool {
        let mut full = 0;
        for lane in lanes(mask) {
            let warp = &mut *self.warp;
            match what {
                StackUse::Save(d) => {
                    warp.registers.q_mut(d)[lane] = warp.calls.end(lane).into();
                }
                StackUse::Restore(end) => {
                    let end = warp.registers.q(end)[lane];
                    for (start, bytes) in warp.calls.shrink(lane, end) {
                        warp.local.close_frame(1 << lane, start, &[(0, bytes)]);
                    }
                }
                StackUse::Grow { address, bytes, align } => {
                    let bytes = warp.registers.q(bytes)[lane];
                    let Some(start) = warp.calls.grow(lane, bytes, align) else {
                        full |= 1 << lane;
                        continue;
                    };
                    warp.local.open_frame(1 << lane, start, &[(0, bytes as u32)]);
                    warp.registers.q_mut(address)[lane] = start.into();
                }
            }
        }
        if full != 0 {
            self.record(StackOverflow { limit: STACK, allocates: true }, pc, full);
        }
        full == 0
    }

    fn set_frame_pointer(&mut self, pointer: Reg64, mask: u32, address: u64) {
        for lane in lanes(mask) {
            self.warp.registers.q_mut(pointer)[lane] = address;
        }
    }

    /// Reports each lane whose pointer leads to no function.
    pub(super) fn invalid_call(&mut self, pc: Pc, mask: u32, pointer: Reg64) {
        for lane in lanes(mask) {
            let address = self.warp.registers.q(pointer)[lane];
            self.record(InvalidCall { address }, pc, 1 << lane);
        }
    }

    pub(super) fn copy_local(&mut self, mask: u32, to: u32, from: u32, size: u32) {
        let local = &mut self.warp.local;
        for lane in lanes(mask) {
            for byte in 0..u64::from(size) {
                let places = (
                    local.check(lane, u64::from(from) + byte, 1, false),
                    local.check(lane, u64::from(to) + byte, 1, true),
                );
                if let (Ok(from), Ok(to)) = places {
                    let (value, defined) = local.get(lane, from, 1);
                    if defined {
                        local.put(lane, to, 1, value);
                    }
                }
            }
        }
    }

    /// A parameter of a call, as the callee finds it.
    pub(super) fn argument(&self, lane: usize, place: u32, bytes: u32) -> u64 {
        match self.warp.local.check(lane, place.into(), bytes, false) {
            Ok(place) => self.warp.local.get(lane, place, bytes).0,
            Err(_) => 0,
        }
    }

    pub(super) fn set_argument(&mut self, lane: usize, place: u32, bytes: u32, value: u64) {
        if let Ok(place) = self.warp.local.check(lane, place.into(), bytes, true) {
            self.warp.local.put(lane, place, bytes, value);
        }
    }
}
