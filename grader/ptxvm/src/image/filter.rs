//! The sum of texels by which a linear filter interpolates, in the arithmetic of an H100: in 16 bits for integers that are read as floats, in
//! halves for halves, and for floats as below. All of it is measured; the programming guide names the weights alone.

use super::format::{ChannelKind, Format, TexelBits};
use super::sampler::ONE;
use super::tap::Tap;

/// Bits of fraction that floats keep below the largest exponent of their quad, and that halves keep.
const FRACTION: i32 = 27;
const HALF_FRACTION: i32 = 14;

/// The filtered value of a channel, as the bits of a float.
pub(super) fn filtered(format: Format, taps: &[Tap], texels: &[TexelBits], channel: u32) -> u32 {
    let words = taps.iter().zip(texels).map(|(tap, texel)| (tap, format.channel(texel, channel)));
    match (format.kind(), format.bits()) {
        (ChannelKind::Float, bits) => {
            let fraction = if bits == 32 { FRACTION } else { HALF_FRACTION };
            let sum = float_sum(fraction, &words.map(|(tap, bits)| (tap, f32::from_bits(bits))));
            match (bits, sum.is_nan()) {
                (32, true) => 0x7FFF_FFFF,
                (_, true) => 0x7FFF_E000,
                (32, false) => flushed(rounded_away(sum)).to_bits(),
                (_, false) => half_away(sum).to_bits(),
            }
        }
        (kind, bits) => {
            let parts = words.map(|(tap, word)| i64::from(word as i32) * i64::from(tap.weight));
            let rounded = integer_sum(kind, bits, parts.sum());
            let most = if kind == ChannelKind::Signed { i64::from(i16::MAX) } else { 65535 };
            (rounded.max(-most) as f32 / most as f32).to_bits()
        }
    }
}

/// The sum of integers with weights in 256ths as an integer of 16 bits: rounded to the nearest, half a step upwards.
fn integer_sum(kind: ChannelKind, bits: u32, sum: i64) -> i64 {
    match (kind, bits) {
        // A step of 8 bits is 257 in 16, and a signed one 258 and 1/128 with the last four bits of the sum cut off before.
        (ChannelKind::Unsigned, 8) => (sum * 257 + (1 << 7)) >> 8,
        (ChannelKind::Signed, 8) => sum + (((sum >> 4) * 257 + (1 << 10)) >> 11),
        _ => (sum + (1 << 7)) >> 8,
    }
}

/// The sum of floats with weights in 256ths. In each quad of texels they are cut off below so many bits of fraction of the largest; what
/// their sum has below the last place of the accumulator is rounded down, and the rest is exact. That place moves by whole hexadecimal digits.
fn float_sum<'a>(fraction: i32, parts: &(impl Iterator<Item = (&'a Tap, f32)> + Clone)) -> f64 {
    let mut quads = Vec::new();
    for quad in 0..=parts.clone().map(|(tap, _)| tap.quad).max().unwrap_or(0) {
        let members = parts.clone().filter(|(tap, _)| tap.quad == quad);
        let weighty = members.clone().filter(|(tap, _)| tap.weight > 0);
        let largest = weighty.map(|(_, value)| biased_exponent(value)).max();
        // A power of two times an f32 is exact.
        let unit = power_of_two(largest.unwrap_or(0) - fraction);
        let mut sum = -0.0;
        for (tap, value) in members {
            let value = f64::from(flushed(value));
            // Infinity and NaN have no weight.
            sum += if value.is_finite() {
                (value / unit).trunc() * unit * f64::from(tap.weight) / f64::from(ONE)
            } else {
                value
            };
        }
        quads.push((largest, sum));
    }
    let largest = quads.iter().filter_map(|(largest, _)| *largest).max().unwrap_or(0);
    let last = power_of_two(largest / 4 * 4 - fraction) / f64::from(ONE);
    quads.iter().fold(-0.0, |total, (_, sum)| total + (sum / last).floor() * last)
}

/// The same without subnormal numbers: zero with their sign.
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// The exponent of a float as it stands in its bits, and the least one of normal floats for zero and subnormal ones.
fn biased_exponent(value: f32) -> i32 {
    ((value.to_bits() >> 23 & 0xFF) as i32).max(1)
}

