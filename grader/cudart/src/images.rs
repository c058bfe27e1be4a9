//! CUDA arrays, textures and surfaces in the terms of the CUDA runtime: what a program, and a device's operations, say of them.

use ptxvm::image::format::{ChannelKind, Format};
use serde::{Deserialize, Serialize};

/// `cudaChannelFormatDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelFormat {
    /// The bits of each channel.
    pub bits: [i32; 4],
    /// `cudaChannelFormatKind`: 0 signed, 1 unsigned, 2 float.
    pub kind: u32,
}

impl ChannelFormat {
    /// The format, if textures can have it: 1, 2 or 4 equal channels.
    pub fn format(&self) -> Option<Format> {
        let kind = match self.kind {
            0 => ChannelKind::Signed,
            1 => ChannelKind::Unsigned,
            2 => ChannelKind::Float,
            _ => return None,
        };
        let channels = self.bits.iter().take_while(|&&bits| bits != 0).count();
        let equal = self.bits[..channels].iter().all(|&bits| bits == self.bits[0]);
        let rest = self.bits[channels..].iter().all(|&bits| bits == 0);
        let bits = u32::try_from(self.bits[0]).ok().filter(|_| equal && rest)?;
        Format::new(kind, bits, channels as u32)
    }
}

/// Flags of an array: it has layers.
pub const LAYERED: u32 = 1;
/// Surfaces of it can be made.
pub const SURFACE: u32 = 2;
/// Its layers are the faces of cubes.
pub const CUBEMAP: u32 = 4;
/// `tex2Dgather` can read it.
pub const GATHER: u32 = 8;

/// What an array is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayShape {
    /// The format of its texels.
    pub format: ChannelFormat,
    /// Width, height, and depth or layers, in texels; 0 for a dimension that it does not have.
    pub extent: [u64; 3],
    /// The levels of a mipmapped array; otherwise 1.
    pub levels: u32,
    /// `cudaArrayLayered` and so on.
    pub flags: u32,
}

impl ArrayShape {
    /// Whether the third dimension counts layers.
    pub fn is_layered(&self) -> bool {
        self.flags & (LAYERED | CUBEMAP) != 0
    }

    /// The number of its dimensions, without layers.
    pub fn dimensions(&self) -> u32 {
        let is_flat = self.is_layered() || self.extent[2] == 0;
        if self.extent[1] == 0 { 1 } else { 3 - u32::from(is_flat) }
    }

    /// Whether there is such an array: dimensions, levels and flags fit each other and the limits of a device.
    pub fn is_valid(&self) -> bool {
        let [width, height, depth] = self.extent;
        let faces = match self.flags & (LAYERED | CUBEMAP) {
            CUBEMAP => width == height && depth == 6,
            0 => depth == 0 || height > 0,
            LAYERED => depth > 0,
            _ => width == height && depth > 0 && depth.is_multiple_of(6),
        };
        let largest =
            if self.is_layered() { width.max(height) } else { width.max(height).max(depth) };
        let levels = (1..=64 - largest.leading_zeros()).contains(&self.levels);
        let small = self.extent.iter().zip(self.most()).all(|(&size, most)| size <= most);
        width > 0 && faces && levels && small && self.flags < 16
    }

    /// The largest extent of such an array, from `cudaGetDeviceProperties` of an H100.
    fn most(&self) -> [u64; 3] {
        match self.flags & (LAYERED | CUBEMAP) {
            0 if self.dimensions() == 3 => [16_384; 3],
            0 if self.dimensions() == 1 && self.levels == 1 => [131_072, 0, 0],
            0 if self.levels == 1 && self.flags & GATHER == 0 => [131_072, 65_536, 0],
            0 | LAYERED => [32_768, 32_768, 2_048],
            _ => [32_768, 32_768, 2_046],
        }
    }

    /// The bytes of all its levels.
    pub fn bytes(&self) -> Option<u64> {
        let texel: u64 = self.format.format()?.texel_bytes().into();
        (0..self.levels.min(64)).try_fold(0u64, |all, level| {
            let texels = self
                .level_extent(level)
                .iter()
                .try_fold(texel, |all, &size| all.checked_mul(size))?;
            all.checked_add(texels)
        })
    }

    /// The extent of a level, in texels; 1 for a dimension that the array does not have.
    pub fn level_extent(&self, level: u32) -> [u64; 3] {
        let [width, height, depth] = self.extent;
        let shrunk = |size: u64| (size >> level).max(1);
        let third = if self.is_layered() { depth.max(1) } else { shrunk(depth) };
        [shrunk(width), shrunk(height), third]
    }
}

