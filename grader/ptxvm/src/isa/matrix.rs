//! Fragments of matrices: which element of a matrix each register of each lane holds.
//!
//! `mma.sync` and `ldmatrix` have the layouts of the PTX ISA (9.7.14.5). The ISA leaves those of `wmma` open: here a fragment
//! holds the matrix row by row, with consecutive elements in the same register of consecutive lanes.

use crate::isa::names::{Address, Reg32, Slot};
use crate::isa::window::Window;

/// The type of a matrix element in `mma`, `wmma`, `ldmatrix` and their like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    F16,
    Bf16,
    /// An `f32` of which the lowest 13 bits do not count.
    Tf32,
    F32,
    F64,
    S8,
    U8,
    /// Integers of four bits, and single bits. They lie side by side along k everywhere, so an element of a matrix here is a word of
    /// 32 bits that holds 8 or 32 of them, and extents along k count words.
    S4,
    U4,
    B1,
    S32,
    /// Floats of 8 bits: four of exponent and three of significand, and five and two.
    E4m3,
    E5m2,
}

impl Scalar {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "b1" => Self::B1,
            "s32" => Self::S32,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            _ => return None,
        })
    }

    /// Bytes that an element takes in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 | Self::F32 | Self::S32 | Self::S4 | Self::U4 | Self::B1 => 4,
            Self::F64 => 8,
        }
    }

    /// Elements of the ISA in an element here, which is 1 but for types of less than a byte.
    pub fn in_word(self) -> usize {
        match self {
            Self::S4 | Self::U4 => 8,
            Self::B1 => 32,
            _ => 1,
        }
    }

    /// Elements of one register.
    pub fn packed(self) -> usize {
        if self == Self::F64 { 1 } else { 4 / self.bytes() as usize }
    }
}

/// Rows of A and D, columns of B and D, and what is summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// Reads a shape as PTX writes it, `m16n8k16` for example; None if it is not one.
    pub fn parse(name: &str) -> Option<Self> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }

    /// The shape with k in words, where elements of this type are less than a byte each.
    pub fn in_words_of(self, scalar: Scalar) -> Self {
        Self { k: self.k / scalar.in_word(), ..self }
    }

    /// Whether the shape has these extents.
    pub fn is(self, m: usize, n: usize, k: usize) -> bool {
        (self.m, self.n, self.k) == (m, n, k)
    }
}

/// Which of the matrices of D = A B + C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    A,
    B,
    /// The accumulators: C and D, which have the same shape.
    Sum,
}

/// Who says where elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Wmma,
    Mma,
}

/// The registers that hold a matrix.
#[derive(Clone, Debug)]
pub struct Fragment {
    pub role: Role,
    pub layout: Layout,
    pub scalar: Scalar,
    pub rows: usize,
    pub cols: usize,
    pub slots: Vec<Slot>,
}

impl Fragment {
    /// Rows and columns of a matrix of a product.
    pub fn size(role: Role, shape: Shape) -> (usize, usize) {
        match role {
            Role::A => (shape.m, shape.k),
            Role::B => (shape.k, shape.n),
            Role::Sum => (shape.m, shape.n),
        }
    }

    /// Registers of each lane. `wmma` keeps A and B of `f16` in 8 of them whatever their shape, so elements may be there more
    /// than once.
    pub fn registers(
        role: Role,
        layout: Layout,
        scalar: Scalar,
        rows: usize,
        cols: usize,
    ) -> usize {
        if layout == Layout::Wmma && scalar == Scalar::F16 && role != Role::Sum {
            return 8;
        }
        rows * cols / 32 / scalar.packed()
    }

