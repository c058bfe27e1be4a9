//! Products of a warpgroup, `wgmma` (PTX ISA 9.7.15): four warps multiply a matrix of 64 rows, whose factors lie in shared memory,
//! that of A perhaps in registers. Each warp has 16 rows of A and of the sums, so that here each computes its own.

use crate::isa::matrix::{Product, Scalar};
use crate::isa::names::{Guard, Reg64};

/// Rows of A and of the sums that a warp has.
pub const ROWS: usize = 16;
/// Bytes of a piece of a factor, whose elements lie side by side.
pub const PIECE: u32 = 16;

/// Elements of a piece.
pub fn piece_elements(input: Scalar) -> usize {
    (PIECE / input.bytes()) as usize
}

/// Columns of A and rows of B: two pieces.
pub fn depth(input: Scalar) -> usize {
    2 * piece_elements(input)
}

/// The product of one warp of a warpgroup.
#[derive(Clone, Debug)]
pub struct GroupProduct {
    /// The fragments of the warp's part. That of a factor in shared memory has no registers.
    pub product: Product,
    /// A in shared memory; `None`: in registers.
    pub a: Option<Factor>,
    pub b: Factor,
    /// Where it does not hold, the sums begin at zero. `None`: they never do.
    pub adds: Option<Guard>,
    /// The factors count as their negatives.
    pub negated: [bool; 2],
}

/// Whether there is such a product, with factors of these types (PTX ISA 9.7.15.2).
pub fn is_there(n: usize, inputs: [Scalar; 2], sum: Scalar) -> bool {
    use Scalar::{Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
    // Of integers, the wide ones come in steps of 16 columns.
    let step = if sum == S32 && n > 32 { 16 } else { 8 };
    n.is_multiple_of(step)
        && (8..=256).contains(&n)
        && match inputs {
            [F16, F16] | [E4m3 | E5m2, E4m3 | E5m2] => matches!(sum, F16 | F32),
            [Bf16, Bf16] | [Tf32, Tf32] => sum == F32,
            [S8 | U8, S8 | U8] => sum == S32,
            _ => false,
        }
}

/// A factor in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    /// Says where it is.
    pub descriptor: Reg64,
    /// Neighbours along the rows of A, or the columns of B, lie side by side, and not those along the sum. Only elements of 16 bits may.
    pub transposed: bool,
}

/// How the pieces of a group of rows change places, so that they lie in different banks (PTX ISA 5.5.7, "Swizzling Modes"). The
/// value is the bytes of a row of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swizzle {
    None,
    Rows32,
    Rows64,
    Rows128,
}

impl Swizzle {
    /// Bytes of a row of the pattern.
    pub fn row(self) -> u64 {
        match self {
            Self::None => 16,
            Self::Rows32 => 32,
            Self::Rows64 => 64,
            Self::Rows128 => 128,
        }
    }

    /// Where what would be at an address is: the number of the piece in its row is combined with bits of the row's number.
    pub fn place(self, address: u64) -> u64 {
        self.place_from(address, 0)
    }

    /// The same with rows of 128 bytes that are counted from `first` on.
    fn place_from(self, address: u64, first: u64) -> u64 {
        let pieces = self.row() / 16 - 1;
        address ^ ((address >> 7).wrapping_sub(first) & pieces) << 4
    }
}

/// A matrix descriptor (PTX ISA 9.7.15.5.1.2.2): where a factor begins, and the distances of its parts in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub start: u64,
    pub leading: u64,
    pub stride: u64,
    /// The number of the row of 128 bytes at which the pattern of the swizzling mode begins.
    pub base_offset: u64,
    pub swizzle: Swizzle,
}

