//! Matrices spread over the registers of a warp: fragments of `wmma` and `mma.sync` (PTX ISA 9.7.14).

use crate::ir::{Address, Q, R};

/// Types of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    Bf16,
    /// 32 bits, of which the lowest 13 do not count.
    Tf32,
    S8,
    U8,
    F32,
    S32,
}

impl Element {
    /// By its name in an opcode.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "f32" => Self::F32,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    /// Bytes in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Self::S8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 => 4,
        }
    }

    /// How many share a register.
    pub fn of_register(self) -> u32 {
        4 / self.bytes()
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Self::S8 | Self::U8 | Self::S32)
    }
}

/// Which element a lane holds where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Of `wmma`, where the ISA leaves it open: one element after another, by rows or by columns, as often as there is room.
    Open { by_rows: bool },
    /// The left factor of `mma.sync`.
    Left,
    /// The right factor.
    Right,
    /// The sum.
    Sum,
}

/// A matrix in registers.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub rows: u32,
    pub columns: u32,
    pub element: Element,
    pub registers: Vec<R>,
    pub layout: Layout,
}

impl Fragment {
    /// Row and column of an element: part `part` of register `register` of a lane.
    pub fn place(&self, lane: u32, register: u32, part: u32) -> (u32, u32) {
        let (group, inside) = (lane / 4, lane % 4);
        let parts = self.element.of_register();
        match self.layout {
            Layout::Open { by_rows } => {
                let registers = self.registers.len() as u32;
                let number = (lane * registers + register) * parts + part;
                let number = number % (self.rows * self.columns);
                if by_rows {
                    (number / self.columns, number % self.columns)
                } else {
                    (number % self.rows, number / self.rows)
                }
            }
            // PTX ISA 9.7.14.5, "Matrix Fragments for mma": figures of each shape.
            Layout::Left => {
                (group + 8 * (register % 2), inside * parts + part + register / 2 * 4 * parts)
            }
            Layout::Right => (inside * parts + part + register * 4 * parts, group),
            Layout::Sum => {
                let number = register * parts + part;
                (group + 8 * (number / 2), inside * 2 + number % 2)
            }
        }
    }
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub fragment: Fragment,
    pub address: Address,
    /// Elements between the starts of two rows, or of two columns; None: they lie close.
    pub stride: Option<R>,
    /// How the matrix lies in memory.
    pub by_rows: bool,
    pub stores: bool,
    /// For the addresses of the lanes.
    pub pointer: Q,
    /// For elements on their way.
    pub part: R,
}

/// `wmma.mma` and `mma.sync`: d = a * b + c.
#[derive(Clone, Debug)]
pub(crate) struct Multiply {
    pub a: Fragment,
    pub b: Fragment,
    pub c: Fragment,
    pub d: Fragment,
    /// Integers stay in their range.
    pub saturates: bool,
}

/// `ldmatrix`: matrices of 8 x 8 halves, whose rows lie where the lanes point.
#[derive(Clone, Debug)]
pub(crate) struct LoadRows {
    pub registers: Vec<R>,
    pub address: Address,
    pub transposed: bool,
    pub pointer: Q,
    pub part: R,
}

/// An operation that a whole warp does together.
#[derive(Clone, Debug)]
pub(crate) enum Matrix {
    Access(Access),
    Multiply(Multiply),
    LoadRows(LoadRows),
}

/// `cp.async`: a copy from global to shared memory that happens at a later wait.
#[derive(Clone, Debug)]
pub(crate) struct CopyLater {
    pub to: Address,
    pub from: Address,
    /// 4, 8 or 16.
    pub bytes: u32,
    /// Bytes that are read; the others become 0.
    pub read: Option<R>,
    pub pointer: Q,
    pub words: [R; 4],
}

/// Asynchronous copies.
#[derive(Clone, Debug)]
pub(crate) enum Copying {
    Begin(CopyLater),
    /// Those since the last one are a group.
    Commit,
    /// Until at most so many groups are left; None: until nothing is.
    Wait(Option<u32>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(rows: u32, columns: u32, element: Element, count: u32, layout: Layout) -> Fragment {
        Fragment { rows, columns, element, registers: (0..count).map(R).collect(), layout }
    }

    /// Every element is somewhere, as often as all others.
    #[test]
    fn every_element_has_its_place() {
        use Element::{Bf16, F16, F32, S8, S32, Tf32};
        let open = |by_rows| Layout::Open { by_rows };
        for (rows, columns, element, count, layout) in [
            (16, 16, F16, 8, open(true)),
            (32, 16, F16, 8, open(false)),
            (8, 16, F16, 8, open(true)),
            (16, 16, Bf16, 4, open(false)),
            (16, 8, Tf32, 4, open(true)),
            (16, 16, S8, 2, open(true)),
            (16, 16, F32, 8, open(true)),
            (32, 8, F16, 4, open(true)),
            (16, 8, F16, 2, Layout::Left),
            (16, 16, F16, 4, Layout::Left),
            (16, 4, Tf32, 2, Layout::Left),
            (16, 8, Tf32, 4, Layout::Left),
            (16, 32, S8, 4, Layout::Left),
            (8, 8, F16, 1, Layout::Right),
            (16, 8, F16, 2, Layout::Right),
            (8, 8, Tf32, 2, Layout::Right),
            (32, 8, S8, 2, Layout::Right),
            (16, 8, F32, 4, Layout::Sum),
            (16, 8, F16, 2, Layout::Sum),
            (16, 8, S32, 4, Layout::Sum),
        ] {
            let fragment = fragment(rows, columns, element, count, layout);
            let mut seen = vec![0; (rows * columns) as usize];
            for lane in 0..32 {
                for register in 0..count {
                    for part in 0..element.of_register() {
                        let (row, column) = fragment.place(lane, register, part);
                        seen[(row * columns + column) as usize] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&n| n == seen[0] && n > 0), "{fragment:?}");
        }
    }

    /// Places that the figures of the PTX ISA show.
    #[test]
    fn the_layouts_of_mma_are_those_of_the_isa() {
        let a = fragment(16, 16, Element::F16, 4, Layout::Left);
        // Lane 5 is in group 1, the second of it: a0 a1 in row 1, a2 a3 in row 9, a4 a5 in row 1 from column 8 on.
        let places = [(0, 0), (0, 1), (1, 0), (2, 0), (3, 1)].map(|(r, p)| a.place(5, r, p));
        assert_eq!(places, [(1, 2), (1, 3), (9, 2), (1, 10), (9, 11)]);
        let b = fragment(16, 8, Element::F16, 2, Layout::Right);
        assert_eq!(
            [(0, 0), (0, 1), (1, 0)].map(|(r, p)| b.place(5, r, p)),
            [(2, 1), (3, 1), (10, 1)]
        );
        let c = fragment(16, 8, Element::F32, 4, Layout::Sum);
        let places = [0, 1, 2, 3].map(|register| c.place(5, register, 0));
        assert_eq!(places, [(1, 2), (1, 3), (9, 2), (9, 3)]);
    }
}
