//! Loads and stores, with the checks of bounds, alignment, access rights and initialisation.

use crate::finding::{
    AccessKind, BufferOffset, Misaligned, OutOfBounds, Space, Uninitialised, UseAfterFree,
    WriteToReadOnly,
};
use crate::isa::mbarrier;
use crate::isa::names::{Address, Base, Elements, Pc, Slot};
use crate::isa::window::Window;
use crate::lanes::{HALF, LaneIndices, are_in_turn, lanes};
use crate::machine::exec::Machine;
use crate::machine::monitor::{Event, Monitor, WordReads};
use crate::machine::registers::Registers;
use crate::machine::warp::Warp;
use crate::memory::buffer::Buffer;
use crate::memory::lane_memory::{Fault, LaneMemory};

/// Masks of the lanes whose access went wrong, by the kind of fault.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LaneFaults {
    pub out_of_bounds: u32,
    pub misaligned: u32,
    pub read_only: u32,
    pub freed: u32,
    pub undefined: u32,
    /// Lanes that stored what was there already; see [`Event::unchanged`].
    pub unchanged: u32,
}

/// What the checks and the monitor need to know of an access, beside its addresses.
#[derive(Clone, Copy)]
pub(super) struct AccessInfo {
    pub pc: Pc,
    pub kind: AccessKind,
    /// Bytes that each lane accesses.
    pub size: u32,
    pub strong: bool,
    pub one_buffer: bool,
    /// A number for the kind of atomic operation; atomics of the same kind commute.
    pub operation: u32,
    /// What is stored, if it comes from registers.
    pub stored: Option<Elements>,
    /// The lanes that the checks of races look at; see [`Event::representative_lanes`].
    pub representative_lanes: u32,
    /// Whether it is the completion of an asynchronous copy; see [`Event::ends_copy`].
    pub ends_copy: bool,
    /// Bytes from one row of a matrix to the next, where they are misaligned and the first row is not.
    pub row_step: Option<u64>,
}

impl AccessInfo {
    /// An ordinary access: plain, lane by lane, not atomic.
    pub fn plain(pc: Pc, kind: AccessKind, size: u32) -> Self {
        Self {
            pc,
            kind,
            size,
            strong: false,
            one_buffer: false,
            operation: 0,
            stored: None,
            representative_lanes: u32::MAX,
            ends_copy: false,
            row_step: None,
        }
    }
}

impl LaneFaults {
    pub fn add(&mut self, lane: usize, fault: Fault) {
        let mask = match fault {
            Fault::OutOfBounds => &mut self.out_of_bounds,
            Fault::Misaligned => &mut self.misaligned,
            Fault::ReadOnly => &mut self.read_only,
            Fault::Freed => &mut self.freed,
        };
        *mask |= 1 << lane;
    }

    /// The faults of the lanes of a mask.
    pub fn of(self, mask: u32) -> Self {
        Self {
            out_of_bounds: self.out_of_bounds & mask,
            misaligned: self.misaligned & mask,
            read_only: self.read_only & mask,
            freed: self.freed & mask,
            undefined: self.undefined & mask,
            unchanged: self.unchanged & mask,
        }
    }

