//! Follows matrix products: the fragments of a warp hold expressions, and an element of a product is a sum of theirs.

use super::arena::{LocationId, MatrixProduct, Node, NodeId, raw};
use super::follow::Source;
use crate::finding::AccessKind;
use crate::instruments::provenance::Provenance;
use crate::isa::matrix::{Fragment, Product, Scalar, Tile};
use crate::isa::matrix_op::Matrix;
use crate::isa::names::Base;
use crate::isa::window::Window;
use crate::machine::monitor::{Event, Step};
use crate::memory::lane_memory::LaneMemory;

impl Provenance {
    pub(super) fn matrix(&mut self, step: &Step, matrix: &Matrix) {
        match matrix {
            // What is refused leaves nothing to follow.
            _ if step.mask != u32::MAX => self.lost = true,
            Matrix::Product(op) if op.sparsity.is_some() => self.lost = true,
            Matrix::Product(op) => self.multiply(step, op),
            Matrix::Load(tile) => self.load_tile(step, tile),
            Matrix::Store(tile) => self.store_tile(step, tile),
            Matrix::OfGroup(_) | Matrix::QuadPairs(_) | Matrix::Rows(_) | Matrix::Transpose(..) => {
                self.lost = true;
            }
        }
    }

    fn multiply(&mut self, step: &Step, op: &Product) {
        let place = self.place(step.pc);
        let [a, b, c] = [&op.a, &op.b, &op.c].map(|from| self.gather(step, from, place));
        let product = MatrixProduct { a, b, c, columns: op.shape.n, place };
        let elements = self.arena.product(product);
        self.scatter(step.warp, &op.d, &elements, place);
    }

    /// The expressions of a matrix, row by row; constants for plain bits.
    fn gather(&mut self, step: &Step, fragment: &Fragment, place: LocationId) -> Vec<NodeId> {
        let mut all = vec![NodeId::NONE; fragment.rows * fragment.cols];
        for (register, &slot) in fragment.slots.iter().enumerate() {
            for lane in 0..32 {
                let node = self.warps[step.warp as usize].get(slot, lane);
                let packed = fragment.scalar.packed();
                for part in 0..packed {
                    let (row, col) = fragment.place(lane, register, part);
                    let bits =
                        step.registers.lane(slot, lane) >> (part as u32 * 64 / packed as u32 / 2);
                    let known = match (node.is_some(), self.arena.get(node)) {
                        (false, _) => self.arena.constant(number(fragment.scalar, bits)),
                        (true, _) if packed == 1 => node,
                        (true, Node::Pair(low, high)) if packed == 2 => {
                            let half = if part == 0 { low } else { high };
                            match self.arena.get(half) {
                                Node::Function(of, [inner, _], at) => {
                                    let name = if of.starts_with('b') { "bf16" } else { "f16" };
                                    self.arena.widened(name, (of, inner, at))
                                }
                                _ => self.arena.opaque(place),
                            }
                        }
                        _ => self.arena.opaque(place),
                    };
                    all[row * fragment.cols + col] = known;
                }
            }
        }
        all
    }

    fn scatter(&mut self, warp: u32, fragment: &Fragment, all: &[NodeId], place: LocationId) {
        let name = if fragment.scalar == Scalar::Bf16 { "bf16" } else { "f16" };
        for (register, &slot) in fragment.slots.iter().enumerate() {
            for lane in 0..32 {
                let part = |part| {
                    let (row, col) = fragment.place(lane, register, part);
                    all[row * fragment.cols + col]
                };
                let node = match fragment.scalar {
                    Scalar::F32 | Scalar::Tf32 | Scalar::F64 => part(0),
                    Scalar::F16 | Scalar::Bf16 => {
                        let halves = [part(0), part(1)];
                        let [low, high] = halves.map(|half| match self.arena.get(half) {
                            Node::Function(of, ..) if of == raw(name) || of == name => half,
                            _ => self.arena.function(raw(name), [half, NodeId::NONE], place),
                        });
                        self.arena.pair(low, high)
                    }
                    // Integers are plain values.
                    _ => NodeId::NONE,
                };
                self.warps[warp as usize].set(slot, lane, node);
            }
        }
    }

