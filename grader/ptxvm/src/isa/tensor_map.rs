//! Tensor maps: which boxes of a tensor `cp.async.bulk.tensor` copies (PTX ISA 5.5 and 9.7.9.27).

use crate::isa::bulk::UNIT;
use crate::isa::types::Type;
use crate::isa::warpgroup::Swizzle;
use hardware::NEWEST;

/// Bytes of a tensor map.
pub const MAP_BYTES: usize = 128;
/// Most dimensions of a tensor that is copied.
pub const MAX_RANK: usize = 5;
/// Most dimensions of a tensor along which the pixels of a column lie: all but the channels and the number of the image.
pub const SPACE: usize = MAX_RANK - 2;

/// A word of the NaNs that may stand for what is outside of a tensor (measured on an H100, for `f16` and `f32`).
const NAN_FILL: u32 = 0x7FF7_7FF7;

/// A field of a tensor map that `tensormap.replace` writes. The layout of the 128 bytes is this machine's own, and zero stands
/// for zero in each field, since programs may begin with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapField {
    GlobalAddress,
    /// Less one.
    Rank,
    ElementType,
    Interleave,
    Swizzle,
    Fill,
    /// 0 for tiles, 1 for im2col. No instruction writes it.
    Mode,
    Size,
    /// Of a tile its elements in each dimension; for im2col channels, pixels, and in the lower and the upper half of a word the two corners
    /// of each dimension.
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
            Self::Mode => (28, 4),
            Self::Size => (32, 4),
            Self::Box => (52, 4),
            Self::Stride => (72, 8),
            Self::ElementStride => (104, 4),
        };
        (start + dimension as u32 * size, size)
    }

    /// Writes the field of a map, or its element for a dimension.
    fn write(self, map: &mut [u8; MAP_BYTES], dimension: usize, value: u64) {
        let (start, size) = self.place(dimension);
        let of = &mut map[start as usize..(start + size) as usize];
        of.copy_from_slice(&value.to_le_bytes()[..size as usize]);
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

/// The boxes of a tensor that are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoxShape {
    /// So many elements in each dimension, those included that a stride of elements skips.
    Tile([u32; MAX_RANK]),
    /// A column of pixels, each with so many channels. The pixels lie in a part of the tensor's space that begins at the lower corner and
    /// ends at the upper one, which is counted from the tensor's last pixel: W, H and D.
    Im2col {
        /// Where it begins, relative to the first pixel.
        lower: [i16; SPACE],
        /// Its last pixel, relative to the tensor's.
        upper: [i16; SPACE],
        /// Channels of each pixel that are copied.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
}

/// What a tensor map says, in the numbers of the PTX ISA (9.7.9.27.1.2, table of the values of `tensormap.replace`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMapFields {
    /// Where the tensor begins in global memory.
    pub address: u64,
    /// The number of its dimensions.
    pub rank: u32,
    /// The number of the type of its elements.
    pub element: u32,
    /// The interleaved layout; 0 is none.
    pub interleave: u32,
    /// The swizzling mode; 0 is none.
    pub swizzle: u32,
    /// What lies outside of the tensor; 0 is zeros, 1 NaNs.
    pub fill: u32,
    /// Elements in each dimension, the innermost first.
    pub size: [u32; MAX_RANK],
    /// Bytes from an element to the next in each dimension but the innermost.
    pub stride: [u64; MAX_RANK - 1],
    /// Of so many elements in a dimension one is copied.
    pub element_stride: [u32; MAX_RANK],
    /// The boxes.
    pub shape: BoxShape,
}

