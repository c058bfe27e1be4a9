//! An element of a product of a quad pair (`mma.m8n8k4` of `f16`), as the machine code for `sm_75` and later computes it: the products,
//! which are exact in `f32`, are added one after the other, and the element of C last; a D of halves is rounded once, at the end. An H100 gives the same bits.

use super::cvt;
use super::float::w32;

/// The order of the products where D is of `f32` ...
const SINGLES: [usize; 4] = [0, 1, 2, 3];
/// ... and where it is of halves: one of four orders of these and C that give what an H100 gave for all layouts.
const HALVES: [usize; 4] = [2, 3, 0, 1];

/// The bits of a half as those of an `f32`.
fn wide(half: u32) -> u32 {
    cvt::f32_from_f16(half)
}

/// A row of A times a column of B, all of halves, plus an element of C; this and the result may be halves, too.
pub fn element((a, b): ([u32; 4], [u32; 4]), c: u32, half_of_c: bool, half_of_d: bool) -> u32 {
    let (a, b) = (a.map(wide), b.map(wide));
    let [first, others @ ..] = if half_of_d { HALVES } else { SINGLES };
    let product = w32::mul(a[first], b[first]);
    let products = others.iter().fold(product, |sum, &k| w32::fma(a[k], b[k], sum));
    let sum = w32::add(products, if half_of_c { wide(c) } else { c });
    if half_of_d { cvt::nearest::f16_from_f32(sum) } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_added_in_their_order_and_then_the_sum_so_far() {
        let half = |value: f32| u32::from(half::f16::from_f32(value).to_bits());
        let ones = [half(1.0); 4];
        // 2^24 swallows a one, but not two.
        let large = 16_777_216f32.to_bits();
        let of = |terms: [f32; 4], c| element((terms.map(half), ones), c, false, false);
        assert_eq!(of([1.0, 1.0, 0.0, 0.0], large), (16_777_216f32 + 2.0).to_bits());
        assert_eq!(of([1.0, 0.0, 0.0, 0.0], large), large);
        assert_eq!(element((ones, ones), half(0.5), true, false), 4.5f32.to_bits());
        assert_eq!(element((ones, ones), half(2048.0), true, true), half(2052.0));
        let infinities = ([half(f32::INFINITY); 4], [0; 4]);
        assert_eq!(element(infinities, 0, false, false), 0x7FFF_FFFF);
    }
}
