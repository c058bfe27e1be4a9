//! Tensor cores: operations that a whole warp does as one (PTX ISA 9.7.14).

use super::memory::{AccessInfo, LaneFaults};
use crate::finding::{AccessKind, PartOfWarp, UnevenOperands};
use crate::isa::matrix::{Fragment, Layout, Matrices, Product, Tile, element_of_8x8};
use crate::isa::matrix_op::Matrix;
use crate::isa::names::{Address, Pc, Reg32, Slot};
use crate::isa::ops::fused_sum::BitMatrix;
use crate::isa::ops::product::product;
use crate::isa::ops::{quad_pairs, sparse};
use crate::isa::quad_pairs::{QuadPairs, pair, place_of_a, place_of_b, place_of_sum};
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::machine::registers::Registers;
use crate::memory::lane_memory::{Fault, LaneMemory};

/// Bytes of a row of `ldmatrix`.
const ROW: u32 = 16;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn matrix(&mut self, pc: Pc, mask: u32, matrix: &Matrix) {
        if mask != u32::MAX {
            self.record(PartOfWarp { here: mask }, pc, mask);
            self.spoil(mask, matrix);
            return;
        }
        match matrix {
            Matrix::Product(op) => self.product(op),
            Matrix::OfGroup(op) => self.group_product(pc, op),
            Matrix::QuadPairs(op) => self.quad_pairs(op),
            Matrix::Load(tile) => self.tile(pc, tile, false),
            Matrix::Store(tile) => self.tile(pc, tile, true),
            Matrix::Rows(rows) => self.rows(pc, rows),
            &Matrix::Transpose(d, a) => {
                let a = *self.warp.registers.r(a);
                let moved = std::array::from_fn(|lane| {
                    let half = |half| {
                        let (row, col) = element_of_8x8(lane, half, true);
                        a[row * 4 + col / 2] >> (16 * (col % 2)) & 0xFFFF
                    };
                    half(0) | half(1) << 16
                });
                *self.warp.registers.r_mut(d) = moved;
            }
        }
    }

    /// Makes the result undefined in the lanes that have arrived: all ones, as after an invalid read.
    fn spoil(&mut self, mask: u32, matrix: &Matrix) {
        let mut spoil = |slots: &[Slot]| {
            for &slot in slots {
                self.set_lanes(slot, mask, &[u64::MAX; 32]);
            }
        };
        match matrix {
            Matrix::Product(op) => spoil(&op.d.slots),
            Matrix::OfGroup(op) => spoil(&op.product.d.slots),
            Matrix::QuadPairs(op) => spoil(&op.d),
            Matrix::Load(tile) => spoil(&tile.fragment.slots),
            Matrix::Rows(rows) if !rows.stores => spoil(&rows.slots),
            &Matrix::Transpose(d, _) => spoil(&[Slot::Reg32(d)]),
            Matrix::Store(_) | Matrix::Rows(_) => {}
        }
    }

    fn product(&mut self, op: &Product) {
        let registers = &self.warp.registers;
        let matrix = |fragment| gather(registers, fragment);
        let add_products = self.env.simd.add_products;
        let [a, b, c] = [&op.a, &op.b, &op.c].map(matrix);
        let d = match op.sparsity {
            None => product(op, &a, &b, &c, add_products),
            Some(sparsity) => {
                let metadata = registers.r(sparsity.metadata);
                sparse::product(op, [&a, &b, &c], sparsity, metadata, add_products)
            }
        };
        scatter(&mut self.warp.registers, &op.d, &d);
    }

    /// Four products, each by a quarter of the lanes.
    fn quad_pairs(&mut self, op: &QuadPairs) {
        let registers = &self.warp.registers;
        let half = |slots: &[Slot], lane: usize, element: usize| {
            (registers.lane(slots[element / 2], lane) >> (16 * (element % 2))) as u32 & 0xFFFF
        };
        let mut a = [[[0; 4]; 8]; 4];
        let mut columns_of_b = a;
        for (lane, element) in (0..32).flat_map(|lane| (0..4).map(move |element| (lane, element))) {
            let (row, k) = place_of_a(lane, element, op.rows_of_a);
            a[pair(lane)][row][k] = half(&op.a, lane, element);
            let (k, column) = place_of_b(lane, element, op.rows_of_b);
            columns_of_b[pair(lane)][column][k] = half(&op.b, lane, element);
        }
        let of_sum =
            || (0..32usize).flat_map(|lane| (0..8usize).map(move |element| (lane, element)));
        let mut c = [[[0; 8]; 8]; 4];
        for (lane, element) in of_sum() {
            let (row, column) = place_of_sum(lane, element, op.halves_of_c);
            c[pair(lane)][row][column] = if op.halves_of_c {
                half(&op.c, lane, element)
            } else {
                registers.lane(op.c[element], lane) as u32
            };
        }
        let (half_of_c, half_of_d) = (op.halves_of_c, op.halves_of_d);
        let mut sums = [[0; 8]; 32];
        for (lane, element) in of_sum() {
            let (row, column) = place_of_sum(lane, element, half_of_d);
            let of = pair(lane);
            let factors = (a[of][row], columns_of_b[of][column]);
            let sum = quad_pairs::element(factors, c[of][row][column], half_of_c, half_of_d);
            if half_of_d {
                sums[lane][element / 2] |= sum << (16 * (element % 2));
            } else {
                sums[lane][element] = sum;
            }
        }
        for (lane, sums) in sums.iter().enumerate() {
            for (&slot, &bits) in op.d.iter().zip(sums) {
                self.warp.registers.set_lane(slot, lane, bits.into());
            }
        }
    }

    /// Executes `wmma.load` and `wmma.store`: a chunk of a matrix row or column for each lane.
    fn tile(&mut self, pc: Pc, tile: &Tile, stores: bool) {
        let fragment = &tile.fragment;
        let bytes = fragment.scalar.bytes();
        let (lines, length) = tile.lines();
        let bases = self.addresses(&tile.address);
        let strides = tile.stride.map(|stride| *self.warp.registers.r(stride));
        let stride_of = |lane: usize| strides.as_ref().map(|strides| strides[lane]);
        let uneven = lanes(u32::MAX)
            .filter(|&lane| (bases[lane], stride_of(lane)) != (bases[0], stride_of(0)))
            .fold(0, |all, lane| all | 1 << lane);
        if uneven != 0 {
            self.record(UnevenOperands, pc, uneven);
            if !stores {
                for &slot in &fragment.slots {
                    self.set_lanes(slot, u32::MAX, &[u64::MAX; 32]);
                }
            }
            return;
        }
        let (base, stride) = (bases[0], tile.bytes_between_lines(stride_of(0)));
        let least = tile.alignment();
        let base_is_aligned = base.is_multiple_of(least.into());
        let askew = !base_is_aligned || !stride.is_multiple_of(least.into());
        let line = length as u32 * bytes;
        // As wide as the place allows.
        let piece = if askew {
            line.min(16)
        } else {
            1 << (base | stride | u64::from(line) | 16).trailing_zeros()
        };
        let (window, base) = in_window(&tile.address, base);
        let per_line = line / piece;
        let pieces: Vec<u64> = (0..lines as u64)
            .flat_map(|line| {
                let first = base.wrapping_add(line.wrapping_mul(stride));
                (0..per_line).map(move |index| first.wrapping_add((index * piece).into()))
            })
            .collect();
        let mut dense =
            if stores { gather(&self.warp.registers, fragment) } else { BitMatrix::new() };
        let place = |index: usize| {
            let (line, at) = (index / length, index % length);
            if tile.by_rows { line * fragment.cols + at } else { at * fragment.cols + line }
        };
        let each = (piece / bytes) as usize;
        let mut in_memory = Vec::with_capacity(lines * length);
        if stores {
            in_memory.extend((0..dense.len()).map(|index| dense[place(index)]));
        }
        for (number, chunk) in pieces.chunks(32).enumerate() {
            let mask = u32::MAX >> (32 - chunk.len());
            let addresses = std::array::from_fn(|lane| chunk.get(lane).copied().unwrap_or(0));
            let access = LaneChunks {
                pc,
                window,
                mask,
                addresses,
                bytes: piece,
                element: bytes,
                askew: if askew { least } else { 0 },
                row_step: Some(stride).filter(|_| askew && base_is_aligned),
            };
            if stores {
                let first = number * 32 * each;
                self.put_pieces(&access, &in_memory[first..first + chunk.len() * each]);
            } else {
                self.get_pieces(&access, &mut in_memory);
            }
        }
        if !stores {
            dense = vec![0; in_memory.len()];
            for (index, value) in in_memory.into_iter().enumerate() {
                dense[place(index)] = value;
            }
            scatter(&mut self.warp.registers, fragment, &dense);
        }
    }

    /// Executes `ldmatrix` and `stmatrix`: lane i has the address of row i.
    fn rows(&mut self, pc: Pc, rows: &Matrices) {
        let count = rows.slots.len() * 8;
        let mask = u32::MAX >> (32 - count);
        let mut addresses = self.addresses(&rows.address);
        let (window, first) = in_window(&rows.address, addresses[0]);
        let outer = addresses[0].wrapping_sub(first);
        for address in &mut addresses {
            *address = address.wrapping_sub(outer);
        }
        let access = LaneChunks {
            pc,
            window,
            mask,
            addresses,
            bytes: ROW,
            element: 2,
            askew: 0,
            row_step: None,
        };
        // Element e of row r of a matrix lies at 8 r + e.
        if rows.stores {
            let mut values = vec![0; count * 8];
            self.each_half(rows, |registers, slot, lane, half, at| {
                values[at] = registers.lane(slot, lane) >> (16 * half) & 0xFFFF;
            });
            self.put_pieces(&access, &values);
        } else {
            let mut values = Vec::with_capacity(count * 8);
            self.get_pieces(&access, &mut values);
            self.each_half(rows, |registers, slot, lane, half, at| {
                let other = if half == 0 { 0 } else { registers.lane(slot, lane) & 0xFFFF };
                registers.set_lane(slot, lane, other | values[at] << (16 * half));
            });
        }
    }

    fn each_half(
        &mut self,
        rows: &Matrices,
        mut visit: impl FnMut(&mut Registers, Slot, usize, usize, usize),
    ) {
        for (matrix, &slot) in rows.slots.iter().enumerate() {
            for lane in 0..32 {
                for half in 0..2 {
                    let (row, col) = element_of_8x8(lane, half, rows.transposed);
                    let at = (matrix * 8 + row) * 8 + col;
                    visit(&mut self.warp.registers, slot, lane, half, at);
                }
            }
        }
    }

    /// Appends the elements of each lane's chunk. Elements that cannot be read are all ones.
    fn get_pieces(&mut self, access: &LaneChunks, values: &mut Vec<u64>) {
        let faults = match access.window {
            Window::Global => get(&self.env.memory, access, values),
            Window::Shared | Window::Cluster => get(&self.state.shared, access, values),
            Window::Local => get(&self.warp.local, access, values),
            Window::Const => get(self.env.constants, access, values),
            Window::Param => get(self.env.params, access, values),
        };
        self.pieces_accessed(access, AccessKind::Read, faults);
    }

    fn put_pieces(&mut self, access: &LaneChunks, values: &[u64]) {
        let faults = match access.window {
            Window::Global => put(&mut { self.env.memory }, access, values),
            Window::Shared | Window::Cluster => put(&mut self.state.shared, access, values),
            Window::Local => put(&mut self.warp.local, access, values),
            Window::Const | Window::Param => {
                LaneFaults { out_of_bounds: access.mask, ..LaneFaults::default() }
            }
        };
        self.pieces_accessed(access, AccessKind::Write, faults);
    }

    fn pieces_accessed(&mut self, access: &LaneChunks, kind: AccessKind, faults: LaneFaults) {
        let size = if access.askew == 0 { access.bytes } else { access.askew };
        let info =
            AccessInfo { row_step: access.row_step, ..AccessInfo::plain(access.pc, kind, size) };
        self.accessed(info, access.window, access.mask, &access.addresses, faults);
    }
}