    /// Lanes whose access did not happen.
    pub fn refused(self) -> u32 {
        self.out_of_bounds | self.misaligned | self.read_only | self.freed
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// The address of every lane, active or not.
    #[inline(always)]
    pub(super) fn addresses(&self, address: &Address) -> [u64; 32] {
        let offset = address.offset as u64;
        match address.base {
            Base::Reg64(base) => self.warp.registers.q(base).map(|lane| lane.wrapping_add(offset)),
            Base::Reg32(base) => {
                // 32-bit addresses wrap at 32 bits.
                self.warp.registers.r(base).map(|lane| u64::from(lane.wrapping_add(offset as u32)))
            }
        }
    }

    /// Calls `visit` once for each window that lanes of a generic access point into, with addresses inside it.
    pub(super) fn each_window(
        &mut self,
        mask: u32,
        address: &Address,
        mut visit: impl FnMut(&mut Self, Window, u32, &[u64; 32]),
    ) {
        let mut addresses = self.addresses(address);
        if let Some(window) = address.window {
            return visit(self, window, mask, &addresses);
        }
        let mut left = mask;
        while left != 0 {
            let window = Window::of(addresses[left.trailing_zeros() as usize]);
            let mut here = 0;
            for lane in lanes(left) {
                if Window::of(addresses[lane]) == window {
                    here |= 1 << lane;
                }
            }
            left &= !here;
            for lane in lanes(here) {
                addresses[lane] = addresses[lane].wrapping_sub(window.base());
            }
            if window == Window::Cluster {
                self.each_block(here, &addresses, &mut visit);
            } else {
                visit(self, window, here, &addresses);
            }
        }
    }

    pub(super) fn load(&mut self, pc: Pc, mask: u32, address: &Address, elements: &Elements) {
        if self.load_words(pc, mask, address, elements).is_some() {
            return;
        }
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let faults = machine.load_from(mask, window, addresses, elements);
            let info = AccessInfo {
                strong: address.marks.strength.is_strong(),
                ..AccessInfo::plain(pc, AccessKind::Read, elements.size())
            };
            machine.accessed(info, window, mask, addresses, faults);
        });
    }

    /// The fast path of a load: whole words that are defined, all in one buffer or in shared memory. None, and nothing done, for
    /// any other load.
    fn load_words(
        &mut self,
        pc: Pc,
        mask: u32,
        address: &Address,
        elements: &Elements,
    ) -> Option<()> {
        let (4, 1, Slot::Reg32(d)) = (elements.element.bytes, elements.count, elements.slots[0])
        else {
            return None;
        };
        let env = self.env;
        let registers = &self.warp.registers;
        let first = match address.base {
            Base::Reg64(base) => registers.q(base)[mask.trailing_zeros() as usize % 32],
            Base::Reg32(base) => registers.r(base)[mask.trailing_zeros() as usize % 32].into(),
        };
        let first = first.wrapping_add(address.offset as u64);
        let window = address.window.unwrap_or_else(|| Window::of(first));
        let outer = if address.window.is_none() { window.base() } else { 0 };
        let (buffer, start) = match window {
            Window::Global => {
                let (buffer, start) = env.memory.slot(first)?;
                (Some(buffer), start)
            }
            Window::Shared => (None, outer),
            _ => return None,
        };
        let mut words = LaneIndices::new();
        self.activate(mask);
        let Warp { registers, active, .. } = &mut *self.warp;
        let regular = match address.base {
            Base::Reg64(base) => {
                let offset = (address.offset as u64).wrapping_sub(start);
                (env.simd.word_indices_64)(registers.q(base), offset, active, &mut words)
            }
            Base::Reg32(base) if window == Window::Shared => (env.simd.word_indices_32)(
                registers.r(base),
                address.offset as u32,
                active,
                &mut words,
            ),
            Base::Reg32(_) => false,
        };
        if !regular {
            return None;
        }
        let mbarriers = &self.state.mbarriers;
        if window == Window::Shared && !mbarriers.is_empty() && mbarriers.holds_any(&words, mask) {
            return None;
        }
        let to = registers.r_mut(d);
        let exist = match buffer {
            Some(buffer) => {
                (env.simd.load_global)(buffer.written(&words, mask)?, &words, active, to)
            }
            None => (env.simd.load)(self.state.shared.written(&words, mask)?, &words, active, to),
        };
        if !exist {
            return None;
        }
        let reads = WordReads {
            pc,
            program: env.program,
            window,
            words: &words,
            mask,
            warp: self.warp.index,
            written: buffer.is_none_or(Buffer::is_written),
            strong: address.marks.strength.is_strong(),
        };
        let monitor = &mut self.state.monitor;
        if monitor.can_skip(&reads) {
            return Some(());
        }
        let left = if monitor.can_note(&reads) { monitor.note_reads(&reads) } else { mask };
        if left != 0 {
            self.words_read(&reads, left, start - outer);
        }
        Some(())
    }

    /// Passes words that were read to the monitor: for a check of races, some lanes alone. `start`: the address of the first word.
    fn words_read(&mut self, reads: &WordReads, lanes: u32, start: u64) {
        let &WordReads { pc, window, words, mask, strong, .. } = reads;
        let addresses = words.index.0.map(|word| (u64::from(word) << 2).wrapping_add(start));
        let representative_lanes =
            if mask == u32::MAX { (self.env.simd.representative_lanes)(words) } else { mask };
        let info = AccessInfo {
            strong,
            one_buffer: true,
            representative_lanes: representative_lanes & lanes,
            ..AccessInfo::plain(pc, AccessKind::Read, 4)
        };
        self.accessed(info, window, mask, &addresses, LaneFaults::default());
    }

    pub(super) fn load_from(
        &mut self,
        mask: u32,
        window: Window,
        addresses: &[u64; 32],
        elements: &Elements,
    ) -> LaneFaults {
        let registers = &mut self.warp.registers;
        let env = self.env;
        match window {
            Window::Global => load_lanes(&env.memory, registers, mask, addresses, elements),
            Window::Shared | Window::Cluster => {
                load_lanes(&self.state.shared, registers, mask, addresses, elements)
            }
            Window::Local => load_lanes(&self.warp.local, registers, mask, addresses, elements),
            Window::Const => load_lanes(env.constants, registers, mask, addresses, elements),
            Window::Param => load_lanes(env.params, registers, mask, addresses, elements),
        }
    }

    pub(super) fn store(&mut self, pc: Pc, mask: u32, address: &Address, elements: &Elements) {
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let faults = machine.store_to(mask, window, addresses, elements);
            let info = AccessInfo {
                strong: address.marks.strength.is_strong(),
                stored: Some(*elements),
                ..AccessInfo::plain(pc, AccessKind::Write, elements.size())
            };
            machine.accessed(info, window, mask, addresses, faults);
        });
    }

    pub(super) fn store_to(
        &mut self,
        mask: u32,
        window: Window,
        addresses: &[u64; 32],
        elements: &Elements,
    ) -> LaneFaults {
        let registers = &self.warp.registers;
        let mut left = mask;
        if let (4, 1, Slot::Reg32(source)) =
            (elements.element.bytes, elements.count, elements.slots[0])
        {
            let values = registers.r(source);
            left = match window {
                Window::Global => store_words_global(self.env.memory, mask, addresses, values),
                Window::Shared | Window::Cluster => {
                    let shared = &mut self.state.shared;
                    let left =
                        rows_left(mask, addresses, values, |at, row| shared.set_row(at, row));
                    lanes_left(left, addresses, values, |at, value| shared.set_word(at, value))
                }
                _ => mask,
            };
        }
        let mut faults = LaneFaults::default();
        if left != 0 {
            faults = match window {
                Window::Global => {
                    store_lanes(&mut { self.env.memory }, registers, left, addresses, elements)
                }
                Window::Shared | Window::Cluster => {
                    store_lanes(&mut self.state.shared, registers, left, addresses, elements)
                }
                Window::Local => {
                    let local = &mut self.warp.local;
                    store_lanes(local, &self.warp.registers, left, addresses, elements)
                }
                // PTX has no such store; a generic one that strays here hits nothing it may write.
                Window::Const | Window::Param => {
                    LaneFaults { out_of_bounds: left, ..LaneFaults::default() }
                }
            };
        }
        faults
    }

    /// Passes an access to the monitor, and reports its faults.
    #[inline(always)]
    pub(super) fn accessed(
        &mut self,
        info: AccessInfo,
        window: Window,
        mask: u32,
        addresses: &[u64; 32],
        mut faults: LaneFaults,
    ) {
        if window == Window::Shared
            && !self.state.shared.in_flight_words().is_empty()
            && !info.ends_copy
        {
            // A pending copy explains more than that the place was never written.
            faults.undefined &= !self.in_flight(info, mask & !faults.refused(), addresses);
        }
        if self.state.copies_read && info.kind != AccessKind::Read && !info.ends_copy {
            self.changes_source(info, window, mask & !faults.refused(), addresses);
        }
        if info.operation != mbarrier::OPERATION && !self.state.mbarriers.is_empty() {
            if matches!(window, Window::Shared | Window::Cluster) {
                self.touch_objects(info, mask & !faults.refused(), addresses);
            }
            // A read of global memory may find what another block wrote.
            let changes = match window {
                Window::Shared | Window::Cluster => info.kind != AccessKind::Read,
                Window::Global => info.kind != AccessKind::Read || info.strong,
                _ => false,
            };
            if changes {
                self.state.mbarriers.note_change();
            }
        }
        let event = Event {
            pc: info.pc,
            kind: info.kind,
            window,
            size: info.size,
            mask,
            done: mask & !faults.refused(),
            representative_lanes: info.representative_lanes & mask & !faults.refused(),
            addresses,
            block: self.state.coordinates,
            warp: self.warp.index,
            memory: self.env.memory,
            program: self.env.program,
            block_size: self.env.block_size,
            strong: info.strong,
            one_buffer: info.one_buffer,
            operation: info.operation,
            ends_copy: info.ends_copy,
            registers: &self.warp.registers,
            stored: info.stored,
            unchanged: faults.unchanged,
            cluster: match &self.state.cluster {
                Some(cluster) if matches!(window, Window::Shared | Window::Cluster) => {
                    Some((cluster.number, cluster.visited as u32))
                }
                _ => None,
            },
        };
        self.state.monitor.access(&event, &mut self.state.log);
        if faults.refused() | faults.undefined != 0 {
            self.report(info, window, addresses, faults);
        }
    }

    #[cold]
    fn report(
        &mut self,
        info: AccessInfo,
        window: Window,
        addresses: &[u64; 32],
        faults: LaneFaults,
    ) {
        let AccessInfo { pc, kind: access, size, .. } = info;
        let memory = self.env.memory;
        let space = match window {
            Window::Global => Space::Global,
            Window::Shared | Window::Cluster => Space::Shared,
            Window::Local => Space::Local,
            Window::Const | Window::Param => Space::Const,
        };
        let locate = |address| match window {
            Window::Global => memory.locate(address),
            _ => None,
        };
        // What the kernel allocated itself is told from what the host did.
        let space_of = |place: Option<BufferOffset>| match place {
            Some((buffer, _)) if buffer.is_on_heap() => Space::Heap,
            _ => space,
        };
        for (place, lanes) in by_object(faults.out_of_bounds, addresses, locate) {
            let address = addresses[lanes.trailing_zeros() as usize];
            let space = space_of(place);
            let array = self.env.constant.clone().filter(|_| window == Window::Const);
            self.record(OutOfBounds { space, access, size, place, array, address }, pc, lanes);
        }
        for (place, lanes) in by_object(faults.misaligned, addresses, locate) {
            let space = space_of(place);
            let row_step = info.row_step;
            self.record(Misaligned { space, access, size, place, row_step }, pc, lanes);
        }
        for (place, lanes) in by_object(faults.read_only, addresses, locate) {
            let address = addresses[lanes.trailing_zeros() as usize];
            if place.is_some() {
                self.record(WriteToReadOnly { place, size, address }, pc, lanes);
            }
        }
        for (place, lanes) in by_object(faults.freed, addresses, locate) {
            if place.is_some() {
                self.record(UseAfterFree { access, size, place }, pc, lanes);
            }
        }
        for (place, lanes) in by_object(faults.undefined, addresses, locate) {
            let address = addresses[lanes.trailing_zeros() as usize];
            let space = space_of(place);
            let offset = place.map_or(address as i64, |(_, offset)| offset);
            self.record(Uninitialised { space, size, place, offset, array: None }, pc, lanes);
        }
    }
}

