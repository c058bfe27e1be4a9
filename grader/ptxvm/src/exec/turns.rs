//! Parts of a warp take turns, and lanes that spin let others go on.

use super::{Machine, Pause};
use crate::hooks::Monitor;
use crate::ir::{Address, Pc};
use crate::livelock::Stops;
use crate::memory::{LaneMemory, Window};
use crate::parts::State;
use crate::spin::{Polled, Seen, Spinning};
use crate::warp::{Status, lanes};

/// What became of the part that ran.
pub(super) enum Stays {
    /// It goes on.
    Here,
    /// Another part runs.
    Elsewhere,
    /// The warp does nothing but spin.
    Nowhere,
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// The warp has its turn: what it has waited for, it looks at itself.
    pub(super) fn begin_turn(&mut self, slice_end: u64) {
        self.warp.spin.apart &= !self.warp.others.is_empty();
        if !self.state.polled.is_empty() {
            let index = self.warp.index;
            self.state.polled.retain(|polled| polled.warp != index);
        }
        self.plan_turn(slice_end);
    }

    /// Whether the warp spins, and nothing that it looks at has changed: it need not be run to see that it goes on so.
    pub(super) fn sleeps(&mut self) -> bool {
        let Some(asleep) = self.warp.spin.asleep.take() else { return false };
        let same = |polled: &Polled| {
            let Polled { window, lane, address, size, value, .. } = *polled;
            self.value_at(window, lane.into(), address, size) == value
        };
        let sleeps = asleep.iter().all(same);
        self.warp.spin.asleep = Some(asleep).filter(|_| sleeps);
        sleeps
    }

    /// Sets when the next call of [`Self::turn`] is due.
    pub(super) fn plan_turn(&mut self, slice_end: u64) {
        let spin = &mut self.warp.spin;
        let next = slice_end.min(spin.look_at);
        spin.next_turn = match spin.watch {
            Some(_) => 0,
            None if spin.leaving.is_some() => 0,
            None if self.warp.others.is_empty() => next,
            None => next.min(spin.turn_end),
        };
    }

    /// After a branch, when it is due. Why the warp pauses, if it does.
    pub(super) fn turn(&mut self, slice_end: u64) -> Option<Pause> {
        let executed = self.warp.executed;
        if self.warp.spin.leaving.is_some() {
            if self.step() && self.give_way() {
                return Some(Pause::Spins);
            }
        } else if self.warp.spin.watch.is_some() {
            let (shared, memory) = (&self.state.shared, self.env.memory);
            let seen = self.warp.look(|warp, (window, lane, address), value| {
                let lane = usize::from(lane);
                let found = match window {
                    Window::Global => byte(&memory, lane, address),
                    Window::Shared => byte(shared, lane, address),
                    _ => byte(&warp.local, lane, address),
                };
                found == Some(value)
            });
            if let Seen::Spinning(Spinning { lanes, polled, way, again }) = seen {
                self.state.polled.extend(&polled);
                if way.changes {
                    let (seed, alone) = (self.seed(), self.warp.part().is_power_of_two());
                    let spin = &mut self.warp.spin;
                    spin.steps_back = true;
                    spin.leaving = Some(if alone {
                        spin.stops.behind(lanes, &way, again, seed)
                    } else {
                        Stops::before_parting(lanes, &way)
                    });
                } else if self.spins(lanes, Some(polled).filter(|_| again && !way.reads)) {
                    return Some(Pause::Spins);
                }
            }
        } else if executed >= self.warp.spin.look_at {
            if self.warp.is_worth_a_look() {
                self.warp.begin_look();
            } else {
                self.warp.skip_look();
            }
        }
        if self.warp.spin.watch.is_none() && self.warp.spin.leaving.is_none() {
            // Whether all parts spin is found out first.
            let asks = self.warp.spin.idle > 0 && !self.warp.others.is_empty();
            if executed >= slice_end && !asks {
                return Some(Pause::Slice);
            }
            if !self.warp.others.is_empty() && executed >= self.warp.spin.turn_end {
                if self.warp.stays_apart() {
                    let (lanes, seed) = (self.warp.part(), self.seed());
                    let spin = &mut self.warp.spin;
                    spin.leaving = Some(spin.stops.anywhere(lanes, seed));
                } else {
                    self.change_parts();
                }
            }
        }
        self.plan_turn(slice_end);
        None
    }