/// The power of two that a float with this exponent in its bits is at least.
fn power_of_two(biased_exponent: i32) -> f64 {
    f64::from(biased_exponent - 127).exp2()
}

/// The nearest float; of two that are equally near, the one further from zero.
fn rounded_away(value: f64) -> f32 {
    /// Bits that an f64 has and an f32 has not.
    const MORE: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    let bits = (value.to_bits() + (1 << (MORE - 1))) >> MORE << MORE;
    f64::from_bits(bits) as f32
}

/// The nearest half, in the same way.
fn half_away(value: f64) -> f32 {
    let exponent = ((value.abs().to_bits() >> 52) as i32 - 1023).max(-14);
    let unit = f64::from(exponent - 10).exp2();
    let rounded = (value.abs() / unit + 0.5).floor() * unit;
    half::f16::from_f64(rounded.copysign(value)).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the first channels of texels with these weights.
    fn sum(kind: ChannelKind, bits: u32, parts: &[(u32, u32)]) -> f32 {
        let format = Format::new(kind, bits, 1).unwrap();
        let tap = |&(_, weight): &(u32, u32)| Tap { level: 0, texel: None, weight, quad: 0 };
        let taps: Vec<Tap> = parts.iter().map(tap).collect();
        let texels: Vec<TexelBits> = parts.iter().map(|&(bits, _)| [bits, 0, 0, 0]).collect();
        f32::from_bits(filtered(format, &taps, &texels, 0))
    }

    // All of these were measured on an H100.

    #[test]
    fn small_floats_lose_bits_beside_large_ones() {
        let parts = [(0.195_872_2f32.to_bits(), 255), ((-43.918_793f32).to_bits(), 1)];
        assert_eq!(sum(ChannelKind::Float, 32, &parts), 0.023_549_16);
    }

    #[test]
    fn quads_are_added_with_a_last_place_that_moves_by_four_bits() {
        // Bits and weights; half of them belong to each quad. The second one is rounded down to a multiple of 2^-30.
        let parts = [
            (0xBC51_BB89, 201),
            (0x3FD8_0CD4, 40),
            (0xBE96_EA12, 12),
            (0xBD86_80D7, 2),
            (0xC274_A683, 1),
            (0xC17D_F321, 0),
            (0xBF77_C20C, 0),
            (0x3D99_ADC9, 0),
        ];
        let tap = |(i, &(_, weight)): (usize, &(u32, u32))| Tap {
            level: 0,
            texel: None,
            weight,
            quad: i as u32 / 4,
        };
        let taps: Vec<Tap> = parts.iter().enumerate().map(tap).collect();
        let texels: Vec<TexelBits> = parts.iter().map(|&(bits, _)| [bits, 0, 0, 0]).collect();
        let float = Format::new(ChannelKind::Float, 32, 1).unwrap();
        assert_eq!(filtered(float, &taps, &texels, 0), 0x39E4_9F20);
    }

    #[test]
    fn integers_are_added_in_16_bits() {
        let words = [(57, 256)];
        assert_eq!(sum(ChannelKind::Unsigned, 8, &words), 57.0 * 257.0 / 65535.0);
        // The same without its last four bits: -110, where -109.46 would be nearest to -109.
        let words = [((-101i32) as u32, 116), ((-16i32) as u32, 140)];
        assert_eq!(sum(ChannelKind::Signed, 8, &words), -14066.0 / 32767.0);
        let words = [(0xA72E, 128), (0x2C69, 128)];
        // -5684.5 goes upwards.
        assert_eq!(sum(ChannelKind::Signed, 16, &words), -5684.0 / 32767.0);
    }

    #[test]
    fn infinity_has_no_weight() {
        let infinity = f32::INFINITY.to_bits();
        assert_eq!(sum(ChannelKind::Float, 32, &[(infinity, 0), (0, 256)]), f32::INFINITY);
        let nan = sum(ChannelKind::Float, 32, &[(infinity, 128), (infinity | 1 << 31, 128)]);
        assert_eq!(nan.to_bits(), 0x7FFF_FFFF);
    }
}
