//! Bulk copies. One from global to shared memory takes place when the phase of its barrier object completes; one to global memory or to
//! another block at once.

use super::atomics::{combine, update_global};
use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, TensorMapMisuse};
use crate::isa::bulk::{BOX_ALIGN, BoxOperand, BulkLoad, BulkPlace, BulkSend, BulkStore, UNIT};
use crate::isa::mbarrier::{MAX_COUNT, Operation};
use crate::isa::names::{Address, Pc, Reg32};
use crate::isa::tensor_map::{BoxPiece, MAP_BYTES, TensorMap};
use crate::isa::window::{RANK_SHIFT, Window};
use crate::lanes::lanes;
use crate::machine::async_copies::{Copy, StoreSource};
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::memory::lane_memory::LaneMemory;

/// No group of `cp.async`: such a copy ends with a phase alone.
const NO_GROUP: u32 = u32::MAX;

/// Parts of a range of bytes that are aligned to their size, each an address and a size.
pub(super) fn aligned_parts(mut from: u64, mut bytes: u32) -> impl Iterator<Item = (u64, u32)> {
    std::iter::from_fn(move || {
        if bytes == 0 {
            return None;
        }
        let at = from;
        let size = 1 << (from | u64::from(UNIT)).trailing_zeros().min(bytes.ilog2());
        from = from.wrapping_add(size.into());
        bytes -= size;
        Some((at, size))
    })
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Begins copies to the shared memory that the state has right now, and attaches them to the objects at these addresses. Returns
    /// how many bytes each lane brings.
    pub(super) fn begin_bulk(
        &mut self,
        pc: Pc,
        mask: u32,
        (window, objects): (Window, &[u64; 32]),
        load: &BulkLoad,
    ) -> [u32; 32] {
        // Which block it is, the address of the object says.
        let to = self.addresses(&load.to).map(|address| address & ((1 << RANK_SHIFT) - 1));
        match load.from {
            BulkPlace::Bytes { address, bytes } => {
                let begun =
                    self.begin_bytes(pc, mask, window, (to, self.addresses(&address)), bytes);
                self.attach(begun, objects, window);
                *self.warp.registers.r(bytes)
            }
            BulkPlace::Box(which) => {
                let mut bytes = [0; 32];
                for lane in lanes(mask) {
                    if let Some((map, pieces)) = self.pieces(pc, lane, &which, false) {
                        bytes[lane] = map.box_bytes() as u32;
                        let begun = self.begin_box(pc, lane, (window, to[lane]), &map, &pieces);
                        self.attach(begun, objects, window);
                    }
                }
                bytes
            }
        }
    }

    /// Begins copies of bytes as copies of 16.
    fn begin_bytes(
        &mut self,
        pc: Pc,
        mask: u32,
        window: Window,
        mut ends: ([u64; 32], [u64; 32]),
        bytes: Reg32,
    ) -> Vec<Copy> {
        let bytes = *self.warp.registers.r(bytes);
        let mut copies = Vec::new();
        let longest = lanes(mask).map(|lane| bytes[lane]).max().unwrap_or(0);
        for done in (0..longest.min(MAX_COUNT)).step_by(UNIT as usize) {
            let left = lanes(mask).filter(|&lane| bytes[lane] >= done + UNIT);
            let left = left.fold(0u32, |all, lane| all | 1 << lane);
            let begun = self.begin_copies(pc, left, window, &ends, UNIT, &[UNIT; 32]);
            // What does not fit at one place does not at the next ones.
            let refused = begun.iter().fold(left, |rest, copy| rest & !(1 << copy.lane()));
            copies.extend(begun.into_iter().map(|copy| Copy { group: NO_GROUP, ..copy }));
            if refused == left {
                break;
            }
            for lane in 0..32 {
                ends.0[lane] = ends.0[lane].wrapping_add(UNIT.into());
                ends.1[lane] = ends.1[lane].wrapping_add(UNIT.into());
            }
        }
        copies
    }

    /// The map of a lane's copy, and the pieces of its box. None, and a finding, if there is none.
    fn pieces(
        &mut self,
        pc: Pc,
        lane: usize,
        which: &BoxOperand,
        stores: bool,
    ) -> Option<(TensorMap, Vec<BoxPiece>)> {
        let bytes = self.map_bytes(pc, lane, self.addresses(&which.map)[lane])?;
        let value = |register| self.warp.registers.r(register)[lane];
        let at = which.coordinates.map(|register| value(register) as i32);
        let offsets = which.offsets.map(|offsets| offsets.map(|register| value(register) as u16));
        let found = TensorMap::new(&bytes).and_then(|map| {
            if map.rank != usize::from(which.rank) {
                return Err("the map is of a tensor with another number of dimensions");
            }
            map.check_place(at)?;
            if stores {
                map.check_store()?;
            }
            let pieces = map.pieces(at, offsets)?;
            Ok((map, pieces))
        });
        match found {
            Ok(found) => Some(found),
            Err(problem) => {
                self.record(TensorMapMisuse { problem }, pc, 1 << lane);
                None
            }
        }
    }

    /// The bytes of a map at a generic address.
    fn map_bytes(&mut self, pc: Pc, lane: usize, address: u64) -> Option<[u8; MAP_BYTES]> {
        let window = Window::of(address);
        let start = address.wrapping_sub(window.base());
        let mut bytes = [0; MAP_BYTES];
        let (mut faults, mut addresses) = (LaneFaults::default(), [0; 32]);
        addresses[lane] = start;
        for (chunk, offset) in bytes.chunks_exact_mut(8).zip((0..).step_by(8)) {
            let at = start.wrapping_add(offset);
            let read = match window {
                Window::Global => read_word(&self.env.memory, lane, at),
                Window::Const => read_word(self.env.constants, lane, at),
                Window::Param => read_word(self.env.params, lane, at),
                _ => {
                    let problem = "the map must be in global or constant memory, or a parameter of the kernel";
                    self.record(TensorMapMisuse { problem }, pc, 1 << lane);
                    return None;
                }
            };
            match read {
                Ok((word, defined)) => {
                    chunk.copy_from_slice(&word.to_le_bytes());
                    faults.undefined |= u32::from(!defined) << lane;
                }
                Err(fault) => {
                    faults.add(lane, fault);
                    break;
                }
            }
        }
        let info = AccessInfo::plain(pc, AccessKind::Read, 8);
        self.accessed(info, window, 1 << lane, &addresses, faults);
        (faults.refused() | faults.undefined == 0).then_some(bytes)
    }

    /// Begins the copy of a box as copies of 16 bytes, as far as its pieces are valid.
    fn begin_box(
        &mut self,
        pc: Pc,
        lane: usize,
        (window, to): (Window, u64),
        map: &TensorMap,
        pieces: &[BoxPiece],
    ) -> Vec<Copy> {
        let mut begun = Vec::with_capacity(pieces.len());
        if !self.is_place_of_box(pc, lane, (window, to), AccessKind::Write) {
            return begun;
        }
        for piece in pieces {
            let to = map.swizzle.place(to + piece.offset);
            if !self.reads_global(pc, lane, piece)
                || !self.touches_shared(pc, lane, (window, to), AccessKind::Write)
            {
                break;
            }
            self.state.shared.set_out(to, UNIT);
            begun.push(Copy {
                pc,
                lane: lane as u8,
                group: NO_GROUP,
                to,
                from: piece.address,
                size: UNIT,
                skip: piece.from,
                read: piece.to,
                fill: map.fill,
                to_tf32: map.to_tf32,
            });
        }
        begun
    }

    /// Whether a box may lie here; else there is a finding.
    fn is_place_of_box(
        &mut self,
        pc: Pc,
        lane: usize,
        (window, at): (Window, u64),
        kind: AccessKind,
    ) -> bool {
        let right = at.is_multiple_of(BOX_ALIGN);
        if !right {
            let faults = LaneFaults { misaligned: 1 << lane, ..LaneFaults::default() };
            let info = AccessInfo::plain(pc, kind, BOX_ALIGN as u32);
            self.accessed(info, window, 1 << lane, &[at; 32], faults);
        }
        right
    }

    /// Announces the read of a piece's bytes in global memory, and checks them. False if they cannot be read.
    fn reads_global(&mut self, pc: Pc, lane: usize, piece: &BoxPiece) -> bool {
        let start = piece.address.wrapping_add(piece.from.into());
        aligned_parts(start, piece.to - piece.from).all(|(at, size)| {
            let mut faults = LaneFaults::default();
            match (&self.env.memory).check(lane, at, size.min(8), false) {
                Ok(place) => {
                    let read = |at| (&self.env.memory).get(lane, at, size.min(8)).1;
                    let defined = read(place) && (size <= 8 || read(place + 8));
                    faults.undefined |= u32::from(!defined) << lane;
                }
                Err(fault) => faults.add(lane, fault),
            }
            let info = AccessInfo::plain(pc, AccessKind::Read, size);
            self.accessed(info, Window::Global, 1 << lane, &[at; 32], faults);
            faults.refused() == 0
        })
    }

    /// The same for 16 bytes of shared memory.
    fn touches_shared(
        &mut self,
        pc: Pc,
        lane: usize,
        (window, at): (Window, u64),
        kind: AccessKind,
    ) -> bool {
        let mut faults = LaneFaults::default();
        match self.state.shared.check(lane, at, UNIT, kind == AccessKind::Write) {
            Ok(place) if kind == AccessKind::Read => {
                let read = |at| self.state.shared.get(lane, at, 8).1;
                let defined = read(place) && read(place + 8);
                faults.undefined |= u32::from(!defined) << lane;
            }
            Ok(_) => {}
            Err(fault) => faults.add(lane, fault),
        }
        let info = AccessInfo::plain(pc, kind, UNIT);
        self.accessed(info, window, 1 << lane, &[at; 32], faults);
        faults.refused() == 0
    }

    /// Executes a copy to the shared memory of a block of the cluster, and tells the object there of its bytes.
    pub(super) fn bulk_send(&mut self, pc: Pc, mask: u32, object: &Address, send: &BulkSend) {
        let from = self.addresses(&send.from);
        // Which block it is, the address of the object says.
        let to = self.addresses(&send.to).map(|address| address & ((1 << RANK_SHIFT) - 1));
        let bytes = *self.warp.registers.r(send.bytes);
        let mut sent: [Vec<[u64; 2]>; 32] = Default::default();
        for lane in lanes(mask) {
            sent[lane] = self.taken_from_shared(pc, lane, from[lane], bytes[lane]);
        }
        self.each_window(mask, object, |machine, window, mask, objects| {
            if matches!(window, Window::Shared | Window::Cluster) {
                for lane in lanes(mask) {
                    for (words, offset) in sent[lane].iter().zip((0..).step_by(UNIT as usize)) {
                        let at = to[lane].wrapping_add(offset);
                        if !machine.put_into_shared(pc, lane, (window, at), words) {
                            break;
                        }
                    }
                }
            }
            machine.mbarrier_in(pc, mask, window, objects, &Operation::Complete(send.bytes));
        });
    }

    /// So many bytes of the block's own shared memory by 16, as far as they can be read.
    fn taken_from_shared(&mut self, pc: Pc, lane: usize, from: u64, bytes: u32) -> Vec<[u64; 2]> {
        if !bytes.is_multiple_of(UNIT) {
            let faults = LaneFaults { misaligned: 1 << lane, ..LaneFaults::default() };
            let info = AccessInfo::plain(pc, AccessKind::Read, UNIT);
            let end = from.wrapping_add(bytes.into());
            self.accessed(info, Window::Shared, 1 << lane, &[end; 32], faults);
            return Vec::new();
        }
        let mut taken = Vec::new();
        for offset in (0..u64::from(bytes.min(MAX_COUNT))).step_by(UNIT as usize) {
            let at = from.wrapping_add(offset);
            if !self.touches_shared(pc, lane, (Window::Shared, at), AccessKind::Read) {
                break;
            }
            let word = |at: u64| self.state.shared.get(lane, at as usize, 8).0;
            taken.push([word(at), word(at + 8)]);
        }
        taken
    }

    /// Writes 16 bytes; false if that is not possible.
    fn put_into_shared(
        &mut self,
        pc: Pc,
        lane: usize,
        (window, at): (Window, u64),
        words: &[u64; 2],
    ) -> bool {
        if self.state.shared.check(lane, at, UNIT, true).is_ok() {
            for (&word, at) in words.iter().zip((at as usize..).step_by(8)) {
                self.state.shared.put(lane, at, 8, word);
            }
        }
        self.touches_shared(pc, lane, (window, at), AccessKind::Write)
    }

    /// Executes a copy to global memory, or a reduction there.
    pub(super) fn bulk_store(&mut self, pc: Pc, mask: u32, store: &BulkStore) {
        let from = self.addresses(&store.from);
        for lane in lanes(mask) {
            match store.to {
                BulkPlace::Bytes { address, bytes } => {
                    let address = self.addresses(&address)[lane];
                    let bytes = self.warp.registers.r(bytes)[lane];
                    let whole = (0..u64::from(bytes.min(MAX_COUNT))).step_by(UNIT as usize);
                    let pieces = whole.map(|offset| BoxPiece {
                        offset,
                        address: address.wrapping_add(offset),
                        from: 0,
                        to: UNIT,
                    });
                    let misaligned = !address.is_multiple_of(UNIT.into());
                    if !bytes.is_multiple_of(UNIT) || misaligned {
                        let faults = LaneFaults { misaligned: 1 << lane, ..LaneFaults::default() };
                        let info = AccessInfo::plain(pc, AccessKind::Write, UNIT);
                        let end = address.wrapping_add(bytes.into());
                        let at = if misaligned { address } else { end };
                        self.accessed(info, Window::Global, 1 << lane, &[at; 32], faults);
                        continue;
                    }
                    for piece in pieces {
                        let at = from[lane].wrapping_add(piece.offset);
                        if !self.store_piece(pc, lane, at, &piece, store, None) {
                            break;
                        }
                    }
                    self.reads_on(pc, lane, from[lane], bytes);
                }
                BulkPlace::Box(which) => {
                    let Some((map, pieces)) = self.pieces(pc, lane, &which, true) else { continue };
                    let place = (Window::Shared, from[lane]);
                    if !self.is_place_of_box(pc, lane, place, AccessKind::Read) {
                        continue;
                    }
                    for piece in pieces {
                        let at = map.swizzle.place(from[lane].wrapping_add(piece.offset));
                        if !self.store_piece(pc, lane, at, &piece, store, Some(&map)) {
                            break;
                        }
                    }
                    self.reads_on(pc, lane, from[lane], map.box_bytes() as u32);
                }
            }
        }
    }

    /// Notes that a copy reads shared memory until its thread waits for it.
    fn reads_on(&mut self, pc: Pc, lane: usize, from: u64, bytes: u32) {
        let group = self.copies().store_groups[lane];
        let source = StoreSource { pc, lane: lane as u8, group, from, bytes };
        self.copies().stores.push(source);
        self.state.copies_read = true;
    }

    /// Stores a piece; false if that is not possible.
    fn store_piece(
        &mut self,
        pc: Pc,
        lane: usize,
        from: u64,
        piece: &BoxPiece,
        store: &BulkStore,
        map: Option<&TensorMap>,
    ) -> bool {
        if !self.touches_shared(pc, lane, (Window::Shared, from), AccessKind::Read) {
            return false;
        }
        let start = piece.address.wrapping_add(piece.from.into());
        let memory = self.env.memory;
        let kind = if store.reduction.is_some() { AccessKind::Atomic } else { AccessKind::Write };
        let reduction = store.reduction.map(|(op, ty)| (op, map.map_or(ty, |map| map.element)));
        let flush = map.is_none_or(|map| map.flushes);
        aligned_parts(start, piece.to - piece.from).all(|(at, size)| {
            // No more than a word of the machine at once, and of a reduction an element.
            let unit = reduction.map_or(size.min(8), |(_, ty)| ty.bytes());
            let mut faults = LaneFaults::default();
            for offset in (0..size).step_by(unit as usize) {
                let at = at.wrapping_add(offset.into());
                if let Err(fault) = (&memory).check(lane, at, unit, true) {
                    faults.add(lane, fault);
                    break;
                }
                let place = from.wrapping_add(at.wrapping_sub(piece.address)) as usize;
                let (value, _) = self.state.shared.get(lane, place, unit);
                match reduction {
                    Some((op, ty)) => {
                        update_global(memory, at, unit, |old| {
                            combine(op, ty, flush, old, value, 0)
                        });
                    }
                    None => {
                        if let Ok(place) = (&memory).check(lane, at, unit, true) {
                            (&mut { memory }).put(lane, place, unit, value);
                        }
                    }
                }
            }
            let info = AccessInfo {
                strong: reduction.is_some(),
                operation: reduction.map_or(0, |(op, ty)| (op as u32) << 8 | ty as u32),
                ..AccessInfo::plain(pc, kind, size)
            };
            self.accessed(info, Window::Global, 1 << lane, &[at; 32], faults);
            faults.refused() == 0
        })
    }
}

fn read_word(
    memory: &impl LaneMemory,
    lane: usize,
    at: u64,
) -> Result<(u64, bool), crate::memory::lane_memory::Fault> {
    let place = memory.check(lane, at, 8, false)?;
    Ok(memory.get(lane, place, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_where_they_are_aligned() {
        let parts = |from, bytes| aligned_parts(from, bytes).collect::<Vec<_>>();
        assert_eq!(parts(32, 16), [(32, 16)]);
        assert_eq!(parts(36, 12), [(36, 4), (40, 8)]);
        assert_eq!(parts(30, 6), [(30, 2), (32, 4)]);
        assert_eq!(parts(32, 12), [(32, 8), (40, 4)]);
        assert_eq!(parts(7, 0), []);
    }
}
