//! Bulk copies, `cp.async.bulk` and `cp.async.bulk.tensor` (PTX ISA 9.7.9.25.4 and 9.7.9.25.5), and tensor maps.

use crate::isa::ir::AtomOp;
use crate::isa::names::{Address, Reg32};
use crate::isa::types::Type;
use crate::isa::warpgroup::Swizzle;
use hardware::NEWEST;

/// Bytes of which sizes and addresses of bulk copies are multiples.
pub const UNIT: u32 = 16;
/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// Most dimensions of a tensor that is copied.
pub const MAX_RANK: usize = 5;
/// What the place of a box in shared memory is a multiple of (PTX ISA, table "Valid alignment").
pub const BOX_ALIGN: u64 = 128;

/// A copy from global memory to shared memory, whose bytes a barrier object hears of.
#[derive(Clone, Copy, Debug)]
pub struct BulkLoad {
    pub to: Address,
    pub from: BulkPlace,
    /// The blocks of the cluster that get it, a bit each; `None`: only the one of the barrier object.
    pub blocks: Option<Reg32>,
}

/// A copy from shared memory to global memory, or a reduction of what is there.
#[derive(Clone, Copy, Debug)]
pub struct BulkStore {
    pub from: Address,
    pub to: BulkPlace,
    /// How the elements are combined with those that are there. Those of a box have the type of the map.
    pub reduction: Option<(AtomOp, Type)>,
}

/// What is copied in global memory.
#[derive(Clone, Copy, Debug)]
pub enum BulkPlace {
    /// So many bytes from an address on.
    Bytes { address: Address, bytes: Reg32 },
    /// A box of a tensor.
    Box { map: Address, coordinates: [Reg32; MAX_RANK], rank: u8 },
}

/// A field of a tensor map that `tensormap.replace` writes. The layout of the 128 bytes is this machine's own, and zero stands
/// for zero in each field, since programs may begin with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapField {
    GlobalAddress,
    /// Less one.
    Rank,
    ElementType,
    Interleave,
    Swizzle,
    Fill,
    Size,
    Box,
    Stride,
    ElementStride,
}

impl MapField {
    /// Offset of the field, or of its element for a dimension, and its size in bytes.
    pub fn place(self, dimension: usize) -> (u32, u32) {
        let (start, size) = match self {
            Self::GlobalAddress => (0, 8),
            Self::Rank => (8, 4),
            Self::ElementType => (12, 4),
            Self::Interleave => (16, 4),
            Self::Swizzle => (20, 4),
            Self::Fill => (24, 4),
            Self::Size => (32, 4),
            Self::Box => (52, 4),
            Self::Stride => (72, 8),
            Self::ElementStride => (104, 4),
        };
        (start + dimension as u32 * size, size)
    }

    /// Elements of the field.
    pub fn count(self) -> usize {
        match self {
            Self::Size | Self::Box | Self::ElementStride => MAX_RANK,
            Self::Stride => MAX_RANK - 1,
            _ => 1,
        }
    }
}

/// A tensor map: a tensor in global memory, and the boxes of it that are copied.
#[derive(Clone, Debug)]
pub struct TensorMap {
    pub address: u64,
    pub rank: usize,
    pub element: Type,
    pub swizzle: Swizzle,
    /// Elements in each dimension, the innermost first.
    pub size: [u32; MAX_RANK],
    /// Of a box in the tensor.
    pub extent: [u32; MAX_RANK],
    /// Bytes from an element to the next in each dimension but the innermost.
    pub stride: [u64; MAX_RANK - 1],
    /// Of so many elements in a dimension one is copied.
    pub element_stride: [u32; MAX_RANK],
}

/// A piece of a box: 16 bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxPiece {
    /// Its offset in the box, before swizzling.
    pub offset: u64,
    /// The address of its first byte in global memory, whether that belongs to the tensor or not.
    pub address: u64,
    /// The bytes of it that belong to the tensor.
    pub from: u32,
    pub to: u32,
}

