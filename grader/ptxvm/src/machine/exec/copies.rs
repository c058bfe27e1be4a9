//! Asynchronous copies, `cp.async`. A copy takes place when its thread waits for it; until then its destination is undefined.

use super::bulk::aligned_parts;
use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, CopySource, InFlight};
use crate::isa::ir::CopyAsync;
use crate::isa::names::Pc;
use crate::isa::ops::narrow::tf32_even;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::async_copies::{Copies, Copy};
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::memory::lane_memory::{Fault, LaneMemory};

impl<M: Monitor> Machine<'_, '_, M> {
    /// The asynchronous copies of the warp.
    pub(super) fn copies(&mut self) -> &mut Copies {
        &mut self.state.copies[self.warp.index as usize]
    }

    pub(super) fn copy_async(&mut self, pc: Pc, mask: u32, copy: &CopyAsync) {
        let ends = (self.addresses(&copy.to), self.addresses(&copy.from));
        let ignored = copy.ignore.map_or(0, |guard| self.guard_bits(guard));
        let read: [u32; 32] = std::array::from_fn(|lane| match copy.read {
            _ if ignored >> lane & 1 == 1 => 0,
            Some(read) => self.warp.registers.r(read)[lane].min(copy.bytes),
            None => copy.bytes,
        });
        let begun = self.begin_copies(pc, mask, Window::Shared, &ends, copy.bytes, &read);
        self.copies().pending.extend(begun);
    }

    /// Begins copies of `bytes` bytes from and to the addresses of lanes, as far as these are valid. `window`: whose shared memory
    /// the state has.
    pub(super) fn begin_copies(
        &mut self,
        pc: Pc,
        mask: u32,
        window: Window,
        (to, from): &([u64; 32], [u64; 32]),
        bytes: u32,
        read: &[u32; 32],
    ) -> Vec<Copy> {
        let reading =
            lanes(mask).filter(|&lane| read[lane] != 0).fold(0, |all, lane| all | 1 << lane);
        let mut sources = LaneFaults::default();
        for lane in lanes(reading) {
            match self.source(lane, from[lane], bytes, read[lane]) {
                Ok(defined) => sources.undefined |= u32::from(!defined) << lane,
                Err(fault) => sources.add(lane, fault),
            }
        }
        let info = AccessInfo::plain(pc, AccessKind::Read, bytes);
        // Lanes that read only a part of their bytes are reported by size, so that the checks see exactly what they read.
        let mut left = reading;
        while left != 0 {
            let size = read[left.trailing_zeros() as usize];
            let same = lanes(left).filter(|&lane| read[lane] == size);
            let same = same.fold(0, |all, lane| all | 1 << lane);
            left &= !same;
            self.accessed(
                AccessInfo { size, ..info },
                Window::Global,
                same,
                from,
                sources.of(same),
            );
        }
        let mut targets = LaneFaults::default();
        for lane in lanes(mask) {
            if let Err(fault) = self.state.shared.check(lane, to[lane], bytes, true) {
                targets.add(lane, fault);
            }
        }
        let info = AccessInfo { kind: AccessKind::Write, ..info };
        self.accessed(info, window, mask, to, targets);
        self.state.copies_read = true;
        let mut begun = Vec::new();
        for lane in lanes(mask & !sources.refused() & !targets.refused()) {
            self.state.shared.set_out(to[lane], bytes);
            begun.push(Copy {
                pc,
                lane: lane as u8,
                group: self.copies().groups[lane],
                to: to[lane],
                from: from[lane],
                size: bytes,
                skip: 0,
                read: read[lane],
                fill: 0,
                to_tf32: false,
            });
        }
        begun
    }