/// The lanes of `mask` whose addresses lead to the same buffer, with the place of the first of them: lanes may hit different buffers.
fn by_object(
    mut mask: u32,
    addresses: &[u64; 32],
    locate: impl Fn(u64) -> Option<BufferOffset>,
) -> impl Iterator<Item = (Option<BufferOffset>, u32)> {
    let object = |place: Option<BufferOffset>| place.map(|(buffer, _)| buffer);
    std::iter::from_fn(move || {
        let place = locate(addresses[lanes(mask).next()?]);
        let same = |lane: &usize| object(locate(addresses[*lane])) == object(place);
        let found = lanes(mask).filter(same).fold(0, |all, lane| all | 1 << lane);
        mask &= !found;
        Some((place, found))
    })
}

#[inline(always)]
fn store_words_global(
    memory: &crate::memory::Memory,
    mask: u32,
    addresses: &[u64; 32],
    values: &[u32; 32],
) -> u32 {
    let Some((buffer, start)) = memory.slot(addresses[mask.trailing_zeros() as usize]) else {
        return mask;
    };
    let left =
        rows_left(mask, addresses, values, |at, row| buffer.set_row(at.wrapping_sub(start), row));
    lanes_left(left, addresses, values, |at, word| buffer.set_word(at.wrapping_sub(start), word))
}