impl Descriptor {
    /// Reads a descriptor.
    pub fn new(bits: u64) -> Self {
        let bytes = |from: u32| (bits >> from & 0x3FFF) << 4;
        Self {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            base_offset: bits >> 49 & 7,
            swizzle: match bits >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::Rows128,
                2 => Swizzle::Rows64,
                _ => Swizzle::Rows32,
            },
        }
    }

    /// The address of the piece that holds an element. `outer` is its row of A, or column of B, `k` its place along the sum, in units of
    /// 16 bits; the pieces lie along `outer` if the factor is transposed (PTX ISA 9.7.15.5.1.2, "Shared Memory Matrix Layout").
    pub fn piece(&self, outer: usize, k: usize, transposed: bool) -> u64 {
        let row = self.swizzle.row();
        let pieces = row / u64::from(PIECE);
        let (outer, k) = (outer as u64, k as u64);
        let offset = match (transposed, self.swizzle) {
            (false, Swizzle::None) => {
                outer % 8 * row + outer / 8 * self.stride + k / 8 * self.leading
            }
            (false, _) => outer % 8 * row + outer / 8 * self.stride + k / 8 * u64::from(PIECE),
            (true, Swizzle::None) => k % 8 * row + k / 8 * self.leading + outer / 8 * self.stride,
            (true, _) => {
                let piece = outer / 8;
                k % 8 * row
                    + k / 8 * self.stride
                    + piece % pieces * u64::from(PIECE)
                    + piece / pieces * self.leading
            }
        };
        self.swizzle.place_from(self.start + offset, self.base_offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_descriptor_are_in_units_of_16_bytes() {
        let bits = 0x400 >> 4 | (0x80 >> 4) << 16 | (0x2000 >> 4) << 32 | 5 << 49 | 1 << 62;
        let expected = Descriptor {
            start: 0x400,
            leading: 0x80,
            stride: 0x2000,
            base_offset: 5,
            swizzle: Swizzle::Rows128,
        };
        assert_eq!(Descriptor::new(bits), expected);
        assert_eq!(Descriptor::new(2 << 62).swizzle, Swizzle::Rows64);
        assert_eq!(Descriptor::new(3 << 62).swizzle, Swizzle::Rows32);
    }

    #[test]
    fn products_have_the_types_and_columns_of_the_isa() {
        use Scalar::{Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
        for (inputs, sum, narrow, wide) in [
            ([F16; 2], F16, true, true),
            ([Bf16; 2], F16, false, false),
            ([Tf32; 2], F32, true, true),
            ([E4m3, E5m2], F16, true, true),
            ([S8, U8], S32, true, false),
            ([S8, S8], F32, false, false),
            ([F16, Bf16], F32, false, false),
        ] {
            assert_eq!([24, 40].map(|n| is_there(n, inputs, sum)), [narrow, wide], "{inputs:?}");
            assert!(!is_there(264, inputs, sum) && !is_there(12, inputs, sum));
        }
        assert_eq!([Tf32, F16, S8].map(depth), [8, 16, 32]);
    }

    #[test]
    fn rows_exchange_their_pieces() {
        // Of a pattern of 128 bytes, row 3 has its piece 1 where piece 2 would be.
        assert_eq!(Swizzle::Rows128.place(3 * 128 + 16), 3 * 128 + 32);
        assert_eq!(Swizzle::Rows64.place(7 * 128 + 16), 7 * 128 + 32);
        assert_eq!(Swizzle::Rows32.place(5 * 128), 5 * 128 + 16);
        assert_eq!(Swizzle::None.place(0x7F0), 0x7F0);
        // A pattern that begins at byte 384: there is its row 0.
        assert_eq!(Swizzle::Rows128.place_from(384 + 16, 3), 384 + 16);
        assert_eq!(Swizzle::Rows128.place_from(256, 3), 256 + 7 * 16);
    }

    #[test]
    fn every_piece_is_at_a_place_of_its_own() {
        for swizzle in [Swizzle::None, Swizzle::Rows32, Swizzle::Rows64, Swizzle::Rows128] {
            for transposed in [false, true] {
                let blocks = if swizzle == Swizzle::None { 128 } else { 8 * swizzle.row() };
                let (leading, stride) = match (swizzle, transposed) {
                    (Swizzle::None, false) => (blocks, 2 * blocks),
                    (Swizzle::None, true) => (8 * blocks, blocks),
                    // Columns of the pattern one behind the other; within each, two groups of eight rows.
                    _ => (2 * blocks, blocks),
                };
                let descriptor =
                    Descriptor { start: 1024, leading, stride, base_offset: 0, swizzle };
                let mut seen = std::collections::HashSet::new();
                for outer in 0..64 {
                    for k in 0..16 {
                        let within = if transposed { outer } else { k } % 8;
                        let piece = descriptor.piece(outer, k, transposed);
                        assert!(seen.insert(piece + 2 * within as u64), "{swizzle:?} {outer} {k}");
                    }
                }
            }
        }
    }
}
