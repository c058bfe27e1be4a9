//! From a coordinate to texels along one axis: address modes and the weights of the linear filter (CUDA C++ Programming Guide,
//! "Texture Fetching").

/// What becomes of coordinates outside the texture (`cudaTextureAddressMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texture is repeated. Unnormalised coordinates are clamped instead.
    Wrap,
    /// The texel at the border is taken.
    Clamp,
    /// The texture is repeated, every second time reversed. Unnormalised coordinates are clamped instead.
    Mirror,
    /// The texel is the border colour.
    Border,
}

/// How a texture is read: what a texture object has besides its image.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, as in CUDA")]
pub struct Sampler {
    /// The address mode of each dimension.
    pub address: [AddressMode; 3],
    /// Whether neighbouring texels are interpolated; otherwise the nearest one is taken.
    pub is_linear: bool,
    /// Whether coordinates go from 0 to 1 along each dimension; otherwise they count texels.
    pub is_normalized: bool,
    /// Whether integers of 8 and 16 bits are mapped to [0, 1] or [-1, 1].
    pub reads_normalized: bool,
    /// The border colour.
    pub border: [f32; 4],
    /// Whether two levels of a mipmapped image are interpolated.
    pub interpolates_levels: bool,
    /// What is added to the level.
    pub level_bias: f32,
    /// The smallest and the largest level.
    pub level_range: [f32; 2],
}

/// Weights along an axis add up to this: they have 8 bits of fraction (guide, "Linear Filtering").
pub const ONE: u32 = 256;

/// The texels that a coordinate leads to along one axis: one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Their indices; `None` stands for the border.
    pub texels: [Option<u32>; 2],
    /// The weight of the second one, in 256ths; the first one has the rest.
    pub weight: u32,
}

impl Axis {
    /// A single texel.
    pub fn single(texel: Option<u32>) -> Self {
        Self { texels: [texel; 2], weight: 0 }
    }
}

/// Normalised coordinates are truncated to 21 bits of fraction.
const NORMALIZED_STEPS: f64 = (1u32 << 21) as f64;

/// Coordinates in texels beyond this are as far outside as any.
const FAR: f64 = (1u64 << 40) as f64;

impl Sampler {
    /// The address mode of an axis for its coordinates.
    fn mode(&self, axis: usize) -> AddressMode {
        match self.address[axis] {
            AddressMode::Wrap | AddressMode::Mirror if !self.is_normalized => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// The texels along an axis of `size` texels. `tld4` takes both neighbours, whatever the filter.
    pub(super) fn axis(&self, axis: usize, size: u32, coordinate: f32, is_gathered: bool) -> Axis {
        let mode = self.mode(axis);
        let position = self.position(size, coordinate);
        if !self.is_linear && !is_gathered {
            return Axis::single(address(mode, size, position.floor() as i64));
        }
        // Half a texel to the left lies the texel whose centre comes before.
        let fixed = (position * f64::from(ONE) + 0.5).floor() as i64 - i64::from(ONE / 2);
        // A coordinate beyond the centre of the first or last texel is clamped to it.
        let last = i64::from(size - 1) * i64::from(ONE);
        let fixed =
            if mode == AddressMode::Clamp && !is_gathered { fixed.clamp(0, last) } else { fixed };
        let first = fixed.div_euclid(ONE.into());
        Axis {
            texels: [address(mode, size, first), address(mode, size, first + 1)],
            weight: fixed.rem_euclid(ONE.into()) as u32,
        }
    }

    /// The coordinate in texels.
    fn position(&self, size: u32, coordinate: f32) -> f64 {
        // Subnormal numbers are zero, and what is not a number, too.
        let x = if coordinate.is_subnormal() || coordinate.is_nan() { 0.0 } else { coordinate };
        let x = f64::from(x).clamp(-FAR, FAR);
        if !self.is_normalized {
            return x;
        }
        (x * NORMALIZED_STEPS).floor() / NORMALIZED_STEPS * f64::from(size)
    }
}

/// The texel of an index along an axis of `size` texels; `None` for the border.
fn address(mode: AddressMode, size: u32, index: i64) -> Option<u32> {
    let last = i64::from(size) - 1;
    match mode {
        AddressMode::Wrap => Some(index.rem_euclid(size.into()) as u32),
        AddressMode::Clamp => Some(index.clamp(0, last) as u32),
        AddressMode::Mirror => {
            let within = index.rem_euclid(2 * i64::from(size));
            Some(within.min(2 * i64::from(size) - 1 - within) as u32)
        }
        AddressMode::Border => (0..=last).contains(&index).then_some(index as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(mode: AddressMode, is_linear: bool, is_normalized: bool) -> Sampler {
        Sampler {
            address: [mode; 3],
            is_linear,
            is_normalized,
            reads_normalized: false,
            border: [0.0; 4],
            interpolates_levels: false,
            level_bias: 0.0,
            level_range: [0.0; 2],
        }
    }

    // All of these were measured on an H100.

    #[test]
    fn weights_are_rounded_half_a_step_upwards() {
        let clamped = sampler(AddressMode::Clamp, true, false);
        let axis = clamped.axis(0, 37, 12.298_828, false);
        assert_eq!(axis, Axis { texels: [Some(11), Some(12)], weight: 205 });
        let outside = Axis { texels: [Some(36), Some(36)], weight: 0 };
        assert_eq!(clamped.axis(0, 37, 99.0, false), outside);
        let border = sampler(AddressMode::Border, true, false);
        let half = Axis { texels: [None, Some(0)], weight: 128 };
        assert_eq!(border.axis(0, 37, f32::NAN, false), half);
    }

    #[test]
    fn normalised_coordinates_are_truncated() {
        let first = |mode, size, x| sampler(mode, false, true).axis(0, size, x, false).texels[0];
        // A little above 1/37.
        assert_eq!(first(AddressMode::Clamp, 37, f32::from_bits(0x3CDD_67C9)), Some(0));
        assert_eq!(first(AddressMode::Wrap, 32, -0.468_749_97), Some(17));
        assert_eq!(first(AddressMode::Mirror, 32, 1.406_25), Some(18));
        assert_eq!(first(AddressMode::Border, 32, 1.0), None);
    }

    #[test]
    fn unnormalised_coordinates_are_clamped_instead_of_repeated() {
        let wrapped = sampler(AddressMode::Wrap, false, false);
        assert_eq!(wrapped.axis(0, 5, 7.0, false).texels[0], Some(4));
    }
}