/// Stores rows of words, which half a warp often does. Returns the lanes that are left, from which on all are.
#[inline(always)]
fn rows_left(
    mask: u32,
    addresses: &[u64; 32],
    values: &[u32; 32],
    mut store: impl FnMut(u64, &[u32; HALF]) -> bool,
) -> u32 {
    let mut left = mask;
    let halves = addresses.as_chunks::<HALF>().0.iter().zip(values.as_chunks::<HALF>().0);
    for ((addresses, values), begin) in halves.zip([0, HALF]) {
        let lanes = ((1 << HALF) - 1) << begin;
        // Of lanes that store to one word, the last one must win.
        if left & lanes != lanes || !are_in_turn(addresses) || !store(addresses[0], values) {
            break;
        }
        left &= !lanes;
    }
    left
}

/// Stores words lane by lane; returns the lanes for which that failed.
#[inline(always)]
fn lanes_left(
    mask: u32,
    addresses: &[u64; 32],
    values: &[u32; 32],
    mut store: impl FnMut(u64, u32) -> bool,
) -> u32 {
    let mut left = 0;
    for lane in lanes(mask) {
        left |= u32::from(!store(addresses[lane], values[lane])) << lane;
    }
    left
}

/// Loads any elements, lane by lane. An invalid load gives all ones: a NaN in every float type.
fn load_lanes(
    memory: &impl LaneMemory,
    registers: &mut Registers,
    mask: u32,
    addresses: &[u64; 32],
    elements: &Elements,
) -> LaneFaults {
    let element = elements.element;
    let size = elements.size();
    let slots = &elements.slots[..elements.count.into()];
    let ones = u64::MAX >> (64 - element.bytes * 8);
    let mut faults = LaneFaults::default();
    for lane in lanes(mask) {
        match memory.check(lane, addresses[lane], size, false) {
            Ok(place) => {
                for (index, &slot) in slots.iter().enumerate() {
                    let place = place + index * element.bytes as usize;
                    let (value, defined) = memory.get(lane, place, element.bytes);
                    if !defined && slot != Slot::Sink {
                        faults.undefined |= 1 << lane;
                    }
                    registers.set_lane(slot, lane, extend(value, elements));
                }
            }
            Err(fault) => {
                faults.add(lane, fault);
                for &slot in slots {
                    registers.set_lane(slot, lane, extend(ones, elements));
                }
            }
        }
    }
    faults
}