    /// Whether `read` bytes at an address are defined; a fault if they cannot be read. The address must be a multiple of `align`.
    fn source(&self, lane: usize, address: u64, align: u32, read: u32) -> Result<bool, Fault> {
        let memory = &self.env.memory;
        // Out of bounds is reported before misaligned, as everywhere.
        let mut places = Vec::with_capacity(read as usize);
        for byte in 0..u64::from(read) {
            places.push(memory.check(lane, address.wrapping_add(byte), 1, false)?);
        }
        if !address.is_multiple_of(align.into()) {
            return Err(Fault::Misaligned);
        }
        let written = |place: &usize| memory.get(lane, *place, 1).1;
        Ok(places.chunks(4).all(|word| word.iter().any(written)))
    }

    /// Completes the copies of all but the last `groups` groups of each lane.
    pub(super) fn wait_copies(&mut self, mask: u32, groups: u32) {
        let committed = self.copies().groups;
        let ends = |copy: &Copy| copy.ends(mask, groups, &committed);
        // Those that belong to a phase have ended for the order of accesses.
        let attached = self.state.mbarriers.take_copies(self.warp.index, ends);
        let ended = self.copies().take(mask, groups);
        for copy in attached.iter().chain(&ended) {
            self.land(copy);
        }
        self.tell_ends(&ended, Window::Shared);
    }

    /// Announces completed copies to the monitor. `window`: whose shared memory they are in.
    pub(super) fn tell_ends(&mut self, copies: &[Copy], window: Window) {
        // Neighbours of one instruction at a time: each lane has one copy of it, or more in a loop.
        let mut begin = 0;
        while let Some(&Copy { pc, read, skip, .. }) = copies.get(begin) {
            let mut taken = 0u32;
            let fits = |copy: &&Copy| {
                let bit = 1 << copy.lane;
                let fits = (copy.pc, copy.read, copy.skip) == (pc, read, skip) && taken & bit == 0;
                taken |= bit;
                fits
            };
            let count = copies[begin..].iter().take_while(fits).count();
            self.tell_end(&copies[begin..begin + count], window);
            begin += count;
        }
    }

    /// Completes a copy: its bytes are written.
    pub(super) fn land(&mut self, copy: &Copy) {
        let lane = copy.lane();
        self.state.shared.arrived(copy.to, copy.size);
        for start in (0..copy.size).step_by(4) {
            let word = self.word(copy, start);
            self.state.shared.put(lane, copy.to as usize + start as usize, 4, word.into());
        }
    }

    /// Announces the end of copies of one instruction, each of another lane.
    fn tell_end(&mut self, copies: &[Copy], window: Window) {
        let Some(&Copy { pc, size, skip, read, .. }) = copies.first() else { return };
        let (mut to, mut from, mut mask) = ([0; 32], [0; 32], 0u32);
        for copy in copies {
            let lane = copy.lane();
            mask |= 1 << lane;
            (to[lane], from[lane]) = (copy.to, copy.from);
        }
        let info = AccessInfo { ends_copy: true, ..AccessInfo::plain(pc, AccessKind::Write, size) };
        let reads = AccessInfo { kind: AccessKind::Read, size: read, ..info };
        if from.iter().any(|at| !at.is_multiple_of(size.into())) || skip != 0 {
            for copy in copies {
                let start = copy.from.wrapping_add(skip.into());
                for (at, size) in aligned_parts(start, read.saturating_sub(skip)) {
                    let (reads, mask) = (AccessInfo { size, ..reads }, 1 << copy.lane);
                    self.accessed(reads, Window::Global, mask, &[at; 32], LaneFaults::default());
                }
            }
        } else if read != 0 {
            self.accessed(reads, Window::Global, mask, &from, LaneFaults::default());
        }
        self.accessed(info, window, mask, &to, LaneFaults::default());
    }

    /// Four bytes of a copy, which are a whole element of a tensor where elements change; what it does not read is of `fill`.
    fn word(&self, copy: &Copy, start: u32) -> u32 {
        let memory = &self.env.memory;
        let lane = copy.lane();
        let read = start.max(copy.skip)..copy.read.min(start + 4);
        let word = read.clone().fold(copy.fill, |word, byte| {
            let place = memory.check(lane, copy.from.wrapping_add(byte.into()), 1, false);
            // It may have been freed in the meantime, which is reported as a race.
            let value = place.map_or(0xFF, |place| memory.get(lane, place, 1).0 as u32);
            let shift = 8 * (byte - start);
            word & !(0xFF << shift) | value << shift
        });
        if copy.to_tf32 && !read.is_empty() { tf32_even(word) } else { word }
    }