/// The contiguous bytes of memory that each lane transfers.
struct LaneChunks {
    pc: Pc,
    window: Window,
    mask: u32,
    addresses: [u64; 32],
    /// Bytes of each chunk.
    bytes: u32,
    /// Bytes of each matrix element.
    element: u32,
    /// The alignment that the whole matrix should have and has not; 0 if it is aligned.
    askew: u32,
    /// Bytes from one row to the next, where they alone are misaligned.
    row_step: Option<u64>,
}

impl LaneChunks {
    fn check(&self, memory: &impl LaneMemory, lane: usize, write: bool) -> Result<usize, Fault> {
        if self.askew == 0 {
            return memory.check(lane, self.addresses[lane], self.bytes, write);
        }
        for byte in 0..u64::from(self.bytes) {
            memory.check(lane, self.addresses[lane].wrapping_add(byte), 1, write)?;
        }
        Err(Fault::Misaligned)
    }
}

/// The window of an address that all lanes share, and the address in it.
fn in_window(address: &Address, base: u64) -> (Window, u64) {
    address.window.map_or_else(
        || {
            let window = Window::of(base);
            (window, base.wrapping_sub(window.base()))
        },
        |window| (window, base),
    )
}

fn get(memory: &impl LaneMemory, access: &LaneChunks, values: &mut Vec<u64>) -> LaneFaults {
    let mut faults = LaneFaults::default();
    let (element, count) = (access.element, access.bytes / access.element);
    for lane in lanes(access.mask) {
        match access.check(memory, lane, false) {
            Ok(place) => {
                for index in 0..count {
                    let (value, defined) =
                        memory.get(lane, place + (index * element) as usize, element);
                    faults.undefined |= u32::from(!defined) << lane;
                    values.push(value);
                }
            }
            Err(fault) => {
                faults.add(lane, fault);
                values.extend((0..count).map(|_| u64::MAX >> (64 - 8 * element)));
            }
        }
    }
    faults
}