/// Extends a loaded value to the width of its register.
fn extend(value: u64, elements: &Elements) -> u64 {
    let element = elements.element;
    if !element.signed || element.bytes == 8 {
        return value;
    }
    let shift = 64 - element.bytes * 8;
    let wide = ((value << shift) as i64 >> shift) as u64;
    if element.register_bits == 64 { wide } else { wide & ((1 << element.register_bits) - 1) }
}

fn store_lanes(
    memory: &mut impl LaneMemory,
    registers: &Registers,
    mask: u32,
    addresses: &[u64; 32],
    elements: &Elements,
) -> LaneFaults {
    let bytes = elements.element.bytes;
    let size = elements.size();
    let slots = &elements.slots[..elements.count.into()];
    let mut faults = LaneFaults::default();
    for lane in lanes(mask) {
        match memory.check(lane, addresses[lane], size, true) {
            Ok(place) => {
                let part = size < 4 && slots.len() == 1;
                for (index, &slot) in slots.iter().enumerate() {
                    let value = registers.lane(slot, lane);
                    let old = if part { memory.get(lane, place, bytes) } else { (0, false) };
                    memory.put(lane, place + index * bytes as usize, bytes, value);
                    if part && old.1 && old == memory.get(lane, place, bytes) {
                        faults.unchanged |= 1 << lane;
                    }
                }
            }
            Err(fault) => faults.add(lane, fault),
        }
    }
    faults
}