    /// Reports lanes that change what a copy still reads: a copy of their own from global memory, or any one from shared memory. What
    /// another thread changes in global memory is a race with the copy.
    #[cold]
    pub(super) fn changes_source(
        &mut self,
        info: AccessInfo,
        window: Window,
        mask: u32,
        addresses: &[u64; 32],
    ) {
        let index = self.warp.index;
        for lane in lanes(mask) {
            let written = addresses[lane]..addresses[lane].wrapping_add(info.size.into());
            let overlaps = |from: u64, bytes: u32| {
                from < written.end && written.start < from.wrapping_add(bytes.into())
            };
            let found = match window {
                Window::Global => {
                    let own = &self.state.copies[index as usize].pending;
                    let attached = self.state.mbarriers.copies.iter();
                    let attached = attached.filter(|attached| attached.warp == index);
                    let mut all = own.iter().chain(attached.map(|attached| &attached.copy));
                    let hit = all.find(|copy| {
                        let start = copy.from.wrapping_add(copy.skip.into());
                        let bytes = copy.read.saturating_sub(copy.skip);
                        copy.lane() == lane && bytes > 0 && overlaps(start, bytes)
                    });
                    hit.map(|copy| (copy.pc, index * 32 + u32::from(copy.lane)))
                }
                Window::Shared => {
                    let mut all = self.state.copies.iter().zip(0..).flat_map(|(copies, warp)| {
                        copies.stores.iter().map(move |store| (store, warp))
                    });
                    let hit = all.find(|(store, _)| overlaps(store.from, store.bytes));
                    hit.map(|(store, warp): (_, u32)| (store.pc, warp * 32 + u32::from(store.lane)))
                }
                _ => None,
            };
            let Some((pc, thread)) = found else { continue };
            let kind = CopySource {
                access: info.kind,
                copy: self.env.program.source_location(pc).cloned(),
                copy_thread: crate::lanes::coordinates(thread, self.env.block_size),
            };
            self.record(kind, info.pc, 1 << lane);
        }
    }

    /// The pending copy to an address, of any warp: its instruction and thread.
    fn copy_to(&self, address: u64) -> Option<(Pc, u32)> {
        let hits = |copy: &&Copy| (copy.to..copy.to + u64::from(copy.size)).contains(&address);
        let pending = self.state.copies.iter().zip(0..).flat_map(|(copies, warp)| {
            copies.pending.iter().rev().filter(hits).map(move |copy| (copy, warp))
        });
        let attached = &self.state.mbarriers.copies;
        let attached = attached.iter().rev().map(|attached| (&attached.copy, attached.warp));
        let (copy, warp) = pending.chain(attached.filter(|(copy, _)| hits(copy))).next()?;
        Some((copy.pc, warp * 32 + u32::from(copy.lane)))
    }

    /// Reports lanes that access the destination of a pending copy, and returns them.
    pub(super) fn in_flight(&mut self, info: AccessInfo, mask: u32, addresses: &[u64; 32]) -> u32 {
        let mut found = 0;
        for lane in lanes(mask) {
            let flights = self.state.shared.in_flight_words();
            let Some(offset) = flights.find(addresses[lane], info.size) else { continue };
            let Some((pc, thread)) = self.copy_to(offset) else { continue };
            found |= 1 << lane;
            let kind = InFlight {
                access: info.kind,
                size: info.size,
                offset: offset as i64,
                array: None,
                copy: self.env.program.source_location(pc).cloned(),
                copy_thread: crate::lanes::coordinates(thread, self.env.block_size),
            };
            self.record(kind, info.pc, 1 << lane);
        }
        found
    }
}
