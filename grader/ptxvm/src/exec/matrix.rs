//! Matrices across the lanes of a warp (PTX ISA 9.7.14), and asynchronous copies (9.7.9.25).
//!
//! A product is the sum of all its terms in double precision, in which products of halves and of `tf32` are exact, rounded once
//! to the type of the result. The ISA leaves the order and the precision of the sum open; GPUs cut off low bits on the way, so
//! their last bits differ from these.

use super::Machine;
use crate::hooks::Monitor;
use crate::ir::{Address, Base, Element as Word, Elements, Pc, R, Slot};
use crate::matrix::{Access, CopyLater, Copying, Element, Fragment, LoadRows, Matrix, Multiply};
use crate::memory::Window;
use crate::ops::round::{self, Mode};
use crate::warp::{Registers, lanes};

/// A copy that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pc: Pc,
    mask: u32,
    /// Number of the group that it belongs to.
    group: u32,
    to: [u64; 32],
    from: [u64; 32],
    read: [u32; 32],
    copy: CopyLater,
}

/// Copies of a warp, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Pending>,
    /// Groups that were committed.
    committed: u32,
}

impl Copies {
    pub fn clear(&mut self) {
        self.pending.clear();
        self.committed = 0;
    }
}

/// One value of so many bytes in a 32-bit register.
fn word(register: R, bytes: u32) -> Elements {
    Elements {
        slots: [Slot::R(register), Slot::Sink, Slot::Sink, Slot::Sink],
        count: 1,
        element: Word { bytes, signed: false, register_bits: 32 },
    }
}

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn matrix(&mut self, pc: Pc, mask: u32, op: &Matrix) {
        if mask == 0 {
            return;
        }
        match op {
            Matrix::Access(access) => self.access_fragment(pc, mask, access),
            Matrix::Multiply(multiply) => product(&mut self.warp.registers, mask, multiply),
            Matrix::LoadRows(load) => self.load_rows(pc, mask, load),
        }
    }

    /// Loads or stores values of one register in all lanes, each at an address of its own.
    fn move_words(
        &mut self,
        (pc, mask, stores): (Pc, u32, bool),
        address: &Address,
        at: &[u64; 32],
        elements: &Elements,
    ) {
        let Base::Q(pointer) = address.base else { return };
        *self.warp.registers.q_mut(pointer) = *at;
        if stores {
            self.store(pc, mask, address, elements);
        } else {
            self.load(pc, mask, address, elements);
        }
    }

    fn access_fragment(&mut self, pc: Pc, mask: u32, access: &Access) {
        let Access { fragment, stride, by_rows, stores, pointer, part, .. } = access;
        let start = self.addresses(&access.address);
        let stride: [u32; 32] = match stride {
            Some(stride) => *self.warp.registers.r(*stride),
            None => [if *by_rows { fragment.columns } else { fragment.rows }; 32],
        };
        let bytes = fragment.element.bytes();
        let at = |register: u32, part: u32| -> [u64; 32] {
            std::array::from_fn(|lane| {
                let (row, column) = fragment.place(lane as u32, register, part);
                let (major, minor) = if *by_rows { (row, column) } else { (column, row) };
                let index = u64::from(major) * u64::from(stride[lane]) + u64::from(minor);
                start[lane].wrapping_add(index * u64::from(bytes))
            })
        };
        let address = Address { base: Base::Q(*pointer), offset: 0, ..access.address };
        let parts = fragment.element.of_register();
        for (number, &register) in (0u32..).zip(&fragment.registers) {
            let (first, second) = (at(number, 0), at(number, parts.min(2) - 1));
            // All parts of a register lie side by side, or none do.
            let close = parts == 1 || second[0] == first[0].wrapping_add(u64::from(bytes));
            if close {
                self.move_words((pc, mask, *stores), &address, &first, &word(register, 4));
                continue;
            }
            for index in 0..parts {
                let shift = index * bytes * 8;
                let ones = u32::MAX >> (32 - bytes * 8);
                if *stores {
                    let whole = *self.warp.registers.r(register);
                    *self.warp.registers.r_mut(*part) = whole.map(|word| word >> shift & ones);
                }
                let elements = word(*part, bytes);
                self.move_words((pc, mask, *stores), &address, &at(number, index), &elements);
                if !*stores {
                    let loaded = *self.warp.registers.r(*part);
                    let whole = self.warp.registers.r_mut(register);
                    for lane in lanes(mask) {
                        let kept = if index == 0 { 0 } else { whole[lane] };
                        whole[lane] = kept | (loaded[lane] & ones) << shift;
                    }
                }
            }
        }
    }

    fn load_rows(&mut self, pc: Pc, mask: u32, load: &LoadRows) {
        let rows = self.addresses(&load.address);
        let address = Address { base: Base::Q(load.pointer), offset: 0, ..load.address };
        for (number, &register) in load.registers.iter().enumerate() {
            // Lane 8 i + r points to row r of matrix i.
            let row = |row: usize| rows[number * 8 + row];
            if !load.transposed {
                let at = std::array::from_fn(|lane| row(lane / 4) + 4 * (lane as u64 % 4));
                self.move_words((pc, mask, false), &address, &at, &word(register, 4));
                continue;
            }
            for half in 0..2 {
                let at =
                    std::array::from_fn(|lane| row(lane % 4 * 2 + half) + 2 * (lane as u64 / 4));
                self.move_words((pc, mask, false), &address, &at, &word(load.part, 2));
                let loaded = *self.warp.registers.r(load.part);
                let whole = self.warp.registers.r_mut(register);
                for lane in lanes(mask) {
                    let kept = if half == 0 { 0 } else { whole[lane] };
                    whole[lane] = kept | (loaded[lane] & 0xFFFF) << (16 * half);
                }
            }
        }
    }

    pub(super) fn copying(&mut self, pc: Pc, mask: u32, op: &Copying) {
        match op {
            Copying::Begin(copy) => {
                if mask == 0 {
                    return;
                }
                let read = match copy.read {
                    Some(count) => self.warp.registers.r(count).map(|n| n.min(copy.bytes)),
                    None => [copy.bytes; 32],
                };
                let (to, from) = (self.addresses(&copy.to), self.addresses(&copy.from));
                let copies = &mut self.warp.copies;
                let group = copies.committed;
                copies.pending.push(Pending {
                    pc,
                    mask,
                    group,
                    to,
                    from,
                    read,
                    copy: copy.clone(),
                });
            }
            Copying::Commit => self.warp.copies.committed += 1,
            Copying::Wait(left) => {
                let copies = &mut self.warp.copies;
                // Groups below this number are waited for; the one that is not committed only by a wait for all.
                let end = left.map_or(u32::MAX, |left| copies.committed.saturating_sub(left));
                let all = std::mem::take(&mut copies.pending);
                for mut pending in all {
                    let now = if pending.group < end { pending.mask & mask } else { 0 };
                    if now != 0 {
                        self.copy_now(&Pending { mask: now, ..pending.clone() });
                    }
                    pending.mask &= !now;
                    if pending.mask != 0 {
                        self.warp.copies.pending.push(pending);
                    }
                }
            }
        }
    }

    fn copy_now(&mut self, pending: &Pending) {
        let Pending { pc, mask, to, from, read, copy, .. } = pending;
        let base = Base::Q(copy.pointer);
        let source = Address { window: Some(Window::Global), base, offset: 0, ..copy.from };
        let target = Address { window: Some(Window::Shared), base, offset: 0, ..copy.to };
        let count = copy.bytes / 4;
        let mut elements = word(copy.words[0], 4);
        elements.count = count as u8;
        for (slot, &register) in elements.slots.iter_mut().zip(&copy.words[..count as usize]) {
            *slot = Slot::R(register);
            *self.warp.registers.r_mut(register) = [0; 32];
        }
        let whole = lanes(*mask).filter(|&lane| read[lane] == copy.bytes);
        let whole = whole.fold(0, |all, lane| all | 1 << lane);
        if whole != 0 {
            self.move_words((*pc, whole, false), &source, from, &elements);
        }
        // Where less is read, byte by byte: only the edge of a tensor needs it.
        for byte in 0..copy.bytes {
            let some = lanes(mask & !whole).filter(|&lane| read[lane] > byte);
            let some = some.fold(0, |all, lane| all | 1 << lane);
            if some == 0 {
                continue;
            }
            let register = copy.words[byte as usize / 4];
            let before = *self.warp.registers.r(register);
            let at = from.map(|at| at.wrapping_add(byte.into()));
            self.move_words((*pc, some, false), &source, &at, &word(register, 1));
            let words = self.warp.registers.r_mut(register);
            for lane in lanes(some) {
                words[lane] = before[lane] | (words[lane] & 0xFF) << (8 * (byte % 4));
            }
        }
        self.move_words((*pc, *mask, true), &target, to, &elements);
    }
}