    /// Row and column of one element of a register.
    pub fn place(&self, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let packed = self.scalar.packed();
        // PTX ISA 9.7.14.5: groups of four lanes, in each of which a lane has neighbouring elements.
        let (group, member) = (lane / 4, lane % 4);
        match (self.layout, self.role) {
            (Layout::Wmma, _) => {
                let index = ((register * 32 + lane) * packed + part) % (self.rows * self.cols);
                (index / self.cols, index % self.cols)
            }
            (Layout::Mma, Role::A) => {
                let blocks = self.rows / 8;
                let (down, across) = (register % blocks, register / blocks);
                (group + 8 * down, 4 * packed * across + member * packed + part)
            }
            (Layout::Mma, Role::B) => (4 * packed * register + member * packed + part, group),
            (Layout::Mma, Role::Sum) => {
                let index = register * packed + part;
                // In groups of eight columns (PTX ISA 9.7.15.5.1.1).
                (group + 8 * (index / 2 % 2), 8 * (index / 4) + 2 * member + index % 2)
            }
        }
    }
}

/// A matrix product with accumulation, D = A B + C: `mma.sync` or `wmma.mma`.
#[derive(Clone, Debug)]
pub struct Product {
    pub shape: Shape,
    pub d: Fragment,
    pub a: Fragment,
    pub b: Fragment,
    pub c: Fragment,
    /// `.satfinite`: sums of integers stay in range.
    pub saturate: bool,
    /// `.xor.popc`: single bits are combined by exclusive or, else by `and`.
    pub xor: bool,
    /// `mma.sp`: where the elements of A belong, half of which are zero and have no registers.
    pub sparsity: Option<Sparsity>,
}

/// What `mma.sp` says of its matrix A: registers of some lanes hold the places of the elements that are there.
#[derive(Clone, Copy, Debug)]
pub struct Sparsity {
    pub metadata: Reg32,
    /// Which lane, or pair of lanes, of each four has the metadata of all four.
    pub selector: usize,
}

/// The transfer of a fragment between registers and memory: `wmma.load` or `wmma.store`.
#[derive(Clone, Debug)]
pub struct Tile {
    pub fragment: Fragment,
    pub address: Address,
    /// Elements from one row, or column, to the next. None: they lie close together.
    pub stride: Option<Reg32>,
    /// Rows lie in one piece, else columns.
    pub by_rows: bool,
}

impl Tile {
    /// Bytes from one line to the next, if its stride is so many elements; without one, the lines lie close together.
    pub fn bytes_between_lines(&self, stride: Option<u32>) -> u64 {
        let scalar = self.fragment.scalar;
        let elements = stride
            .map_or(self.lines().1 as u64, |stride| u64::from(stride) / scalar.in_word() as u64);
        elements * u64::from(scalar.bytes())
    }

    /// How many rows or columns lie in one piece each, and elements of each.
    pub fn lines(&self) -> (usize, usize) {
        let Fragment { rows, cols, .. } = self.fragment;
        if self.by_rows { (rows, cols) } else { (cols, rows) }
    }

    /// What the address, and that of each line, must be a multiple of: the bytes that a lane takes at once in the machine code
    /// for `sm_75` to `sm_90`, and what an H200 takes (`tests/golden/align.tsv`). The ISA (9.7.14.4.2) asks for the bytes of a
    /// fragment, the CUDA C++ Programming Guide for 32 at the start and for 16 between lines, but a GPU runs what keeps to less.
    pub fn alignment(&self) -> u32 {
        let Fragment { role, scalar, rows, .. } = self.fragment;
        let shared = self.address.window == Some(Window::Shared);
        // Neighbours along k lie side by side.
        let along_k = self.by_rows == (role == Role::A);
        match scalar {
            // By `ldmatrix`, in whole rows of 16 bytes.
            Scalar::F16 | Scalar::Bf16 if role != Role::Sum && shared => 16,
            Scalar::S8 | Scalar::U8 if along_k && shared => 16,
            Scalar::S8 | Scalar::U8 if !along_k => 1,
            Scalar::F64 if role == Role::Sum && self.by_rows => 16,
            Scalar::F64 => 8,
            // Two elements at once, where they lie side by side.
            Scalar::F32 | Scalar::S32 if self.by_rows != (rows == 8) => 8,
            _ => 4,
        }
    }
}

