//! Schedules the subwarps of a diverged warp, and lets other lanes run while some spin.

use std::collections::hash_map::Entry;

use crate::isa::names::{Address, Pc};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::exec::state::YieldReason;
use crate::machine::monitor::Monitor;
use crate::machine::warp::simt_stack::WarpStatus;
use crate::machine::warp::spin_detector::{PolledValue, Repeated, SpinVerdict};
use crate::machine::warp::subwarp::SubwarpState;
use crate::memory::lane_memory::{byte, value};

impl<M: Monitor> Machine<'_, '_, M> {
    /// Begins a time slice. The warp no longer needs to be woken by what it polled before: it reads it itself now.
    pub(super) fn begin_slice(&mut self, slice_end: u64) {
        if !self.state.polled.is_empty() {
            self.state.polled.forget(self.warp.index);
        }
        self.warp.spin.rested = None;
        self.plan_check(slice_end);
    }

    /// Sets after how many instructions [`Self::check_schedule`] is due.
    pub(super) fn plan_check(&mut self, slice_end: u64) {
        let spin = &mut self.warp.spin;
        let next = slice_end.min(spin.next_probe);
        spin.next_check = match spin.probe {
            Some(_) => 0,
            None if self.warp.others.is_empty() => next,
            None => next.min(spin.subwarp_slice_end),
        };
    }

    /// The scheduling decisions that are due after a branch: probes for spinning lanes, the end of the slice, the turn of another
    /// subwarp. The reason to yield, if there is one.
    pub(super) fn check_schedule(&mut self, slice_end: u64) -> Option<YieldReason> {
        let executed = self.warp.executed;
        if self.warp.spin.probe.is_some() {
            let (shared, memory) = (&self.state.shared, self.env.memory);
            let seen = self.warp.probe(|warp, (window, lane, address), value| {
                let lane = usize::from(lane);
                let found = match window {
                    Window::Global => byte(&memory, lane, address),
                    Window::Shared => byte(shared, lane, address),
                    _ => byte(&warp.local, lane, address),
                };
                found == Some(value)
            });
            if let SpinVerdict::Spinning(ran, polled) = seen {
                self.state.polled.add(&polled);
                if self.spins(ran) {
                    return Some(YieldReason::Spins);
                }
            }
        } else if executed >= self.warp.spin.next_probe {
            if self.warp.should_probe() {
                self.warp.begin_probe();
            } else {
                self.warp.skip_probe();
            }
        }
        if self.warp.spin.probe.is_none() {
            if executed >= slice_end {
                return Some(YieldReason::Slice);
            }
            if !self.warp.others.is_empty() && executed >= self.warp.spin.subwarp_slice_end {
                self.warp.spin.idle = 0;
                self.warp.suspend(SubwarpState::Ready);
                self.switch();
            }
        }
        self.plan_check(slice_end);
        None
    }

    /// The running lanes spin. They may wait for another warp, so the others run first; if that does not help, the lanes of this
    /// warp that wait for the spinning ones to reconverge are split off. True if the warp can do nothing but spin.
    pub(super) fn spins(&mut self, ran: u32) -> bool {
        let warp = &mut *self.warp;
        warp.spin.note_spinning(warp.executed);
        let waiting = warp.subwarp() & !ran;
        if warp.spin.may_split {
            if waiting != 0 {
                warp.split_off_waiting(waiting);
                warp.spin.idle = 0;
            } else if warp.release_joins() {
                warp.spin.idle = 0;
            }
        }
        warp.spin.idle += 1;
        let subwarps = warp.others.len() + 1;
        if subwarps > 1 {
            warp.suspend(SubwarpState::Ready);
            self.switch();
        }
        if self.warp.spin.idle < subwarps {
            return false;
        }
        self.warp.spin.idle = 0;
        self.warp.spin.note_idle_round();
        self.warp.spin.rested = Some(0);
        true
    }

    /// Resumes another subwarp, after the running one has exited or was suspended; false if there is none, and the warp has
    /// exited.
    pub(super) fn switch(&mut self) -> bool {
        let index = match self.warp.next_ready() {
            Some(index) => index,
            None if self.warp.others.is_empty() => {
                self.warp.status = WarpStatus::Done;
                return false;
            }
            None => self.pick_blocked(),
        };
        self.warp.resume_subwarp(index);
        self.warp.spin.switch_subwarp(self.warp.executed);
        true
    }