    /// The window of a tile, and the address of each of its elements, row by row.
    fn places(&mut self, step: &Step, tile: &Tile) -> (Window, Vec<u64>) {
        let address = &tile.address;
        self.addressed(step, address.base);
        let base = match address.base {
            Base::Reg64(base) => step.registers.q(base)[0].wrapping_add_signed(address.offset),
            Base::Reg32(base) => {
                step.registers.r(base)[0].wrapping_add(address.offset as u32).into()
            }
        };
        let window = address.window.unwrap_or_else(|| Window::of(base));
        let base = if address.window.is_some() { base } else { base.wrapping_sub(window.base()) };
        let Fragment { rows, cols, scalar, .. } = tile.fragment;
        let step_of_lines =
            tile.bytes_between_lines(tile.stride.map(|stride| step.registers.r(stride)[0]));
        let at = |index: usize| {
            let (row, col) = ((index / cols) as u64, (index % cols) as u64);
            let (line, along) = if tile.by_rows { (row, col) } else { (col, row) };
            base.wrapping_add(line.wrapping_mul(step_of_lines))
                .wrapping_add(along * u64::from(scalar.bytes()))
        };
        (window, (0..rows * cols).map(at).collect())
    }

    fn load_tile(&mut self, step: &Step, tile: &Tile) {
        let place = self.place(step.pc);
        let (window, places) = self.places(step, tile);
        let source = Source { place, window, memory: step.memory };
        self.lost |= window == Window::Local;
        let bytes = tile.fragment.scalar.bytes();
        let of = |memory: &dyn LaneMemory, address| match memory.check(0, address, bytes, false) {
            Ok(place) => memory.get(0, place, bytes).0,
            Err(_) => 0,
        };
        let plain = |address: u64| match window {
            Window::Shared => of(step.shared, address),
            _ => of(&step.memory, address),
        };
        let mut all = Vec::with_capacity(places.len());
        for address in places {
            let node = self.read(&source, address, bytes);
            all.push(if node.is_some() {
                node
            } else {
                self.arena.constant(number(tile.fragment.scalar, plain(address)))
            });
        }
        self.scatter(step.warp, &tile.fragment, &all, place);
    }

    /// Who stores a tile is known when it is stored.
    fn store_tile(&mut self, step: &Step, tile: &Tile) {
        let place = self.place(step.pc);
        let (window, places) = self.places(step, tile);
        self.lost |= window == Window::Local;
        let all = self.gather(step, &tile.fragment, place);
        let scalar = tile.fragment.scalar;
        let mut stored = Vec::with_capacity(all.len());
        for (address, node) in places.into_iter().zip(all) {
            let node = match scalar {
                Scalar::F16 => self.arena.function(raw("f16"), [node, NodeId::NONE], place),
                Scalar::Bf16 => self.arena.function(raw("bf16"), [node, NodeId::NONE], place),
                _ => node,
            };
            stored.push((address, scalar.bytes(), node));
        }
        self.tile = stored;
    }

    pub(super) fn matrix_stored(&mut self, event: &Event) {
        if event.kind != AccessKind::Write {
            return;
        }
        let by = self.writer(event, 0);
        for (address, bytes, node) in std::mem::take(&mut self.tile) {
            self.put(event.window, address, bytes, node, by);
        }
    }
}

/// A float of a matrix.
fn number(scalar: Scalar, bits: u64) -> f64 {
    match scalar {
        Scalar::F16 => half::f16::from_bits(bits as u16).to_f64(),
        Scalar::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
        Scalar::F32 | Scalar::Tf32 => f32::from_bits(bits as u32).into(),
        Scalar::F64 => f64::from_bits(bits),
        _ => 0.0,
    }
}
