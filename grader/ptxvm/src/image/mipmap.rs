//! The levels of a mipmapped image that a level of detail selects (CUDA C++ Programming Guide, "Texture Fetching").

use super::footprint;
use super::layout::Image;
use super::sampler::{ONE, Sampler};

/// Levels of detail beyond this are as far outside as any.
const FAR: f64 = 1e6;

/// Which levels are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// The largest one.
    Base,
    /// This level of detail.
    Level(f32),
    /// The level of detail for these derivatives of the coordinates along the two axes of the picture.
    Gradients([f32; 3], [f32; 3]),
}

/// One level, or two that are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub levels: [usize; 2],
    /// The weight of the second one, in 256ths.
    pub weight: u32,
}

impl Levels {
    /// The levels of an image that a sampler reads.
    pub fn new(sampler: &Sampler, image: &Image, detail: Detail) -> Self {
        let last = image.levels.len() - 1;
        // Each part has 8 bits of fraction.
        let fixed = |part: f32| (f64::from(part).clamp(-FAR, FAR) * f64::from(ONE)).floor() as i64;
        let [low, high] = sampler.level_range.map(fixed);
        let level = match detail {
            Detail::Base => 0,
            Detail::Level(level) => fixed(if level.is_nan() { 0.0 } else { level }),
            Detail::Gradients(x, y) => footprint::level(x, y, image.levels[0].extent),
        };
        let level = (level + fixed(sampler.level_bias)).min(high).max(low);
        let level = level.clamp(0, last as i64 * i64::from(ONE)) as u32;
        if !sampler.interpolates_levels {
            let nearest = (level + ONE / 2) / ONE;
            return Self { levels: [nearest as usize; 2], weight: 0 };
        }
        let first = (level / ONE) as usize;
        Self { levels: [first, (first + 1).min(last)], weight: level % ONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::format::{ChannelKind, Format};
    use crate::image::layout::Level;
    use crate::image::sampler::AddressMode;

    #[test]
    fn levels_have_8_bits_of_fraction() {
        let level = Level { address: 0, extent: [16, 8, 1], row_bytes: 64, slice_bytes: 512 };
        let image = Image {
            format: Format::new(ChannelKind::Float, 32, 1).unwrap(),
            levels: vec![level; 4],
            dimensions: 2,
            is_layered: false,
            is_cube: false,
            is_linear: false,
        };
        let sampler = Sampler {
            address: [AddressMode::Clamp; 3],
            is_linear: true,
            is_normalized: true,
            reads_normalized: false,
            border: [0.0; 4],
            interpolates_levels: true,
            level_bias: 0.4,
            level_range: [0.5, 2.25],
        };
        let levels = |level| Levels::new(&sampler, &image, Detail::Level(level));
        // Measured on an H100: the level and the bias are truncated each.
        assert_eq!(levels(1.682_617_2), Levels { levels: [2, 3], weight: 20 });
        assert_eq!(levels(-1.0), Levels { levels: [0, 1], weight: 128 });
        assert_eq!(levels(9.0), Levels { levels: [2, 3], weight: 64 });
        let nearest = Sampler { interpolates_levels: false, ..sampler };
        let level = Levels::new(&nearest, &image, Detail::Level(1.2));
        assert_eq!(level, Levels { levels: [2, 2], weight: 0 });
        let quarter = Detail::Gradients([0.25, 0.0, 0.0], [0.0; 3]);
        let plain = Sampler { level_bias: 0.0, ..sampler };
        assert_eq!(Levels::new(&plain, &image, quarter), Levels { levels: [2, 3], weight: 0 });
    }
}
