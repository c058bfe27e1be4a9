//! The shape of an image, and the addresses of its texels in global memory.

use super::format::Format;

/// One level of an image: rows of texels, slices of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The address of the first texel.
    pub address: u64,
    /// Width, height, and depth or number of layers, in texels; 1 for a dimension that the image does not have. The faces of cubes are
    /// layers.
    pub extent: [u32; 3],
    /// Bytes from one row to the next.
    pub row_bytes: u64,
    /// Bytes from one slice or layer to the next.
    pub slice_bytes: u64,
}

impl Level {
    /// The address of a texel of so many bytes.
    pub fn address_of(&self, texel: [u32; 3], texel_bytes: u32) -> u64 {
        let [x, y, z] = texel.map(u64::from);
        self.address + z * self.slice_bytes + y * self.row_bytes + x * u64::from(texel_bytes)
    }
}

/// What a texture or surface looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The format of the texels.
    pub format: Format,
    /// The levels, the largest first; at least one.
    pub levels: Vec<Level>,
    /// 1, 2 or 3, without layers.
    pub dimensions: u32,
    /// Whether the third dimension counts layers, along which nothing is filtered.
    pub is_layered: bool,
    /// Whether six layers each are the faces of a cube.
    pub is_cube: bool,
    /// Whether it is linear memory, which has no sampler: reads beyond its end give zero.
    pub is_linear: bool,
}

impl Image {
    /// The level of this number, or the last one.
    pub fn level(&self, number: usize) -> &Level {
        &self.levels[number.min(self.levels.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_lie_in_rows_and_slices() {
        let level = Level { address: 1000, extent: [5, 4, 3], row_bytes: 64, slice_bytes: 512 };
        assert_eq!(level.address_of([2, 3, 1], 4), 1000 + 512 + 3 * 64 + 8);
    }
}
