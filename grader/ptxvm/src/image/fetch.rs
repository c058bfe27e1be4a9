//! A texture fetch: which texels it reads, and what it makes of them.

use super::cube;
use super::filter;
use super::format::{Format, TexelBits};
use super::layout::Image;
pub use super::mipmap::Detail;
use super::mipmap::Levels;
use super::sampler::{Axis, ONE, Sampler};
use super::tap::Tap;
use crate::isa::texture::Geometry;

/// The coordinates of a fetch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coordinates {
    /// Those that are filtered, or the direction to a face of a cube.
    Float([f32; 3]),
    /// The indices of a texel.
    Texel([i32; 3]),
}

/// What one lane asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// How many coordinates there are.
    pub geometry: Geometry,
    /// The coordinates.
    pub coordinates: Coordinates,
    /// The index of a layer, if the geometry has layers.
    pub layer: u32,
    /// The level of detail.
    pub detail: Detail,
    /// `tld4`: the channel of the four texels around the coordinates that makes the result.
    pub gathered: Option<u8>,
}

/// The texels of a fetch, in the order in which they are read; those without weight are left out. Four of them, for `tld4` in the order
/// of its result. None for the indices of a texel outside, whose channels are zero.
pub fn taps(image: &Image, sampler: &Sampler, request: &Request) -> Vec<Tap> {
    let at = match request.coordinates {
        Coordinates::Texel(indices) => return indexed(image, sampler, request, indices),
        Coordinates::Float(at) => at,
    };
    let layers = image.levels[0].extent[2];
    let (mut at, mut layer) = (at, request.layer);
    if request.geometry.is_cube() {
        let face = cube::face(at);
        let cube = if request.geometry.is_layered() { layer.min(layers / 6) } else { 0 };
        layer = cube.min((layers / 6).saturating_sub(1)) * 6 + face.number;
        let [s, t] = face.coordinates;
        at = [s, t, 0.0];
    } else if !request.geometry.is_layered() {
        layer = 0;
    }
    let layer = Axis::single(Some(layer.min(layers - 1)));
    let dimensions = request.geometry.dimensions();
    let is_gathered = request.gathered.is_some();
    let levels = Levels::new(sampler, image, request.detail);
    let mut all = Vec::new();
    for (level, total) in levels.levels.into_iter().zip([ONE - levels.weight, levels.weight]) {
        let extent = image.level(level).extent;
        let axis = |axis: usize| sampler.axis(axis, extent[axis], at[axis], is_gathered);
        // One dimension without layers has rows, too, and reads them at zero: half of that is the row above, which may be the border.
        let y = match request.geometry {
            Geometry::Layered1D => Axis::single(Some(0)),
            Geometry::D1 => sampler.axis(1, 1, 0.0, is_gathered),
            _ => axis(1),
        };
        let z = if dimensions < 3 { layer } else { axis(2) };
        for (slice, part) in [(z.texels[0], ONE - z.weight), (z.texels[1], z.weight)] {
            let quad = Quad { x: axis(0), y, slice, level, total: total * part / ONE };
            if is_gathered {
                // From the lower left around to the upper left (PTX ISA 9.7.10.4).
                return [[0, 1], [1, 1], [1, 0], [0, 0]]
                    .map(|corner| quad.tap(corner, 0, 0))
                    .into();
            }
            let number = all.last().map_or(0, |tap: &Tap| tap.quad + 1);
            all.extend(quad.weights().map(|(corner, weight)| quad.tap(corner, weight, number)));
        }
    }
    all
}

/// The texel of these indices, if it is inside.
fn indexed(image: &Image, sampler: &Sampler, request: &Request, indices: [i32; 3]) -> Vec<Tap> {
    let level = Levels::new(sampler, image, request.detail).levels[0];
    let extent = image.level(level).extent;
    let mut texel =
        [0, 0, if request.geometry.is_layered() { request.layer.min(extent[2] - 1) } else { 0 }];
    for axis in 0..request.geometry.dimensions() {
        match u32::try_from(indices[axis]) {
            Ok(index) if index < extent[axis] => texel[axis] = index,
            _ => return Vec::new(),
        }
    }
    vec![Tap { level, texel: Some(texel), weight: ONE, quad: 0 }]
}