impl TensorMapFields {
    /// Reads the fields of a map.
    fn read(bytes: &[u8; MAP_BYTES]) -> Self {
        let value = |field: MapField, dimension| {
            let (start, size) = field.place(dimension);
            let bytes = &bytes[start as usize..(start + size) as usize];
            bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte))
        };
        let one = |field| value(field, 0) as u32;
        let all = |field| std::array::from_fn(|dimension| value(field, dimension) as u32);
        let extent: [u32; MAX_RANK] = all(MapField::Box);
        let shape = if one(MapField::Mode) == 0 {
            BoxShape::Tile(extent)
        } else {
            let corner = |shift: u32| std::array::from_fn(|d| (extent[2 + d] >> shift) as i16);
            let [lower, upper] = [corner(0), corner(16)];
            BoxShape::Im2col { lower, upper, channels: extent[0], pixels: extent[1] }
        };
        Self {
            address: value(MapField::GlobalAddress, 0),
            rank: one(MapField::Rank).saturating_add(1),
            element: one(MapField::ElementType),
            interleave: one(MapField::Interleave),
            swizzle: one(MapField::Swizzle),
            fill: one(MapField::Fill),
            size: all(MapField::Size),
            stride: std::array::from_fn(|dimension| value(MapField::Stride, dimension)),
            element_stride: all(MapField::ElementStride),
            shape,
        }
    }

    /// A map of the same tensor at another address.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub fn with_address(
        map: &[u8; MAP_BYTES],
        address: u64,
    ) -> Result<[u8; MAP_BYTES], &'static str> {
        Self { address, ..Self::read(map) }.encode()
    }

    /// The map with these fields.
    ///
    /// # Errors
    /// What is wrong with it, or not supported.
    pub fn encode(&self) -> Result<[u8; MAP_BYTES], &'static str> {
        let mut bytes = [0; MAP_BYTES];
        let mut set = |field: MapField, dimension, value| {
            field.write(&mut bytes, dimension, value);
        };
        set(MapField::GlobalAddress, 0, self.address);
        set(MapField::Rank, 0, self.rank.wrapping_sub(1).into());
        set(MapField::ElementType, 0, self.element.into());
        set(MapField::Interleave, 0, self.interleave.into());
        set(MapField::Swizzle, 0, self.swizzle.into());
        set(MapField::Fill, 0, self.fill.into());
        let extent = match &self.shape {
            BoxShape::Tile(extent) => *extent,
            BoxShape::Im2col { lower, upper, channels, pixels } => {
                set(MapField::Mode, 0, 1);
                let corners =
                    |d: usize| u32::from(lower[d] as u16) | u32::from(upper[d] as u16) << 16;
                [*channels, *pixels, corners(0), corners(1), corners(2)]
            }
        };
        for (field, values) in [
            (MapField::Size, self.size),
            (MapField::Box, extent),
            (MapField::ElementStride, self.element_stride),
        ] {
            for (dimension, value) in values.into_iter().enumerate() {
                set(field, dimension, value.into());
            }
        }
        for (dimension, &stride) in self.stride.iter().enumerate() {
            set(MapField::Stride, dimension, stride);
        }
        TensorMap::new(&bytes).map(|_| bytes)
    }
}

/// A tensor map whose boxes can be copied.
#[derive(Clone, Debug)]
pub(crate) struct TensorMap {
    pub rank: usize,
    pub element: Type,
    /// Whether loads round what they bring to `tf32`; stores and sums do not (measured on an H200).
    pub to_tf32: bool,
    /// Whether sums in global memory flush subnormals (`.ftz`); loads and stores do not (measured on an H200).
    pub flushes: bool,
    pub swizzle: Swizzle,
    /// A word of what is outside of the tensor.
    pub fill: u32,
    fields: TensorMapFields,
}

/// A piece of a box: 16 bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxPiece {
    /// Its offset in the box, before swizzling.
    pub offset: u64,
    /// The address of its first byte in global memory, whether that belongs to the tensor or not.
    pub address: u64,
    /// The bytes of it that belong to the tensor.
    pub from: u32,
    pub to: u32,
}

/// A row of a box: where the innermost dimension begins for these outer coordinates, and whether they are inside of the tensor.
struct Row {
    address: u64,
    inside: bool,
}