fn put(memory: &mut impl LaneMemory, access: &LaneChunks, values: &[u64]) -> LaneFaults {
    let mut faults = LaneFaults::default();
    let (element, count) = (access.element, (access.bytes / access.element) as usize);
    for (lane, values) in lanes(access.mask).zip(values.chunks_exact(count)) {
        match access.check(memory, lane, true) {
            Ok(place) => {
                for (index, &value) in values.iter().enumerate() {
                    memory.put(lane, place + index * element as usize, element, value);
                }
            }
            Err(fault) => faults.add(lane, fault),
        }
    }
    faults
}

/// The matrix that the registers of a fragment hold.
pub(super) fn gather(registers: &Registers, fragment: &Fragment) -> BitMatrix {
    let mut dense = vec![0; fragment.rows * fragment.cols];
    if let Some(words) = in_order(fragment) {
        // Of elements that are there more than once, the last.
        let (bits, packed) = (fragment.scalar.bytes() * 8, fragment.scalar.packed());
        let copies = words.len() * 32 * packed / dense.len();
        let last = &words[words.len() / copies * (copies - 1)..];
        for (&register, row) in last.iter().zip(dense.chunks_exact_mut(32 * packed)) {
            for (&value, elements) in registers.r(register).iter().zip(row.chunks_exact_mut(packed))
            {
                for (element, part) in elements.iter_mut().zip(0..) {
                    *element = u64::from(value) >> (part * bits) & (u64::MAX >> (64 - bits));
                }
            }
        }
        return dense;
    }
    each_element(fragment, |slot, lane, shift, mask, at| {
        dense[at] = registers.lane(slot, lane) >> shift & mask;
    });
    dense
}

