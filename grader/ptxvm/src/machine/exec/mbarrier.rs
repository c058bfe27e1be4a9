//! Instructions on barrier objects in shared memory (`mbarrier`).

use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, BarrierObject, MbarrierMisuse};
use crate::isa::bulk::{BulkLoad, UNIT};
use crate::isa::mbarrier::OPERATION;
use crate::isa::mbarrier::{Arrival, MAX_COUNT, Mbarrier, MbarrierState, Operation, Phase};
use crate::isa::names::{Pc, Reg32};
use crate::isa::window::{RANK_SHIFT, Window};
use crate::lanes::coordinates;
use crate::lanes::lanes;
use crate::machine::async_copies::Copy;
use crate::machine::exec::Machine;
use crate::machine::mbarriers::{AttachedCopy, MbarrierObject, SIZE};
use crate::machine::monitor::{MbarrierEvent, Monitor, ObjectOwner};
use crate::memory::lane_memory::{Fault, LaneMemory};

/// What lanes did at barrier objects, in order.
#[derive(Debug, Default)]
struct MbarrierEvents(Vec<MbarrierEvent>);

impl MbarrierEvents {
    fn add(&mut self, step: MbarrierEvent) {
        if self.0.last() != Some(&step) {
            self.0.push(step);
        }
    }
}

