//! Read-modify-write operations (PTX ISA 9.7.13, `atom` and `red`).

use super::memory::{AccessInfo, LaneFaults};
use crate::finding::AccessKind;
use crate::isa::atom_op::AtomOp;
use crate::isa::ir::{Atom, WideAtom};
use crate::isa::names::{Pc, Reg64, Slot};
use crate::isa::ops::{float, half};
use crate::isa::types::Type;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::memory::Memory;
use crate::memory::lane_memory::{Fault, LaneMemory, within_word};

/// The new value of a word, from its old value and the operands.
pub(super) fn combine(op: AtomOp, ty: Type, flush: bool, old: u64, b: u64, c: u64) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match op {
        AtomOp::Exch => b,
        AtomOp::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        // Counts up to b, then starts again from 0.
        AtomOp::Inc => u64::from(if old32 >= b32 { 0 } else { old32 + 1 }),
        // Counts down from b.
        AtomOp::Dec => u64::from(if old32 == 0 || old32 > b32 { b32 } else { old32 - 1 }),
        AtomOp::Add => match ty {
            Type::F32 if flush => {
                let sum = float::w32::add(float::w32::flush(old32), float::w32::flush(b32));
                float::w32::flush(sum).into()
            }
            Type::F32 => float::w32::add(old32, b32).into(),
            Type::F64 => float::w64::add(old, b),
            Type::F16 => half::f16::add(old32, b32).into(),
            Type::F16x2 => half::f16::add2(old32, b32).into(),
            Type::Bf16 => half::bf16::add(old32, b32).into(),
            Type::Bf16x2 => half::bf16::add2(old32, b32).into(),
            _ if ty.bits() == 64 => old.wrapping_add(b),
            _ => old32.wrapping_add(b32).into(),
        },
        AtomOp::Min | AtomOp::Max => {
            let min = op == AtomOp::Min;
            match ty {
                Type::F16 if min => half::f16::min(old32, b32).into(),
                Type::F16 => half::f16::max(old32, b32).into(),
                Type::F16x2 if min => half::f16::min2(old32, b32).into(),
                Type::F16x2 => half::f16::max2(old32, b32).into(),
                Type::Bf16 if min => half::bf16::min(old32, b32).into(),
                Type::Bf16 => half::bf16::max(old32, b32).into(),
                Type::Bf16x2 if min => half::bf16::min2(old32, b32).into(),
                Type::Bf16x2 => half::bf16::max2(old32, b32).into(),
                Type::S64 if min => (old as i64).min(b as i64) as u64,
                Type::S64 => (old as i64).max(b as i64) as u64,
                Type::S32 if min => u64::from((old as i32).min(b as i32) as u32),
                Type::S32 => u64::from((old as i32).max(b as i32) as u32),
                _ if min => old.min(b),
                _ => old.max(b),
            }
        }
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Executes an atomic lane by lane, in ascending order.
    pub(super) fn atomic(&mut self, pc: Pc, mask: u32, atom: &Atom) {
        self.each_window(mask, &atom.address, |machine, window, mask, addresses| {
            machine.atomic_in(pc, mask, window, addresses, atom);
        });
    }

    pub(super) fn atomic_in(
        &mut self,
        pc: Pc,
        mask: u32,
        window: Window,
        addresses: &[u64; 32],
        atom: &Atom,
    ) {
        let bytes = atom.ty.bytes();
        let ones = u64::MAX >> (64 - bytes * 8);
        // atom.add.f32 flushes subnormals in global memory, not in shared memory (PTX ISA 9.7.13.5).
        let flush = window == Window::Global;
        // An exchange whose result nobody uses only stores.
        let reads = atom.op != AtomOp::Exch || atom.dst != Slot::Sink;
        let mut faults = LaneFaults::default();
        let mut olds = [0; 32];
        for lane in lanes(mask) {
            let registers = &self.warp.registers;
            let b = registers.lane(atom.b, lane) & ones;
            let c = registers.lane(atom.c, lane) & ones;
            let new = |old| combine(atom.op, atom.ty, flush, old, b, c);
            let address = addresses[lane];
            let done = match window {
                Window::Global => {
                    let memory = self.env.memory;
                    (&memory)
                        .check(lane, address, bytes, true)
                        .map(|_| update_global(memory, address, bytes, new))
                }
                Window::Shared | Window::Cluster => {
                    let shared = &mut self.state.shared;
                    update(shared, lane, address, bytes, new)
                }
                Window::Local => update(&mut self.warp.local, lane, address, bytes, new),
                Window::Const | Window::Param => Err(Fault::OutOfBounds),
            };
            match done {
                Ok((old, defined)) => {
                    olds[lane] = old;
                    faults.undefined |= u32::from(!defined && reads) << lane;
                }
                Err(fault) => {
                    olds[lane] = ones;
                    faults.add(lane, fault);
                }
            }
        }
        self.set_lanes(atom.dst, mask, &olds);
        let info = AccessInfo {
            strong: true,
            operation: (atom.op as u32) << 8 | atom.ty as u32,
            ..AccessInfo::plain(pc, AccessKind::Atomic, bytes)
        };
        self.accessed(info, window, mask, addresses, faults);
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// Executes an exchange or a comparison of 16 bytes (PTX ISA 9.7.13.5, `.b128`), lane by lane. Kernels that have one run on one host
    /// thread.
    pub(super) fn wide_atomic(&mut self, pc: Pc, mask: u32, atom: &WideAtom) {
        self.each_window(mask, &atom.address, |machine, window, mask, addresses| {
            machine.wide_atomic_in(pc, mask, window, addresses, atom);
        });
    }

    fn wide_atomic_in(
        &mut self,
        pc: Pc,
        mask: u32,
        window: Window,
        addresses: &[u64; 32],
        atom: &WideAtom,
    ) {
        let op = if atom.expected.is_some() { AtomOp::Cas } else { AtomOp::Exch };
        let mut faults = LaneFaults::default();
        for lane in lanes(mask) {
            let pair = |of: [Reg64; 2]| of.map(|half| self.warp.registers.q(half)[lane]);
            let (expected, value) = (atom.expected.map(pair), pair(atom.value));
            let new =
                |old| if expected.is_none_or(|expected| expected == old) { value } else { old };
            let done = match window {
                Window::Global => update_pair(&mut { self.env.memory }, lane, addresses[lane], new),
                Window::Shared | Window::Cluster => {
                    update_pair(&mut self.state.shared, lane, addresses[lane], new)
                }
                Window::Local => update_pair(&mut self.warp.local, lane, addresses[lane], new),
                Window::Const | Window::Param => Err(Fault::OutOfBounds),
            };
            let old = match done {
                Ok((old, defined)) => {
                    faults.undefined |= u32::from(!defined && op == AtomOp::Cas) << lane;
                    old
                }
                Err(fault) => {
                    faults.add(lane, fault);
                    [u64::MAX; 2]
                }
            };
            for (&slot, half) in atom.dst.iter().zip(old) {
                self.warp.registers.set_lane(slot, lane, half);
            }
        }
        let info = AccessInfo {
            strong: true,
            operation: (op as u32) << 8 | Type::B64 as u32,
            ..AccessInfo::plain(pc, AccessKind::Atomic, 16)
        };
        self.accessed(info, window, mask, addresses, faults);
    }
}

/// Updates 16 bytes; their old value, and whether all words of it were written before.
fn update_pair(
    memory: &mut impl LaneMemory,
    lane: usize,
    address: u64,
    new: impl Fn([u64; 2]) -> [u64; 2],
) -> Result<([u64; 2], bool), Fault> {
    let place = memory.check(lane, address, 16, true)?;
    let [low, high] = [0, 8].map(|offset| memory.get(lane, place + offset, 8));
    for (half, offset) in new([low.0, high.0]).into_iter().zip([0, 8]) {
        memory.put(lane, place + offset, 8, half);
    }
    Ok(([low.0, high.0], low.1 && high.1))
}

/// Updates memory that no other block sees.
fn update(
    memory: &mut impl LaneMemory,
    lane: usize,
    address: u64,
    bytes: u32,
    new: impl Fn(u64) -> u64,
) -> Result<(u64, bool), Fault> {
    let place = memory.check(lane, address, bytes, true)?;
    let (old, defined) = memory.get(lane, place, bytes);
    memory.put(lane, place, bytes, new(old));
    Ok((old, defined))
}

/// Updates global memory at a checked address. A 64-bit update is not atomic on the host: kernels that have one run on one host
/// thread.
pub(super) fn update_global(
    memory: &Memory,
    address: u64,
    bytes: u32,
    new: impl Fn(u64) -> u64,
) -> (u64, bool) {
    let Some((buffer, start)) = memory.slot(address) else {
        // Launches that may see the heap run on one host thread.
        let (old, defined) = memory.heap.get(address, bytes);
        memory.heap.put(address, bytes, new(old));
        return (old, defined);
    };
    let place = (address - start) as usize;
    let (old, defined) = buffer.get(place, bytes);
    match bytes {
        8 => {
            buffer.put(place, 8, new(old));
            (old, defined)
        }
        4 => {
            let old = buffer.update(place / 4, |old| new(old.into()) as u32);
            buffer.define(place, 4);
            (old.into(), defined)
        }
        _ => {
            let (mask, shift) = within_word(place, bytes);
            let old = buffer.update(place / 4, |word| {
                let value = new(u64::from((word & mask) >> shift)) as u32;
                (word & !mask) | (value << shift & mask)
            });
            buffer.define(place, bytes);
            (u64::from((old & mask) >> shift), defined)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: AtomOp, ty: Type, old: u64, b: u64) -> u64 {
        combine(op, ty, true, old, b, 99)
    }

    #[test]
    fn counters_wrap_at_their_bound() {
        assert_eq!(of(AtomOp::Inc, Type::U32, 2, 3), 3);
        assert_eq!(of(AtomOp::Inc, Type::U32, 3, 3), 0);
        assert_eq!(of(AtomOp::Dec, Type::U32, 0, 3), 3);
        assert_eq!(of(AtomOp::Dec, Type::U32, 9, 3), 3);
        assert_eq!(of(AtomOp::Dec, Type::U32, 2, 3), 1);
    }

    #[test]
    fn signs_and_widths() {
        let minus = u64::from(u32::MAX);
        assert_eq!(of(AtomOp::Min, Type::S32, minus, 1), minus);
        assert_eq!(of(AtomOp::Min, Type::U32, minus, 1), 1);
        assert_eq!(of(AtomOp::Add, Type::U32, minus, 1), 0);
        assert_eq!(of(AtomOp::Add, Type::U64, minus, 1), 1 << 32);
        assert_eq!(of(AtomOp::Cas, Type::B32, 5, 5), 99);
        assert_eq!(of(AtomOp::Cas, Type::B32, 6, 5), 6);
    }

    #[test]
    fn float_sums_flush_in_global_memory() {
        assert_eq!(combine(AtomOp::Add, Type::F32, true, 1, 1, 0), 0);
        assert_eq!(combine(AtomOp::Add, Type::F32, false, 1, 1, 0), 2);
    }
}