pub(super) fn scatter(registers: &mut Registers, fragment: &Fragment, dense: &BitMatrix) {
    if let Some(words) = in_order(fragment) {
        let (bits, packed) = (fragment.scalar.bytes() * 8, fragment.scalar.packed());
        for (register, row) in words.into_iter().zip(dense.chunks_exact(32 * packed).cycle()) {
            let lanes = registers.r_mut(register).iter_mut().zip(row.chunks_exact(packed));
            for (value, elements) in lanes {
                let parts = elements.iter().zip(0..);
                *value =
                    parts.fold(0, |all, (&element, part)| all | (element as u32) << (part * bits));
            }
        }
        return;
    }
    for &slot in &fragment.slots {
        for lane in 0..32 {
            registers.set_lane(slot, lane, 0);
        }
    }
    each_element(fragment, |slot, lane, shift, _, at| {
        let other = registers.lane(slot, lane);
        registers.set_lane(slot, lane, other | dense[at] << shift);
    });
}

/// The registers of a fragment that hold its matrix row by row, once or more often; `None` for any other fragment.
fn in_order(fragment: &Fragment) -> Option<Vec<Reg32>> {
    let all = 32 * fragment.scalar.packed() * fragment.slots.len();
    let whole = (fragment.rows * fragment.cols).is_multiple_of(32 * fragment.scalar.packed())
        && all.is_multiple_of(fragment.rows * fragment.cols);
    let word = |slot: &Slot| match *slot {
        Slot::Reg32(register) => Some(register),
        _ => None,
    };
    (fragment.layout == Layout::Wmma && whole)
        .then(|| fragment.slots.iter().map(word).collect())
        .flatten()
}

fn each_element(fragment: &Fragment, mut visit: impl FnMut(Slot, usize, u32, u64, usize)) {
    let bits = fragment.scalar.bytes() * 8;
    for (register, &slot) in fragment.slots.iter().enumerate() {
        for lane in 0..32 {
            for part in 0..fragment.scalar.packed() {
                let (row, col) = fragment.place(lane, register, part);
                visit(
                    slot,
                    lane,
                    part as u32 * bits,
                    u64::MAX >> (64 - bits),
                    row * fragment.cols + col,
                );
            }
        }
    }
}