    /// Another part gets its turn.
    fn change_parts(&mut self) {
        self.warp.spin.idle = 0;
        self.warp.put_aside(State::Ready);
        self.switch();
    }

    /// After a step of lanes that leave: whether it was their last.
    fn step(&mut self) -> bool {
        let (running, depth) = (self.warp.now.mask, self.warp.stack.len());
        self.warp.spin.leaving.as_mut().is_some_and(|leaving| leaving.step(running, depth))
    }

    /// Lanes that leave have done so. True if the warp does nothing but spin.
    fn give_way(&mut self) -> bool {
        let Some(leaving) = self.warp.spin.leaving.take() else { return false };
        if leaving.spin {
            return self.spins(leaving.lanes, None);
        }
        self.change_parts();
        false
    }

    /// Another number for each warp of the launch.
    fn seed(&self) -> u64 {
        let [x, y, z] = self.state.coordinates.map(u64::from);
        (z << 48 | y << 32) ^ x << 8 ^ u64::from(self.warp.index)
    }

    /// The running lanes wait for somebody. That may be another warp, so others get their turn first; in the end those lanes of
    /// the warp go on that wait for them. True if the warp has nothing else to do.
    pub(super) fn spins(&mut self, ran: u32, polled: Option<Vec<Polled>>) -> bool {
        let warp = &mut *self.warp;
        warp.spin.found(warp.executed);
        warp.spin.at_work = 0;
        let waiting = warp.part() & !ran;
        if warp.spin.may_part {
            if waiting != 0 {
                warp.let_go(waiting);
                warp.spin.idle = 0;
            } else if warp.let_parked_go() {
                warp.spin.idle = 0;
            } else if warp.spin.steps_back && !warp.part().is_power_of_two() {
                warp.separate();
                warp.spin.idle = 0;
            }
        }
        // Lanes that wait for these may be let go later.
        let complete = warp.spin.may_part || waiting == 0 && warp.others.is_empty();
        warp.spin.doze(polled.filter(|_| complete));
        warp.spin.idle += 1;
        let parts = warp.others.len() + 1;
        if parts > 1 {
            warp.put_aside(State::Ready);
            self.switch();
        }
        if self.warp.spin.idle < parts {
            return false;
        }
        self.warp.spin.idle = 0;
        self.warp.spin.asleep = self.warp.spin.looks_at.take();
        self.warp.spin.rested();
        true
    }

    /// Takes up another part, after the running one has ended or was put aside; false if there is none, and the warp has ended.
    pub(super) fn switch(&mut self) -> bool {
        let index = match self.warp.next_ready() {
            Some(index) => index,
            None if self.warp.others.is_empty() => {
                self.warp.status = Status::Done;
                return false;
            }
            None => self.stuck(),
        };
        self.warp.take_up(index);
        self.warp.spin.change(self.warp.executed);
        true
    }

    /// Goes on after a split has come to its end; false if the warp has ended.
    pub(super) fn go_on(&mut self) -> bool {
        self.warp.pop() || self.switch()
    }

    /// The lanes of a mask end; false if the warp has.
    pub(super) fn end_lanes(&mut self, mask: u32) -> bool {
        self.warp.exit(mask) || self.switch()
    }