impl TensorMap {
    /// Reads a map; an error says what is wrong with it, or not supported.
    pub fn new(bytes: &[u8; MAP_BYTES]) -> Result<Self, &'static str> {
        let value = |field: MapField, dimension| {
            let (start, size) = field.place(dimension);
            let bytes = &bytes[start as usize..(start + size) as usize];
            bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte))
        };
        let all = |field| std::array::from_fn(|dimension| value(field, dimension) as u32);
        // PTX ISA 9.7.9.27.1.2, table "tensormap new_val".
        let element = match value(MapField::ElementType, 0) {
            0 => Type::U8,
            1 => Type::U16,
            2 => Type::U32,
            3 => Type::S32,
            4 => Type::U64,
            5 => Type::S64,
            6 => Type::F16,
            7 => Type::F32,
            9 => Type::F64,
            10 => Type::Bf16,
            _ => return Err("its elements have a type that is not supported here"),
        };
        let swizzle = match value(MapField::Swizzle, 0) {
            0 => Swizzle::None,
            1 => Swizzle::Rows32,
            2 => Swizzle::Rows64,
            3 => Swizzle::Rows128,
            _ => return Err("its swizzling mode is not supported here"),
        };
        if value(MapField::Interleave, 0) != 0 {
            return Err("interleaved layouts are not supported here");
        }
        if value(MapField::Fill, 0) != 0 {
            return Err("what is outside of the tensor can only be zeros here");
        }
        let map = Self {
            address: value(MapField::GlobalAddress, 0),
            rank: value(MapField::Rank, 0) as usize + 1,
            element,
            swizzle,
            size: all(MapField::Size),
            extent: all(MapField::Box),
            stride: std::array::from_fn(|dimension| value(MapField::Stride, dimension)),
            element_stride: all(MapField::ElementStride),
        };
        map.check().map(|()| map)
    }

    fn check(&self) -> Result<(), &'static str> {
        let unit = u64::from(UNIT);
        if self.rank > MAX_RANK {
            return Err("a tensor has 1 to 5 dimensions");
        }
        if !self.address.is_multiple_of(unit) {
            return Err("the tensor begins at an address that is not a multiple of 16");
        }
        if self.stride[..self.rank - 1].iter().any(|stride| !stride.is_multiple_of(unit)) {
            return Err("the bytes from one row to the next are not a multiple of 16");
        }
        if self.size[..self.rank].contains(&0) {
            return Err("the tensor has no element");
        }
        if self.extent[..self.rank].iter().any(|extent| !(1..=256).contains(extent)) {
            return Err("a box has 1 to 256 elements in each dimension");
        }
        if self.element_stride[..self.rank].iter().any(|stride| !(1..=8).contains(stride)) {
            return Err("the stride of elements is 1 to 8");
        }
        if !self.row_bytes().is_multiple_of(unit) {
            return Err("a row of a box has a number of bytes that is not a multiple of 16");
        }
        if self.swizzle != Swizzle::None && self.row_bytes() > self.swizzle.row() {
            return Err("a row of a box has more bytes than the pattern of its swizzling mode");
        }
        if self.box_bytes() > u64::from(NEWEST.block_shared()) {
            return Err("a box has more bytes than the shared memory of a block");
        }
        Ok(())
    }

    /// Bytes of a row of a box: all its elements in the innermost dimension, whose stride does not count.
    fn row_bytes(&self) -> u64 {
        u64::from(self.extent[0]) * u64::from(self.element.bytes())
    }

    /// Bytes from a row of a box to the next in shared memory: that of the pattern, if there is one, even if rows are shorter (measured
    /// on an H200).
    fn row_pitch(&self) -> u64 {
        if self.swizzle == Swizzle::None { self.row_bytes() } else { self.swizzle.row() }
    }

    /// Elements of a box that are copied, in a dimension but the innermost.
    fn count(&self, dimension: usize) -> u64 {
        u64::from(self.extent[dimension].div_ceil(self.element_stride[dimension]))
    }

    /// Bytes of a box.
    pub fn box_bytes(&self) -> u64 {
        (1..self.rank).fold(self.row_bytes(), |all, dimension| all * self.count(dimension))
    }

    /// Whether a box may begin at these coordinates: an H200 stops with an illegal instruction where the innermost one is not a
    /// multiple of 16 bytes.
    pub fn check_place(&self, coordinates: [i32; MAX_RANK]) -> Result<(), &'static str> {
        let offset = i64::from(coordinates[0]) * i64::from(self.element.bytes());
        if offset % i64::from(UNIT) == 0 {
            Ok(())
        } else {
            Err("the innermost coordinate is not a multiple of 16 bytes")
        }
    }

    /// The pieces of the box at these coordinates, row by row.
    pub fn pieces(&self, coordinates: [i32; MAX_RANK]) -> Vec<BoxPiece> {
        let (unit, bytes) = (i64::from(UNIT), i64::from(self.element.bytes()));
        let (row_bytes, all) = (self.row_bytes(), self.box_bytes());
        let mut pieces = Vec::with_capacity((all / u64::from(UNIT)) as usize);
        for row in 0..all / row_bytes {
            let (mut left, mut address, mut inside) = (row, self.address, true);
            let outer = coordinates.iter().enumerate().take(self.rank).skip(1);
            for (dimension, &coordinate) in outer {
                let index =
                    left % self.count(dimension) * u64::from(self.element_stride[dimension]);
                left /= self.count(dimension);
                let at = i64::from(coordinate) + index as i64;
                inside &= (0..i64::from(self.size[dimension])).contains(&at);
                let offset = at.wrapping_mul(self.stride[dimension - 1] as i64);
                address = address.wrapping_add_signed(offset);
            }
            for start in (0..row_bytes as i64).step_by(UNIT as usize) {
                let first = i64::from(coordinates[0]) * bytes + start;
                let end = i64::from(self.size[0]) * bytes - first;
                let (from, to) = ((-first).clamp(0, unit) as u32, end.clamp(0, unit) as u32);
                pieces.push(BoxPiece {
                    offset: row * self.row_pitch() + start as u64,
                    address: address.wrapping_add_signed(first),
                    from: if inside { from } else { 0 },
                    to: if inside { to.max(from) } else { 0 },
                });
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tensor of 48 x 20 words at 4096, boxes of 8 x 4, and what `change` makes of it.
    fn map(
        change: impl Fn(&mut dyn FnMut(MapField, usize, u64)),
    ) -> Result<TensorMap, &'static str> {
        let mut bytes = [0; MAP_BYTES];
        let mut set = |field: MapField, dimension, value: u64| {
            let (start, size) = field.place(dimension);
            let of = &mut bytes[start as usize..(start + size) as usize];
            of.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        };
        set(MapField::GlobalAddress, 0, 4096);
        set(MapField::Rank, 0, 1);
        set(MapField::ElementType, 0, 2);
        for (dimension, (size, extent)) in [(48, 8), (20, 4)].into_iter().enumerate() {
            set(MapField::Size, dimension, size);
            set(MapField::Box, dimension, extent);
            set(MapField::ElementStride, dimension, 1);
        }
        set(MapField::Stride, 0, 192);
        change(&mut set);
        TensorMap::new(&bytes)
    }

    #[test]
    fn fields_do_not_touch_each_other() {
        let all = [
            MapField::GlobalAddress,
            MapField::Rank,
            MapField::ElementType,
            MapField::Interleave,
            MapField::Swizzle,
            MapField::Fill,
            MapField::Size,
            MapField::Box,
            MapField::Stride,
            MapField::ElementStride,
        ];
        let mut used = [false; MAP_BYTES];
        for (field, dimension) in all.iter().flat_map(|&f| (0..f.count()).map(move |d| (f, d))) {
            let (start, size) = field.place(dimension);
            assert!(start.is_multiple_of(size));
            for byte in start..start + size {
                assert!(
                    !std::mem::replace(&mut used[byte as usize], true),
                    "{field:?} {dimension}"
                );
            }
        }
    }

    #[test]
    fn pieces_know_what_belongs_to_the_tensor() {
        let map = map(|_| ()).unwrap();
        assert_eq!(map.box_bytes(), 128);
        let piece = |offset, address, from, to| BoxPiece { offset, address, from, to };
        let inside = map.pieces([4, 2, 0, 0, 0]);
        assert_eq!(inside.len(), 8);
        assert_eq!(inside[3], piece(48, 4096 + 3 * 192 + 32, 0, 16));
        let left = map.pieces([-3, 19, 0, 0, 0]);
        assert_eq!(left[0], piece(0, 4096 + 19 * 192 - 12, 12, 16));
        assert_eq!((left[1].from, left[1].to), (0, 16));
        // Below the last row.
        assert_eq!((left[2].from, left[2].to), (0, 0));
        let right = map.pieces([47, 0, 0, 0, 0]);
        assert_eq!(right[0], piece(0, 4096 + 188, 0, 4));
        assert_eq!((right[1].from, right[1].to), (0, 0));
        let far = map.pieces([i32::MIN, i32::MAX, 0, 0, 0]);
        assert!(far.iter().all(|piece| piece.from == piece.to));
    }

    #[test]
    fn boxes_begin_at_multiples_of_16_bytes() {
        let map = map(|_| ()).unwrap();
        assert!(map.check_place([-4, 1, 0, 0, 0]).is_ok());
        assert!(map.check_place([-3, 1, 0, 0, 0]).is_err());
    }

    #[test]
    fn rows_are_as_far_apart_as_those_of_the_pattern() {
        let map = map(|set| set(MapField::Swizzle, 0, 3)).unwrap();
        assert_eq!((map.box_bytes(), map.pieces([0; 5])[3].offset), (128, 128 + 16));
    }

    #[test]
    fn elements_can_be_skipped() {
        let map = map(|set| set(MapField::ElementStride, 1, 3)).unwrap();
        assert_eq!(map.box_bytes(), 64);
        assert_eq!(map.pieces([0; 5])[2].address, 4096 + 3 * 192);
    }

    #[test]
    fn maps_that_the_engine_does_not_take_are_refused() {
        let why = |field, dimension, value| map(|set| set(field, dimension, value)).unwrap_err();
        assert!(why(MapField::GlobalAddress, 0, 4104).contains("address"));
        assert!(why(MapField::Stride, 0, 200).contains("16"));
        assert!(why(MapField::Rank, 0, 5).contains("dimensions"));
        assert!(why(MapField::Box, 0, 3).contains("16"));
        assert!(why(MapField::Box, 1, 257).contains("256"));
        assert!(why(MapField::Size, 1, 0).contains("element"));
        assert!(why(MapField::ElementStride, 1, 0).contains("stride"));
        assert!(why(MapField::ElementType, 0, 11).contains("type"));
        assert!(why(MapField::Interleave, 0, 1).contains("nterleaved"));
        let wide = map(|set| {
            set(MapField::Box, 0, 16);
            set(MapField::Swizzle, 0, 1);
        });
        assert!(wide.unwrap_err().contains("pattern"));
        let large = map(|set| {
            set(MapField::Box, 0, 256);
            set(MapField::Box, 1, 256);
        });
        assert!(large.unwrap_err().contains("shared memory"));
    }
}