impl TensorMap {
    /// Reads a map; an error says what is wrong with it, or not supported.
    pub fn new(bytes: &[u8; MAP_BYTES]) -> Result<Self, &'static str> {
        let fields = TensorMapFields::read(bytes);
        let element = match fields.element {
            0 => Type::U8,
            1 => Type::U16,
            2 => Type::U32,
            3 => Type::S32,
            4 => Type::U64,
            5 => Type::S64,
            6 => Type::F16,
            7 | 8 | 11 | 12 => Type::F32,
            9 => Type::F64,
            10 => Type::Bf16,
            _ => return Err("its elements have a type that is not supported here"),
        };
        let swizzle = match fields.swizzle {
            0 => Swizzle::None,
            1 => Swizzle::Rows32,
            2 => Swizzle::Rows64,
            3 => Swizzle::Rows128,
            _ => return Err("its swizzling mode is not supported here"),
        };
        if fields.interleave != 0 {
            return Err("interleaved layouts are not supported here");
        }
        let fill = match (fields.fill, element) {
            (0, _) => 0,
            (1, Type::F16 | Type::Bf16 | Type::F32 | Type::F64) => NAN_FILL,
            (1, _) => return Err("only a tensor of floats has NaNs outside"),
            _ => return Err("its fill mode does not exist"),
        };
        let (rank, number) = (fields.rank as usize, fields.element);
        let (to_tf32, flushes) = (matches!(number, 11 | 12), matches!(number, 8 | 12));
        let map = Self { rank, element, to_tf32, flushes, swizzle, fill, fields };
        map.check().map(|()| map)
    }

    fn check(&self) -> Result<(), &'static str> {
        let (unit, fields) = (u64::from(UNIT), &self.fields);
        if !(1..=MAX_RANK).contains(&self.rank) {
            return Err("a tensor has 1 to 5 dimensions");
        }
        if !fields.address.is_multiple_of(unit) {
            return Err("the tensor begins at an address that is not a multiple of 16");
        }
        if fields.stride[..self.rank - 1].iter().any(|stride| !stride.is_multiple_of(unit)) {
            return Err("the bytes from one row to the next are not a multiple of 16");
        }
        if fields.size[..self.rank].contains(&0) {
            return Err("the tensor has no element");
        }
        if fields.element_stride[..self.rank].iter().any(|stride| !(1..=8).contains(stride)) {
            return Err("the stride of elements is 1 to 8");
        }
        match &fields.shape {
            BoxShape::Tile(extent) => {
                if extent[..self.rank].iter().any(|extent| !(1..=256).contains(extent)) {
                    return Err("a box has 1 to 256 elements in each dimension");
                }
            }
            BoxShape::Im2col { lower, upper, channels, pixels } => {
                if self.rank < 3 {
                    return Err("a tensor of images has 3 to 5 dimensions");
                }
                if !(1..=256).contains(channels) || !(1..=1024).contains(pixels) {
                    return Err("a column has 1 to 1024 pixels of 1 to 256 channels");
                }
                // PTX ISA 5.5.4.1: the fewer dimensions, the wider the range.
                let most = [i16::MAX, 127, 15][self.rank - 3];
                let corners = || lower.iter().chain(upper).copied();
                if !corners().all(|corner| (-most - 1..=most).contains(&corner)) {
                    return Err("a corner is too far away for so many dimensions");
                }
                let empty = |d: usize| self.last(d, upper[d]) < i64::from(lower[d]);
                if (0..self.rank - 2).any(empty) {
                    return Err("there is no pixel between the two corners");
                }
            }
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

    /// The last coordinate of the space of im2col in a dimension, W being the first, for an upper corner.
    fn last(&self, dimension: usize, upper: i16) -> i64 {
        i64::from(self.fields.size[1 + dimension]) - 1 + i64::from(upper)
    }

    /// Bytes of a row of a box: all its elements in the innermost dimension, whose stride does not count.
    fn row_bytes(&self) -> u64 {
        let elements = match self.fields.shape {
            BoxShape::Tile(extent) => extent[0],
            BoxShape::Im2col { channels, .. } => channels,
        };
        u64::from(elements) * u64::from(self.element.bytes())
    }

    /// Bytes from a row of a box to the next in shared memory: that of the pattern, if there is one, even if rows are shorter (measured
    /// on an H200).
    fn row_pitch(&self) -> u64 {
        if self.swizzle == Swizzle::None { self.row_bytes() } else { self.swizzle.row() }
    }

    /// Elements of a tile that are copied, in a dimension but the innermost.
    fn count(&self, extent: &[u32; MAX_RANK], dimension: usize) -> u64 {
        u64::from(extent[dimension].div_ceil(self.fields.element_stride[dimension]))
    }

    /// Bytes of a box.
    pub fn box_bytes(&self) -> u64 {
        match &self.fields.shape {
            BoxShape::Tile(extent) => {
                let outer = (1..self.rank).map(|dimension| self.count(extent, dimension));
                self.row_bytes() * outer.product::<u64>()
            }
            BoxShape::Im2col { pixels, .. } => self.row_bytes() * u64::from(*pixels),
        }
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

    /// Whether boxes can be stored: an H100 stops with an illegal instruction where the corners of im2col are not those of the tensor.
    pub fn check_store(&self) -> Result<(), &'static str> {
        match &self.fields.shape {
            BoxShape::Im2col { lower, upper, .. }
                if lower.iter().chain(upper).any(|&corner| corner != 0) =>
            {
                Err("a column can only be stored if both corners are those of the tensor")
            }
            _ => Ok(()),
        }
    }

    /// The pieces of the box at these coordinates, row by row. `offsets` is for im2col alone, and what is added to the coordinates of each
    /// pixel. An error says why there is no such box.
    pub fn pieces(
        &self,
        coordinates: [i32; MAX_RANK],
        offsets: Option<[u16; SPACE]>,
    ) -> Result<Vec<BoxPiece>, &'static str> {
        let rows = match (&self.fields.shape, offsets) {
            (BoxShape::Tile(extent), None) => self.rows_of_tile(extent, coordinates),
            (BoxShape::Im2col { lower, upper, pixels, .. }, Some(offsets)) => {
                self.pixels((lower, upper), *pixels, coordinates, offsets)?
            }
            (BoxShape::Tile(_), Some(_)) => {
                return Err("the map is for tiles, and the instruction for im2col");
            }
            (BoxShape::Im2col { .. }, None) => {
                return Err("the map is for im2col, and the instruction for tiles");
            }
        };
        let (unit, bytes) = (i64::from(UNIT), i64::from(self.element.bytes()));
        let row_bytes = self.row_bytes();
        let mut pieces = Vec::with_capacity((self.box_bytes() / u64::from(UNIT)) as usize);
        for (number, row) in (0u64..).zip(rows) {
            for start in (0..row_bytes as i64).step_by(UNIT as usize) {
                let first = i64::from(coordinates[0]) * bytes + start;
                let end = i64::from(self.fields.size[0]) * bytes - first;
                let (from, to) = ((-first).clamp(0, unit) as u32, end.clamp(0, unit) as u32);
                pieces.push(BoxPiece {
                    offset: number * self.row_pitch() + start as u64,
                    address: row.address.wrapping_add_signed(first),
                    from: if row.inside { from } else { 0 },
                    to: if row.inside { to.max(from) } else { 0 },
                });
            }
        }
        Ok(pieces)
    }

    /// The row at these coordinates in all dimensions but the innermost.
    fn row(&self, outer: impl Iterator<Item = i64>) -> Row {
        let mut row = Row { address: self.fields.address, inside: true };
        for ((at, &size), &stride) in outer.zip(&self.fields.size[1..]).zip(&self.fields.stride) {
            row.inside &= (0..i64::from(size)).contains(&at);
            row.address = row.address.wrapping_add_signed(at.wrapping_mul(stride as i64));
        }
        row
    }

    fn rows_of_tile(&self, extent: &[u32; MAX_RANK], coordinates: [i32; MAX_RANK]) -> Vec<Row> {
        let rows = self.box_bytes() / self.row_bytes();
        let row = |number| {
            let mut left = number;
            self.row((1..self.rank).map(|dimension| {
                let count = self.count(extent, dimension);
                let index = left % count * u64::from(self.fields.element_stride[dimension]);
                left /= count;
                i64::from(coordinates[dimension]) + index as i64
            }))
        };
        (0..rows).map(row).collect()
    }

    /// The pixels of a column (PTX ISA 5.5.4): from a place in the space between the corners on along W, from its end on in the next line,
    /// and so on, into the next image. An H100 stops with an illegal instruction where the first one is outside of that space.
    fn pixels(
        &self,
        (lower, upper): (&[i16; SPACE], &[i16; SPACE]),
        pixels: u32,
        coordinates: [i32; MAX_RANK],
        offsets: [u16; SPACE],
    ) -> Result<Vec<Row>, &'static str> {
        let (space, stride) = (self.rank - 2, &self.fields.element_stride);
        let mut at: Vec<i64> = coordinates[1..self.rank].iter().map(|&at| at.into()).collect();
        let inside = |d: usize| (i64::from(lower[d])..=self.last(d, upper[d])).contains(&at[d]);
        if !(0..space).all(inside) {
            return Err("the first pixel is not between the two corners");
        }
        // The fewer dimensions, the more bits of an offset count.
        let bits = [u16::MAX, 0xFF, 0x1F][space - 1];
        let mut rows = Vec::with_capacity(pixels as usize);
        for _ in 0..pixels {
            let offsets =
                offsets[..space].iter().map(|&offset| i64::from(offset & bits)).chain([0]);
            rows.push(self.row(at.iter().zip(offsets).map(|(&at, offset)| at + offset)));
            for (dimension, at) in at.iter_mut().enumerate() {
                *at += i64::from(stride[1 + dimension]);
                if dimension == space || *at <= self.last(dimension, upper[dimension]) {
                    break;
                }
                *at = lower[dimension].into();
            }
        }
        Ok(rows)
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
        let mut set = |field: MapField, dimension, value| {
            field.write(&mut bytes, dimension, value);
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

    /// The pieces of a tile.
    fn pieces_of(map: &TensorMap, at: [i32; MAX_RANK]) -> Vec<BoxPiece> {
        map.pieces(at, None).unwrap()
    }

    /// Images of 9 x 7 pixels with 8 channels of words at 4096, of which columns of so many pixels are copied.
    fn images(pixels: u32, corners: ([i16; SPACE], [i16; SPACE])) -> TensorMapFields {
        TensorMapFields {
            address: 4096,
            rank: 4,
            element: 2,
            interleave: 0,
            swizzle: 0,
            fill: 0,
            size: [8, 9, 7, 3, 1],
            stride: [32, 288, 2016, 0],
            element_stride: [1; MAX_RANK],
            shape: BoxShape::Im2col { lower: corners.0, upper: corners.1, channels: 8, pixels },
        }
    }

    /// The number of each pixel of a column, counted along W, H and the images; `None` if it is outside of its image.
    fn column(fields: &TensorMapFields, at: [i32; 3], by: [u16; 2]) -> Vec<Option<u64>> {
        let map = TensorMap::new(&fields.encode().unwrap()).unwrap();
        let at = [0, at[0], at[1], at[2], 0];
        let pieces = map.pieces(at, Some([by[0], by[1], 0])).unwrap();
        let rows = pieces.chunks_exact(2).enumerate().map(|(number, row)| {
            assert_eq!(
                (row[0].offset, row[1].offset),
                (32 * number as u64, 32 * number as u64 + 16)
            );
            (row[0].to > row[0].from).then(|| (row[0].address - 4096) / 32)
        });
        rows.collect()
    }

    #[test]
    fn a_column_goes_along_lines_and_images() {
        let all = images(66, ([0; SPACE], [0; SPACE]));
        let expected: Vec<_> = (0..66).map(Some).collect();
        assert_eq!(column(&all, [0, 0, 0], [0, 0]), expected);
        let beyond = column(&images(2, ([0; SPACE], [0; SPACE])), [8, 6, 2], [0, 0]);
        assert_eq!(beyond, [Some(188), None]);
    }

    #[test]
    fn corners_and_offsets_are_those_of_a_convolution() {
        // A filter of 3 x 3 with padding of one pixel: its first element is outside of the image for the first line and column.
        let padded = images(10, ([-1, -1, 0], [-1, -1, 0]));
        let first = column(&padded, [-1, -1, 0], [0, 0]);
        assert_eq!(first, vec![None; 10]);
        let second = column(&padded, [-1, 0, 0], [0, 0]);
        let expected: Vec<_> = [None].into_iter().chain((0..8).map(Some)).chain([None]).collect();
        assert_eq!(second, expected);
        // Its element in the middle meets each pixel.
        assert_eq!(column(&padded, [-1, -1, 0], [257, 1]), (0..10).map(Some).collect::<Vec<_>>());
        let last = column(&padded, [-1, -1, 0], [2, 2]);
        let expected: Vec<_> = (10..18).map(Some).chain([None, Some(19)]).collect();
        assert_eq!(last, expected, "the ninth lies to the right of the line");
    }

    #[test]
    fn strides_skip_pixels_and_lines() {
        let mut fields = images(8, ([0; SPACE], [0; SPACE]));
        fields.element_stride = [1, 4, 3, 1, 1];
        let expected = [0, 4, 8, 27, 31, 35, 54, 58].map(Some);
        assert_eq!(column(&fields, [0, 0, 0], [0, 0]), expected);
    }

    #[test]
    fn columns_that_the_engine_does_not_take_are_refused() {
        let why = |change: fn(&mut TensorMapFields)| {
            let mut fields = images(4, ([0; SPACE], [0; SPACE]));
            change(&mut fields);
            fields.encode().unwrap_err()
        };
        assert!(why(|fields| fields.rank = 2).contains("3 to 5"));
        assert!(why(|fields| fields.rank = 0).contains("1 to 5"));
        assert!(why(|fields| *fields = images(4, ([5, 0, 0], [-4, 0, 0]))).contains("no pixel"));
        assert!(why(|fields| *fields = images(4, ([-129, 0, 0], [0; SPACE]))).contains("far"));
        assert!(why(|fields| *fields = images(1025, ([0; SPACE], [0; SPACE]))).contains("1024"));
        let map = |corners| TensorMap::new(&images(4, corners).encode().unwrap()).unwrap();
        let all = map(([0; SPACE], [0; SPACE]));
        assert!(all.pieces([0; MAX_RANK], None).unwrap_err().contains("im2col"));
        for outside in [[-1, 0], [9, 0], [0, -1], [0, 7]] {
            let at = [0, outside[0], outside[1], 0, 0];
            assert!(all.pieces(at, Some([0; SPACE])).unwrap_err().contains("first pixel"));
        }
        assert!(all.check_store().is_ok());
        assert!(map(([0; SPACE], [-1, 0, 0])).check_store().is_err());
        assert!(why(|fields| fields.fill = 1).contains("floats"));
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
            MapField::Mode,
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
        let inside = pieces_of(&map, [4, 2, 0, 0, 0]);
        assert_eq!(inside.len(), 8);
        assert_eq!(inside[3], piece(48, 4096 + 3 * 192 + 32, 0, 16));
        let left = pieces_of(&map, [-3, 19, 0, 0, 0]);
        assert_eq!(left[0], piece(0, 4096 + 19 * 192 - 12, 12, 16));
        assert_eq!((left[1].from, left[1].to), (0, 16));
        // Below the last row.
        assert_eq!((left[2].from, left[2].to), (0, 0));
        let right = pieces_of(&map, [47, 0, 0, 0, 0]);
        assert_eq!(right[0], piece(0, 4096 + 188, 0, 4));
        assert_eq!((right[1].from, right[1].to), (0, 0));
        let far = pieces_of(&map, [i32::MIN, i32::MAX, 0, 0, 0]);
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
        assert_eq!((map.box_bytes(), pieces_of(&map, [0; 5])[3].offset), (128, 128 + 16));
    }

    #[test]
    fn elements_can_be_skipped() {
        let map = map(|set| set(MapField::ElementStride, 1, 3)).unwrap();
        assert_eq!(map.box_bytes(), 64);
        assert_eq!(pieces_of(&map, [0; 5])[2].address, 4096 + 3 * 192);
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
        assert!(why(MapField::ElementType, 0, 13).contains("type"));
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