    /// Pops the stack at a reconvergence point; false if the warp has exited.
    pub(super) fn go_on(&mut self) -> bool {
        self.warp.pop() || self.switch()
    }

    /// Retires the lanes of a mask; false if the warp has exited.
    pub(super) fn end_lanes(&mut self, mask: u32) -> bool {
        self.warp.exit(mask) || self.switch()
    }

    /// Saves for the running probe what lies at the addresses of an access that is about to happen. `polls`: it may wait for
    /// another thread. `writes`: it may change memory.
    #[cold]
    pub(super) fn probe_access(
        &mut self,
        pc: Pc,
        mask: u32,
        address: &Address,
        size: u32,
        polls: bool,
        writes: bool,
    ) {
        let mut found = Vec::new();
        self.each_window(mask, address, |machine, window, mask, addresses| {
            if window == Window::Cluster
                && let Some(probe) = &mut machine.warp.spin.probe
            {
                probe.lost = true;
                return;
            }
            for lane in lanes(mask) {
                let address = addresses[lane];
                let written = if writes { u64::from(size) } else { 0 };
                for at in (0..written).map(|index| address.wrapping_add(index)) {
                    let owner = if window == Window::Local { lane as u8 } else { 0 };
                    let old = machine.byte(window, lane, at);
                    if let (Some(old), Some(probe)) = (old, &mut machine.warp.spin.probe) {
                        probe.bytes.entry((window, owner, at)).or_insert(old);
                    }
                }
                if polls {
                    let (warp, value) =
                        (machine.warp.index, machine.value_at(window, lane, address, size));
                    found.push(PolledValue {
                        warp,
                        lane: lane as u8,
                        window,
                        address,
                        size,
                        value,
                    });
                }
            }
        });
        let Some(probe) = self.warp.spin.probe.as_mut().filter(|_| polls) else { return };
        match probe.polled.entry(pc) {
            Entry::Vacant(entry) => {
                entry.insert(found);
            }
            Entry::Occupied(entry) => {
                let same = *entry.get() == found;
                probe.news |= !same;
                if same {
                    let clock = probe.clock;
                    let repeated = if clock { Repeated::AfterClock } else { Repeated::Yes };
                    probe.repeated = repeated.max(probe.repeated);
                }
            }
        }
    }

    /// Like [`Self::probe_access`], for bytes of local memory that are about to change.
    #[cold]
    pub(super) fn probe_local(&mut self, mask: u32, start: u32, size: u32) {
        let Some(probe) = &mut self.warp.spin.probe else { return };
        for lane in lanes(mask) {
            for at in (start..start + size).map(u64::from) {
                if let Some(old) = byte(&self.warp.local, lane, at) {
                    probe.bytes.entry((Window::Local, lane as u8, at)).or_insert(old);
                }
            }
        }
    }

    /// Whether an access has changed a value that another warp of the block has polled.
    pub(super) fn changes_polled(&mut self, mask: u32, address: &Address) -> bool {
        let mut changes = false;
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let is_there = |at| lanes(mask).any(|lane| addresses[lane] == at);
            let (memory, shared) = (machine.env.memory, &machine.state.shared);
            changes |= machine.state.polled.any_changed(window, is_there, memory, shared);
        });
        changes
    }

    fn byte(&self, window: Window, lane: usize, address: u64) -> Option<u8> {
        match window {
            Window::Global => byte(&self.env.memory, lane, address),
            Window::Shared => byte(&self.state.shared, lane, address),
            Window::Local => byte(&self.warp.local, lane, address),
            Window::Const | Window::Param | Window::Cluster => None,
        }
    }

    /// What lies at an address of a window ([`value`]).
    fn value_at(&self, window: Window, lane: usize, address: u64, size: u32) -> u64 {
        match window {
            Window::Global => value(&self.env.memory, lane, address, size),
            Window::Shared => value(&self.state.shared, lane, address, size),
            Window::Local => value(&self.warp.local, lane, address, size),
            Window::Const | Window::Param | Window::Cluster => 0,
        }
    }

    /// Tells the running probe that a clock is read.
    pub(super) fn probe_clock(&mut self) {
        if let Some(probe) = &mut self.warp.spin.probe {
            probe.clock = true;
        }
    }

    /// Voids the running probe, before an operation whose effects it does not track.
    pub(super) fn probe_loses_track(&mut self) {
        if let Some(probe) = &mut self.warp.spin.probe {
            probe.lost = true;
        }
    }
}