/// The NaN that every float operation of a GPU gives.
const NAN: u32 = 0x7FFF_FFFF;

/// The value of an element in a register.
fn value(element: Element, word: u32, part: u32) -> f64 {
    match element {
        Element::F16 => half::f16::from_bits((word >> (16 * part)) as u16).to_f64(),
        Element::Bf16 => half::bf16::from_bits((word >> (16 * part)) as u16).to_f64(),
        Element::Tf32 => f32::from_bits(word & !0x1FFF).into(),
        Element::F32 => f32::from_bits(word).into(),
        Element::S8 => f64::from((word >> (8 * part)) as u8 as i8),
        Element::U8 => f64::from((word >> (8 * part)) as u8),
        Element::S32 => f64::from(word as i32),
    }
}

/// All elements by rows; of lanes that are not there, what they last held.
fn gather(registers: &Registers, fragment: &Fragment) -> Vec<f64> {
    let mut all = vec![0.0; (fragment.rows * fragment.columns) as usize];
    for (number, &register) in (0u32..).zip(&fragment.registers) {
        let words = registers.r(register);
        for (lane, &word) in (0u32..).zip(words) {
            for part in 0..fragment.element.of_register() {
                let (row, column) = fragment.place(lane, number, part);
                all[(row * fragment.columns + column) as usize] =
                    value(fragment.element, word, part);
            }
        }
    }
    all
}