/// An operation of one lane on a barrier object.
struct MbarrierAccess<'s> {
    pc: Pc,
    lane: usize,
    address: u64,
    /// What a bulk copy of the lane brings.
    bytes: u32,
    steps: &'s mut MbarrierEvents,
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Executes an instruction on barrier objects. True if a lane waits for a phase that is not complete, so that others should
    /// run.
    pub(super) fn mbarrier(&mut self, pc: Pc, mask: u32, mbarrier: &Mbarrier) -> bool {
        let mut waits = false;
        if let Operation::Copy(BulkLoad { blocks: Some(blocks), .. }) = mbarrier.operation {
            self.multicast(pc, mask, mbarrier, blocks);
            return false;
        }
        if let Operation::Send(send) = &mbarrier.operation {
            self.bulk_send(pc, mask, &mbarrier.address, send);
            return false;
        }
        self.each_window(mask, &mbarrier.address, |machine, window, mask, addresses| {
            waits |= machine.mbarrier_in(pc, mask, window, addresses, &mbarrier.operation);
        });
        waits
    }

    /// A copy to the same place in several blocks, each of which has an object at the same place.
    fn multicast(&mut self, pc: Pc, mask: u32, mbarrier: &Mbarrier, blocks: Reg32) {
        let blocks = *self.warp.registers.r(blocks);
        let addresses = self.addresses(&mbarrier.address);
        for rank in 0..u64::from(u16::BITS) {
            let lanes = lanes(mask).filter(|&lane| blocks[lane] >> rank & 1 == 1);
            let lanes = lanes.fold(0u32, |all, lane| all | 1 << lane);
            if lanes != 0 {
                let there = addresses
                    .map(|address| address & ((1 << RANK_SHIFT) - 1) | (rank + 1) << RANK_SHIFT);
                self.each_block(lanes, &there, |machine, window, mask, addresses| {
                    machine.mbarrier_in(pc, mask, window, addresses, &mbarrier.operation);
                });
            }
        }
    }

    pub(super) fn mbarrier_in(
        &mut self,
        pc: Pc,
        mask: u32,
        window: Window,
        addresses: &[u64; 32],
        operation: &Operation,
    ) -> bool {
        let mut faults = LaneFaults::default();
        for lane in lanes(mask) {
            let checked = match window {
                Window::Shared | Window::Cluster => {
                    self.state.shared.check(lane, addresses[lane], SIZE, true)
                }
                _ => Err(Fault::OutOfBounds),
            };
            if let Err(fault) = checked {
                faults.add(lane, fault);
            }
        }
        let there = mask & !faults.refused();
        if let Operation::CopiesArrive { .. } = operation {
            let there = self.objects_at(there, addresses);
            let begun = self.copies().take_begun(there);
            self.attach_again(there, addresses);
            self.attach(begun, addresses, window);
        }
        let mut brought = [0; 32];
        if let Operation::Copy(load) = operation {
            let there = self.objects_at(there, addresses);
            brought = self.begin_bulk(pc, there, (window, addresses), load);
        }
        // Making and unmaking an object is a plain write of it. All else may come in any order, so long as the object is there:
        // for the order of accesses that is a read.
        let kind = match operation {
            Operation::Init(_) | Operation::Invalidate => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let strong = kind != AccessKind::Write;
        let info = AccessInfo { strong, operation: OPERATION, ..AccessInfo::plain(pc, kind, SIZE) };
        self.accessed(info, window, mask, addresses, faults);
        let mut steps = MbarrierEvents::default();
        let mut waits = false;
        for lane in lanes(mask) {
            let address = addresses[lane];
            if there >> lane & 1 == 0 {
                // Whoever would wait goes on: what is wrong has been said.
                self.answer(lane, operation, MbarrierState::default(), true);
                continue;
            }
            let bytes = brought[lane];
            let mut at = MbarrierAccess { pc, lane, address, bytes, steps: &mut steps };
            waits |= !self.at_object(&mut at, operation);
            self.mirror(lane, address);
        }
        if !steps.0.is_empty() {
            let owner = ObjectOwner {
                cluster: self.state.cluster.as_ref().map(|of| (of.number, of.visited as u32)),
                elsewhere: window == Window::Cluster,
            };
            self.state.monitor.mbarrier_events(self.warp.index, there, owner, &steps.0);
        }
        waits
    }

    /// Writes the state of an object to its words in shared memory.
    fn mirror(&mut self, lane: usize, address: u64) {
        if let Some(object) = self.state.mbarriers.objects.get(&address) {
            self.state.shared.put(lane, address as usize, SIZE, object.word.0);
        }
    }

    /// Sets the result of an operation: a state, or whether a phase is complete.
    fn answer(&mut self, lane: usize, operation: &Operation, token: MbarrierState, done: bool) {
        match *operation {
            Operation::Arrive(Arrival { token: slot, .. }) => {
                self.warp.registers.set_lane(slot, lane, token.0);
            }
            Operation::Test { done: p, .. } => {
                self.warp.registers.set_p(p, 1 << lane, u32::from(done) << lane);
            }
            _ => {}
        }
    }

    fn misused(&mut self, at: &MbarrierAccess, misuse: MbarrierMisuse) {
        let kind = BarrierObject { misuse, offset: at.address as i64 };
        self.record(kind, at.pc, 1 << at.lane);
    }

    /// Executes the operation of one lane. False if it has to wait.
    fn at_object(&mut self, at: &mut MbarrierAccess, operation: &Operation) -> bool {
        let object = self.state.mbarriers.objects.get(&at.address).copied();
        if let &Operation::Init(count) = operation {
            let count = self.warp.registers.r(count)[at.lane];
            self.init_object(at, count, object);
            return true;
        }
        let Some(object) = object else {
            self.misused(at, MbarrierMisuse::NotInitialised);
            self.answer(at.lane, operation, MbarrierState::default(), true);
            return true;
        };
        match *operation {
            // What is sent has become `Complete`.
            Operation::Init(_) | Operation::Send(_) => true,
            Operation::Invalidate => {
                self.state.mbarriers.objects.remove(&at.address);
                self.state.mbarriers.changes += 1;
                at.steps.add(MbarrierEvent::Forget(at.address));
                true
            }
            Operation::Test { phase, acquires, .. } => {
                self.test_object(at, operation, object.word, phase, acquires)
            }
            Operation::Arrive(arrival) => {
                self.answer(at.lane, operation, object.word, true);
                self.arrive_at(at, object, &arrival);
                true
            }
            Operation::Expect(bytes) | Operation::Complete(bytes) => {
                let bytes = i64::from(self.warp.registers.r(bytes)[at.lane]);
                let expects = matches!(operation, Operation::Expect(_));
                let mut word = object.word;
                if !expects {
                    // The store whose bytes these are (`st.async`) is there for whoever sees the phase complete.
                    at.steps.add(MbarrierEvent::Arrive(at.address));
                }
                if !word.expect(if expects { bytes } else { -bytes }) {
                    self.misused(at, MbarrierMisuse::InvalidCount { count: bytes as u32 });
                }
                self.set_object(at, object, word);
                true
            }
            Operation::Copy(_) => {
                let bytes = at.bytes;
                let mut word = object.word;
                at.steps.add(MbarrierEvent::Arrive(at.address));
                // They count as come from now on: that the phase completes brings them.
                if !bytes.is_multiple_of(UNIT) || !word.expect(-i64::from(bytes)) {
                    self.misused(at, MbarrierMisuse::InvalidCount { count: bytes });
                }
                self.set_object(at, object, word);
                true
            }
            Operation::CopiesArrive { adds_itself } => {
                let mut word = object.word;
                at.steps.add(MbarrierEvent::Arrive(at.address));
                // An arrival that is added and comes at once changes nothing: its copies come with the phase.
                if !adds_itself {
                    if word.pending() == 0 {
                        self.misused(at, MbarrierMisuse::TooManyArrivals { count: 1, pending: 0 });
                    }
                    word.arrive(1);
                }
                self.set_object(at, object, word);
                true
            }
        }
    }

    fn init_object(&mut self, at: &mut MbarrierAccess, count: u32, old: Option<MbarrierObject>) {
        if let Some(old) = old {
            let first = self.env.program.source_location(old.made).cloned();
            let first_thread = coordinates(old.maker, self.env.block_size);
            self.misused(at, MbarrierMisuse::InitialisedAgain { first, first_thread });
        }
        if count == 0 || count > MAX_COUNT {
            self.misused(at, MbarrierMisuse::InvalidCount { count });
        }
        let maker = self.warp.index * 32 + at.lane as u32;
        let object = MbarrierObject {
            word: MbarrierState::new(count.clamp(1, MAX_COUNT)),
            made: at.pc,
            maker,
        };
        self.state.mbarriers.objects.insert(at.address, object);
        self.state.mbarriers.changes += 1;
        at.steps.add(MbarrierEvent::Forget(at.address));
    }

    fn test_object(
        &mut self,
        at: &mut MbarrierAccess,
        operation: &Operation,
        word: MbarrierState,
        phase: Phase,
        acquires: bool,
    ) -> bool {
        let since = match phase {
            Phase::Token(token) => {
                let token = MbarrierState(self.warp.registers.q(token)[at.lane]);
                word.phases_since(token)
            }
            Phase::Parity(parity) => (self.warp.registers.r(parity)[at.lane] ^ word.number()) & 1,
        };
        if since > 1 {
            self.misused(at, MbarrierMisuse::OldToken);
        }
        let done = since > 0;
        self.answer(at.lane, operation, MbarrierState::default(), done);
        if !done {
            self.state.mbarriers.note_failed_wait(self.warp.index, at.lane, at.pc, at.address);
        } else if acquires {
            at.steps.add(MbarrierEvent::Acquire(at.address));
        }
        done
    }

    fn arrive_at(&mut self, at: &mut MbarrierAccess, object: MbarrierObject, arrival: &Arrival) {
        let mut word = object.word;
        let of = |register| self.warp.registers.r(register)[at.lane];
        let (count, expects) = (arrival.count.map_or(1, of), arrival.expects.map(of));
        if let Some(bytes) = expects
            && !word.expect(bytes.into())
        {
            self.misused(at, MbarrierMisuse::InvalidCount { count: bytes });
        }
        let pending = word.pending();
        if count == 0 || count > MAX_COUNT {
            self.misused(at, MbarrierMisuse::InvalidCount { count });
        } else if count > pending {
            self.misused(at, MbarrierMisuse::TooManyArrivals { count, pending });
        }
        if arrival.drops {
            word.drop_expected(count);
        }
        word.arrive(count);
        if arrival.releases {
            at.steps.add(MbarrierEvent::Arrive(at.address));
        }
        if !arrival.completes && word.is_complete() {
            self.misused(at, MbarrierMisuse::MayNotComplete);
        }
        self.set_object(at, object, word);
    }

    /// Stores a new state of the object; its next phase begins if nothing is missing.
    fn set_object(
        &mut self,
        at: &mut MbarrierAccess,
        object: MbarrierObject,
        mut word: MbarrierState,
    ) {
        if word.is_complete() {
            word.advance();
            at.steps.add(MbarrierEvent::Complete(at.address));
            for copy in self.state.mbarriers.complete_copies(at.address) {
                self.land(&copy);
            }
        }
        self.state.mbarriers.objects.insert(at.address, MbarrierObject { word, ..object });
        self.state.mbarriers.changes += 1;
    }

    /// The lanes at whose address there is an object.
    fn objects_at(&self, mask: u32, addresses: &[u64; 32]) -> u32 {
        let is_object = |lane: &usize| self.state.mbarriers.objects.contains_key(&addresses[*lane]);
        lanes(mask).filter(is_object).fold(0, |all, lane| all | 1 << lane)
    }

    /// Makes copies that complete with a phase already complete with this one too.
    fn attach_again(&mut self, mask: u32, addresses: &[u64; 32]) {
        for attached in &mut self.state.mbarriers.copies {
            let lane = attached.copy.lane();
            if attached.warp == self.warp.index && mask >> lane & 1 == 1 {
                attached.objects.push(addresses[lane]);
            }
        }
    }

    /// Makes copies that have begun complete with a phase of the object at the lane's address.
    pub(super) fn attach(&mut self, begun: Vec<Copy>, addresses: &[u64; 32], window: Window) {
        // For the order of accesses they end here, where the thread says that they belong to the phase.
        self.tell_ends(&begun, window);
        let warp = self.warp.index;
        let attached = begun.into_iter().map(|copy| {
            let objects = vec![addresses[copy.lane()]];
            AttachedCopy { copy, warp, objects }
        });
        self.state.mbarriers.copies.extend(attached);
    }

    /// Reports lanes that access an object otherwise than by `mbarrier`.
    pub(super) fn touch_objects(&mut self, info: AccessInfo, mask: u32, addresses: &[u64; 32]) {
        for lane in lanes(mask) {
            if let Some(at) = self.state.mbarriers.touched(addresses[lane], info.size) {
                let misuse = MbarrierMisuse::Touched { access: info.kind, size: info.size };
                let kind = BarrierObject { misuse, offset: at as i64 };
                self.record(kind, info.pc, 1 << lane);
            }
        }
    }
}