/// Four texels of a slice of a level, around a place.
struct Quad {
    x: Axis,
    y: Axis,
    slice: Option<u32>,
    level: usize,
    /// The weight of all four, in 256ths.
    total: u32,
}

impl Quad {
    fn tap(&self, [right, lower]: [usize; 2], weight: u32, quad: u32) -> Tap {
        let texel = match (self.x.texels[right], self.y.texels[lower], self.slice) {
            (Some(x), Some(y), Some(z)) => Some([x, y, z]),
            _ => None,
        };
        Tap { level: self.level, texel, weight, quad }
    }

    /// The weights of the corners, by right and lower. They are products that are rounded to 8 bits, first along x, then along y, so that
    /// they add up to the total: measured on an H100.
    fn weights(&self) -> impl Iterator<Item = ([usize; 2], u32)> {
        let right = (self.total * self.x.weight + ONE / 2) / ONE;
        let left = self.total - right;
        // Half a step goes to the upper row on the left, and to the lower one on the right.
        let lower_left = (left * self.y.weight + ONE / 2 - 1) / ONE;
        let lower_right = (right * self.y.weight + ONE / 2) / ONE;
        let weights = [
            ([0, 0], left - lower_left),
            ([1, 0], right - lower_right),
            ([0, 1], lower_left),
            ([1, 1], lower_right),
        ];
        // A weight that is rounded to zero is not none: the texel is read.
        let is_read = move |[right, lower]: [usize; 2]| {
            self.total > 0 && (right == 0 || self.x.weight > 0) && (lower == 0 || self.y.weight > 0)
        };
        weights.into_iter().filter(move |&(corner, _)| is_read(corner))
    }
}

/// The four words of the result, from the bits of the texels; `None` for the border colour.
pub fn result(
    format: Format,
    sampler: &Sampler,
    gathered: Option<u8>,
    taps: &[Tap],
    texels: &[Option<TexelBits>],
) -> [u32; 4] {
    let border = || format.border(sampler.border, sampler.reads_normalized);
    let bits: Vec<TexelBits> = texels.iter().map(|texel| texel.unwrap_or_else(border)).collect();
    if let Some(channel) = gathered {
        let mut all = [0; 4];
        for (word, texel) in all.iter_mut().zip(&bits) {
            *word = value(format, sampler, texel, channel.into());
        }
        return all;
    }
    [0, 1, 2, 3].map(|channel| match bits.as_slice() {
        [] => 0,
        [texel] if !sampler.is_linear => value(format, sampler, texel, channel),
        _ => filter::filtered(format, taps, &bits, channel),
    })
}

/// The value of a channel of a texel: a float or an integer.
fn value(format: Format, sampler: &Sampler, texel: &TexelBits, channel: u32) -> u32 {
    if sampler.reads_normalized {
        let (numerator, denominator) = format.normalized_channel(texel, channel);
        return (numerator as f32 / denominator as f32).to_bits();
    }
    format.channel(texel, channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_four_texels_add_up() {
        let axis = |weight| Axis { texels: [Some(0), Some(1)], weight };
        let quad = Quad { x: axis(27), y: axis(32), slice: Some(0), level: 0, total: ONE };
        let weights: Vec<u32> = quad.weights().map(|(_, weight)| weight).collect();
        // Measured on an H100.
        assert_eq!(weights, [200, 24, 29, 3]);
        let corner = Quad { x: axis(0), y: axis(32), slice: Some(0), level: 0, total: ONE };
        let read: Vec<[usize; 2]> = corner.weights().map(|(corner, _)| corner).collect();
        assert_eq!(read, [[0, 0], [0, 1]]);
    }
}