fn product(registers: &mut Registers, mask: u32, multiply: &Multiply) {
    let Multiply { a, b, c, d, saturates } = multiply;
    let (left, right, sum) = (gather(registers, a), gather(registers, b), gather(registers, c));
    let columns = d.columns as usize;
    let shared = a.columns as usize;
    let integers = d.element.is_integer();
    let element = |row: usize, column: usize| -> u32 {
        let terms = (0..shared).map(|k| left[row * shared + k] * right[k * columns + column]);
        if integers {
            // Exact: at most 32 products of 16 bits, and a sum of 32.
            let total = terms.sum::<f64>() + sum[row * columns + column];
            return match saturates {
                true => (total as i32) as u32,
                false => (total as i64) as u32,
            };
        }
        let total = terms.fold(sum[row * columns + column], |total, term| total + term);
        match d.element {
            Element::F16 => round::to_16(total, round::F16, Mode::Nearest),
            _ if total.is_nan() => NAN,
            _ => round::to_f32(total, Mode::Nearest).to_bits(),
        }
    };
    for (number, &register) in (0u32..).zip(&d.registers) {
        for lane in lanes(mask) {
            let parts = d.element.of_register();
            let mut word = 0;
            for part in 0..parts {
                let (row, column) = d.place(lane as u32, number, part);
                word |= element(row as usize, column as usize) << (part * d.element.bytes() * 8);
            }
            registers.r_mut(register)[lane] = word;
        }
    }
}