    /// Before an access while a look is under way: keeps what lies there. `writes`: it may change it.
    #[cold]
    pub(super) fn watch_access(
        &mut self,
        pc: Pc,
        mask: u32,
        address: &Address,
        size: u32,
        polls: bool,
        writes: bool,
    ) {
        let mut found = Vec::new();
        let mut before = Vec::new();
        self.each_window(mask, address, |machine, window, mask, addresses| {
            for lane in lanes(mask) {
                let address = addresses[lane];
                for at in (0..u64::from(size)).map(|index| address.wrapping_add(index)) {
                    let owner = if window == Window::Local { lane as u8 } else { 0 };
                    let old = machine.byte(window, lane, at).filter(|_| writes);
                    if let (Some(old), Some(watch)) = (old, &mut machine.warp.spin.watch) {
                        watch.bytes.entry((window, owner, at)).or_insert(old);
                    }
                }
                let (warp, value) =
                    (machine.warp.index, machine.value_at(window, lane, address, size));
                if writes && window != Window::Local {
                    before.push((window, lane as u8, address, size, value));
                }
                if polls {
                    found.push(Polled { warp, lane: lane as u8, window, address, size, value });
                }
            }
        });
        let Some(watch) = &mut self.warp.spin.watch else { return };
        watch.before = before;
        if polls {
            watch.note(pc, found, self.warp.executed);
        }
    }

    /// After an access that may have changed memory, while a look is under way or lanes are about to leave.
    #[cold]
    pub(super) fn after_write(&mut self, pc: Pc) -> Stays {
        if let Some(watch) = &mut self.warp.spin.watch {
            let before = std::mem::take(&mut watch.before);
            let changes = before.iter().map(|&(window, lane, address, size, old)| {
                let new = self.value_at(window, usize::from(lane), address, size);
                i128::from(new) - i128::from(old)
            });
            let changes: Vec<i128> = changes.filter(|change| *change != 0).collect();
            if let Some(watch) = &mut self.warp.spin.watch {
                watch.way.step(&changes, self.warp.stack.len());
            }
        }
        if !self.step() {
            return Stays::Here;
        }
        self.warp.now.pc = pc + 1;
        if self.give_way() { Stays::Nowhere } else { Stays::Elsewhere }
    }

    /// As [`Self::watch_access`], before bytes of local memory change.
    #[cold]
    pub(super) fn watch_local(&mut self, mask: u32, start: u32, size: u32) {
        let Some(watch) = &mut self.warp.spin.watch else { return };
        for lane in lanes(mask) {
            for at in (start..start + size).map(u64::from) {
                if let Some(old) = byte(&self.warp.local, lane, at) {
                    watch.bytes.entry((Window::Local, lane as u8, at)).or_insert(old);
                }
            }
        }
    }

    /// Whether something that another warp of the block waits for is not as it was when that warp looked.
    pub(super) fn changes_polled(&mut self, mask: u32, address: &Address) -> bool {
        // Those that step back will change it again at once.
        if self.warp.spin.steps_back {
            return false;
        }
        let mut changes = false;
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let news = |polled: &Polled| {
                polled.window == window
                    && lanes(mask).any(|lane| addresses[lane] == polled.address)
                    && machine.value_at(window, 0, polled.address, polled.size) != polled.value
            };
            changes |= machine.state.polled.iter().any(news);
        });
        changes
    }

    fn byte(&self, window: Window, lane: usize, address: u64) -> Option<u8> {
        match window {
            Window::Global => byte(&self.env.memory, lane, address),
            Window::Shared => byte(&self.state.shared, lane, address),
            Window::Local => byte(&self.warp.local, lane, address),
            Window::Const | Window::Param => None,
        }
    }

    fn value_at(&self, window: Window, lane: usize, address: u64, size: u32) -> u64 {
        let bytes = (0..u64::from(size)).map(|index| address.wrapping_add(index));
        bytes.fold(0, |all, at| all << 8 | u64::from(self.byte(window, lane, at).unwrap_or(0)))
    }

    /// Before something while a look is under way whose effect nobody keeps track of.
    pub(super) fn watch_loses_track(&mut self) {
        if let Some(watch) = &mut self.warp.spin.watch {
            watch.lost = true;
        }
    }
}

fn byte(memory: &impl LaneMemory, lane: usize, address: u64) -> Option<u8> {
    let place = memory.check(lane, address, 1, false).ok()?;
    Some(memory.get(lane, place, 1).0 as u8)
}