/// `ldmatrix` and `stmatrix`: 1, 2 or 4 matrices of 8 rows of 16 bytes.
#[derive(Clone, Debug)]
pub struct Matrices {
    pub slots: Vec<Slot>,
    pub address: Address,
    pub transposed: bool,
    pub stores: bool,
}

/// The source of one half of a register of an 8 x 8 matrix: row and column.
pub fn element_of_8x8(lane: usize, half: usize, transposed: bool) -> (usize, usize) {
    let (row, col) = (lane / 4, lane % 4 * 2 + half);
    if transposed { (col, row) } else { (row, col) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(role: Role, layout: Layout, scalar: Scalar, shape: Shape) -> Fragment {
        let (rows, cols) = Fragment::size(role, shape);
        let count = Fragment::registers(role, layout, scalar, rows, cols);
        Fragment { role, layout, scalar, rows, cols, slots: vec![Slot::Sink; count] }
    }

    #[test]
    fn lanes_of_mma_hold_what_the_isa_says() {
        let k16 = Shape::parse("m16n8k16").unwrap();
        let a = fragment(Role::A, Layout::Mma, Scalar::F16, k16);
        // a0 to a7 of lane 5: group 1, member 1 (figure "m16n8k16 A fragment layout with f16").
        let places: Vec<_> = (0..8).map(|index| a.place(5, index / 2, index % 2)).collect();
        assert_eq!(places, [(1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11)]);
        let b = fragment(Role::B, Layout::Mma, Scalar::F16, k16);
        let places: Vec<_> = (0..4).map(|index| b.place(5, index / 2, index % 2)).collect();
        assert_eq!(places, [(2, 1), (3, 1), (10, 1), (11, 1)]);
        for scalar in [Scalar::F32, Scalar::F16] {
            let c = fragment(Role::Sum, Layout::Mma, scalar, k16);
            let packed = scalar.packed();
            let places: Vec<_> =
                (0..4).map(|index| c.place(31, index / packed, index % packed)).collect();
            assert_eq!(places, [(7, 6), (7, 7), (15, 6), (15, 7)], "{scalar:?}");
        }
        let k8 = Shape::parse("m16n8k8").unwrap();
        let a = fragment(Role::A, Layout::Mma, Scalar::Tf32, k8);
        let places: Vec<_> = (0..4).map(|register| a.place(6, register, 0)).collect();
        assert_eq!(places, [(1, 2), (9, 2), (1, 6), (9, 6)]);
        let b = fragment(Role::B, Layout::Mma, Scalar::Tf32, k8);
        assert_eq!([b.place(6, 0, 0), b.place(6, 1, 0)], [(2, 1), (6, 1)]);
        let k32 = Shape::parse("m16n8k32").unwrap();
        let a = fragment(Role::A, Layout::Mma, Scalar::S8, k32);
        let places: Vec<_> = (0..4).map(|register| a.place(6, register, 3)).collect();
        assert_eq!(places, [(1, 11), (9, 11), (1, 27), (9, 27)]);
        let b = fragment(Role::B, Layout::Mma, Scalar::S8, k32);
        assert_eq!([b.place(6, 0, 1), b.place(6, 1, 1)], [(9, 1), (25, 1)]);
        let k8 = fragment(Role::A, Layout::Mma, Scalar::F64, k8);
        let places: Vec<_> = (0..4).map(|register| k8.place(6, register, 0)).collect();
        assert_eq!(places, [(1, 2), (9, 2), (1, 6), (9, 6)]);
    }

    #[test]
    fn every_element_is_somewhere_equally_often() {
        let shape = |name| Shape::parse(name).unwrap();
        let mut all = Vec::new();
        for name in ["m16n16k16", "m32n8k16", "m8n32k16"] {
            for scalar in [Scalar::F16, Scalar::Bf16, Scalar::S8] {
                all.push((Layout::Wmma, scalar, Scalar::F32, shape(name)));
            }
        }
        all.push((Layout::Wmma, Scalar::Tf32, Scalar::F32, shape("m16n16k8")));
        all.push((Layout::Wmma, Scalar::F64, Scalar::F64, shape("m8n8k4")));
        all.push((Layout::Mma, Scalar::F64, Scalar::F64, shape("m8n8k4")));
        all.push((Layout::Mma, Scalar::F16, Scalar::F16, shape("m16n8k8")));
        all.push((Layout::Mma, Scalar::Bf16, Scalar::F32, shape("m16n8k16")));
        all.push((Layout::Mma, Scalar::Tf32, Scalar::F32, shape("m16n8k4")));
        all.push((Layout::Mma, Scalar::S8, Scalar::S32, shape("m8n8k16")));
        for (layout, scalar, name) in [
            (Layout::Wmma, Scalar::S4, "m8n8k32"),
            (Layout::Wmma, Scalar::B1, "m8n8k128"),
            (Layout::Mma, Scalar::U4, "m16n8k64"),
            (Layout::Mma, Scalar::B1, "m16n8k256"),
        ] {
            all.push((layout, scalar, Scalar::S32, shape(name).in_words_of(scalar)));
        }
        all.push((Layout::Mma, Scalar::E4m3, Scalar::F32, shape("m16n8k32")));
        all.push((Layout::Mma, Scalar::F64, Scalar::F64, shape("m16n8k16")));
        for (layout, input, sum, shape) in all {
            for (role, scalar) in [(Role::A, input), (Role::B, input), (Role::Sum, sum)] {
                let fragment = fragment(role, layout, scalar, shape);
                let mut seen = vec![0; fragment.rows * fragment.cols];
                for lane in 0..32 {
                    for register in 0..fragment.slots.len() {
                        for part in 0..scalar.packed() {
                            let (row, col) = fragment.place(lane, register, part);
                            seen[row * fragment.cols + col] += 1;
                        }
                    }
                }
                let each = 32 * fragment.slots.len() * scalar.packed() / seen.len();
                assert!(each > 0 && seen.iter().all(|&times| times == each), "{fragment:?}");
            }
        }
    }

    #[test]
    fn places_are_as_even_as_machine_code_needs() {
        let least = |role, scalar, name, by_rows, window| {
            let fragment = fragment(role, Layout::Wmma, scalar, Shape::parse(name).unwrap());
            let base = crate::isa::names::Base::Reg64(crate::isa::names::Reg64(0));
            let address =
                Address { window, base, offset: 0, marks: crate::isa::names::Marks::default() };
            Tile { fragment, address, stride: None, by_rows }.alignment()
        };
        let (global, shared) = (Some(Window::Global), Some(Window::Shared));
        for by_rows in [true, false] {
            assert_eq!(least(Role::B, Scalar::F16, "m32n8k16", by_rows, shared), 16);
            assert_eq!(least(Role::B, Scalar::F16, "m32n8k16", by_rows, global), 4);
            assert_eq!(least(Role::A, Scalar::Bf16, "m16n16k16", by_rows, None), 4);
            assert_eq!(least(Role::A, Scalar::Tf32, "m16n16k8", by_rows, shared), 4);
            assert_eq!(least(Role::Sum, Scalar::F16, "m8n32k16", by_rows, shared), 4);
            let (long, short) = if by_rows { (8, 4) } else { (4, 8) };
            assert_eq!(least(Role::Sum, Scalar::F32, "m16n16k16", by_rows, global), long);
            assert_eq!(least(Role::Sum, Scalar::S32, "m8n32k16", by_rows, global), short);
            let (long, short) = if by_rows { (16, 1) } else { (1, 16) };
            assert_eq!(least(Role::A, Scalar::S8, "m16n16k16", by_rows, shared), long);
            assert_eq!(least(Role::B, Scalar::U8, "m16n16k16", by_rows, shared), short);
            let sum = if by_rows { 16 } else { 8 };
            assert_eq!(least(Role::Sum, Scalar::F64, "m8n8k4", by_rows, global), sum);
        }
    }

    #[test]
    fn a_transposed_matrix_has_rows_for_columns() {
        assert_eq!(element_of_8x8(5, 1, false), (1, 3));
        assert_eq!(element_of_8x8(5, 1, true), (3, 1));
    }
}
