//! The level of detail that derivatives of the coordinates ask for: the logarithm of how many texels the footprint of a pixel is long.
//!
//! All of it is measured on an H100 with 16 million lengths and 120,000 pairs of derivatives. Where the size of the image is a power of two
//! and one axis has derivatives the level is the same; otherwise it is 1/256 or 2/256 beside that of the GPU in one case of 20.

use super::sampler::ONE;

/// Derivatives have so many bits of fraction; the rest is cut off.
const FRACTION: i32 = 9;
/// Beyond these lengths a level is as far outside as any.
const LENGTHS: std::ops::Range<f64> = 1e-30..1e30;

/// The level in 256ths for the derivatives of the coordinates along two axes of the picture, in an image of this extent in texels.
pub(super) fn level(x: [f32; 3], y: [f32; 3], extent: [u32; 3]) -> i64 {
    let texels = |derivatives: [f32; 3]| {
        std::array::from_fn(|axis| texels(f64::from(derivatives[axis]), extent[axis]))
    };
    let [x, y]: [[f64; 3]; 2] = [x, y].map(texels);
    let diagonal =
        |sign: f64| length(std::array::from_fn(|axis| x[axis] + sign * y[axis])) * (11.0 / 16.0);
    let longest = [length(x), length(y), diagonal(1.0), diagonal(-1.0)].into_iter();
    logarithm(longest.fold(0.0, f64::max).clamp(LENGTHS.start, LENGTHS.end))
}

/// The power of two that is at most `value`.
fn unit(value: f64) -> f64 {
    if value == 0.0 { 1.0 } else { value.abs().log2().floor().exp2() }
}

/// A derivative in texels along an axis of `size`.
fn texels(derivative: f64, size: u32) -> f64 {
    let steps = f64::from(FRACTION).exp2();
    let magnitude = derivative.abs().min(LENGTHS.end);
    let (own, whole) = (unit(magnitude), unit(size.into()));
    let mantissa = (magnitude / own * steps).floor();
    // A product is rounded up from 3/16 of its last place on.
    let product = (mantissa * (f64::from(size) / whole) + 13.0 / 16.0).floor();
    (product / steps * own * whole).copysign(derivative)
}

/// About the length of a vector: the largest component and 11/32 of each other one.
fn length(vector: [f64; 3]) -> f64 {
    let mut parts = vector.map(f64::abs);
    parts.sort_by(f64::total_cmp);
    let cut = |part: f64, unit: f64| {
        let step = unit / f64::from(FRACTION).exp2();
        ((part / step).floor(), step)
    };
    let [small, middle, large] = parts.map(|part| cut(part, unit(part)));
    // 11/32 is rounded to a quarter of the step.
    let slanted = |(steps, step): (f64, f64)| (steps * (11.0 / 8.0) + 0.5).floor() / 4.0 * step;
    large.0 * large.1 + slanted(middle) + slanted(small)
}

/// The logarithm to the base 2, in 256ths.
fn logarithm(length: f64) -> i64 {
    let unit = unit(length);
    let position = (length / unit - 1.0) * f64::from(ONE);
    unit.log2() as i64 * i64::from(ONE) + i64::from(FRACTIONS[position as usize])
}

/// The logarithm of 1 and so many 256ths, in 256ths.
#[rustfmt::skip]
const FRACTIONS: [u8; ONE as usize] = [
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32, 34,
    35, 36, 38, 39, 40, 42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63, 64,
    65, 66, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91, 92,
    93, 94, 95, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114,
    115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133,
    135, 136, 137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152,
    153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164, 165, 166, 167, 168, 169, 170,
    171, 172, 173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182, 183, 184, 185, 186, 187,
    188, 188, 189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203,
    204, 205, 205, 206, 207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218,
    219, 220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232, 233, 233,
    234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248,
    248, 249, 250, 251, 251, 252, 253, 253, 254, 255, 255,
];

#[cfg(test)]
mod tests {
    use super::*;

    // All of these were measured on an H100.

    #[test]
    fn one_derivative_gives_its_logarithm() {
        let level = |bits| level([f32::from_bits(bits), 0.0, 0.0], [0.0; 3], [4096, 4096, 1]);
        assert_eq!(level(0x3B00_0000), 768);
        assert_eq!([level(0x3B00_7FFF), level(0x3B00_8000)], [768, 770]);
        assert_eq!([level(0x3B7E_FFFF), level(0x3B7F_0000)], [1022, 1023]);
    }

    #[test]
    fn lengths_and_diagonals_are_slanted() {
        let level =
            |x: [f32; 2], y: [f32; 2]| level([x[0], x[1], 0.0], [y[0], y[1], 0.0], [4096, 4096, 1]);
        assert_eq!(level([-0.002_186_164, -0.005_566_495], [0.0; 2]), 1201);
        assert_eq!(level([0.0; 2], [-0.006_292_621_6, -0.001_568_982_5]), 1230);
        let along = [-0.003_499_919, 0.016_288_806];
        assert_eq!(level([-0.008_252_127, 0.014_983_69], along), 1698);
        let against = [-0.001_321_385_8, 0.002_309_816];
        assert_eq!(level([0.001_392_982_4, -0.002_614_161_2], against), 1035);
    }
}