/// Where a box of bytes lies that a copy reads or writes. Its extent comes beside it: bytes of a row, rows, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Region {
    /// In an array, from this byte of a row, row and slice on.
    Array {
        /// The number of the array.
        array: u64,
        /// The first byte, row and slice.
        origin: [u64; 3],
    },
    /// In linear memory.
    Linear {
        /// The address of the first byte.
        address: u64,
        /// Bytes from one row to the next, and from one slice to the next.
        pitches: [u64; 2],
    },
}

/// What a texture or surface looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageSource {
    /// An array, with all its levels.
    Array {
        /// The number of the array.
        array: u64,
    },
    /// Linear memory.
    Linear {
        /// Its address.
        address: u64,
        /// The format of its texels.
        format: ChannelFormat,
        /// Its size in bytes.
        bytes: u64,
    },
    /// Linear memory with rows.
    Pitched {
        /// Its address.
        address: u64,
        /// The format of its texels.
        format: ChannelFormat,
        /// Width and height in texels.
        extent: [u64; 2],
        /// Bytes from one row to the next.
        pitch: u64,
    },
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextureDesc {
    /// `cudaTextureAddressMode` of each dimension: 0 wrap, 1 clamp, 2 mirror, 3 border.
    pub address_mode: [u32; 3],
    /// `cudaTextureFilterMode`: 0 point, 1 linear.
    pub filter_mode: u32,
    /// `cudaTextureReadMode`: 0 element type, 1 normalised float.
    pub read_mode: u32,
    /// Whether the texels are in sRGB.
    pub srgb: i32,
    /// The border colour.
    pub border_color: [f32; 4],
    /// Whether coordinates are normalised.
    pub normalized_coords: i32,
    /// The largest anisotropy.
    pub max_anisotropy: u32,
    /// `cudaTextureFilterMode` between levels.
    pub mipmap_filter_mode: u32,
    /// What is added to the level of detail.
    pub mipmap_level_bias: f32,
    /// The smallest level of detail.
    pub min_mipmap_level_clamp: f32,
    /// The largest level of detail.
    pub max_mipmap_level_clamp: f32,
    /// Whether the hardware may not approximate between levels.
    pub disable_trilinear_optimization: i32,
    /// Whether filters reach across the edges of a cube.
    pub seamless_cubemap: i32,
}

/// A texture or surface object.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageObjectDesc {
    /// What it looks at.
    pub source: ImageSource,
    /// How a texture is read; `None` for a surface.
    pub texture: Option<TextureDesc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOAT: ChannelFormat = ChannelFormat { bits: [32, 0, 0, 0], kind: 2 };

    #[test]
    fn formats_have_equal_channels() {
        let of = |bits, kind| ChannelFormat { bits, kind }.format();
        assert_eq!(of([8, 8, 8, 8], 1).map(Format::texel_bytes), Some(4));
        assert_eq!(of([32, 32, 32, 0], 2), None);
        assert_eq!(of([8, 16, 0, 0], 0), None);
        assert_eq!(of([0, 8, 0, 0], 0), None);
        assert_eq!(of([8, 0, 0, 0], 3), None);
    }

    #[test]
    fn shapes_are_those_that_cuda_makes() {
        let valid =
            |extent, flags, levels| ArrayShape { format: FLOAT, extent, levels, flags }.is_valid();
        assert!(
            valid([16, 0, 0], 0, 1) && valid([16, 8, 4], 0, 5) && valid([16, 0, 4], LAYERED, 1)
        );
        assert!(valid([8, 8, 6], CUBEMAP, 1) && valid([8, 8, 12], CUBEMAP | LAYERED, 4));
        assert!(!valid([1 << 20, 1, 0], 0, 1) && valid([1 << 17, 1 << 16, 0], 0, 1));
        assert!(!valid([0, 0, 0], 0, 1) && !valid([16, 0, 4], 0, 1) && !valid([16, 8, 4], 0, 6));
        assert!(!valid([8, 4, 6], CUBEMAP, 1) && !valid([8, 8, 5], CUBEMAP, 1));
        let layers = ArrayShape { format: FLOAT, extent: [9, 4, 3], levels: 4, flags: LAYERED };
        assert_eq!(layers.level_extent(2), [2, 1, 3]);
    }
}
