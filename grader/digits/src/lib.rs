//! Handwriting-like digits, drawn from a seed: training data for those who have no MNIST at hand.
//!
//! A digit starts as the strokes of one of a few ways to write it, is bent, slanted and turned, and is drawn by a pen of
//! varying width. As in MNIST (`LeCun` et al., "Gradient-based learning applied to document recognition", 1998), an image has
//! 28 x 28 pixels, bright ink on black, and the ink's centre of mass lies near the middle.
//!
//! The same seed gives the same bytes on every machine: the drawing uses only operations that IEEE 754 rounds in one way.
//!
//! ```
//! let ten: Vec<digits::Digit> = digits::Writer::new(7).take(10).collect();
//! assert_eq!(ten, digits::Writer::new(7).take(10).collect::<Vec<_>>());
//! ```

mod chance;
mod glyphs;
pub mod idx;
mod pen;

use chance::Chance;

/// Pixels of a side.
pub const SIDE: usize = 28;

/// One written digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digit {
    /// 0 to 9.
    pub label: u8,
    /// Rows from the top, [`SIDE`] x [`SIDE`]; 0 is paper, 255 full ink.
    pub pixels: Vec<u8>,
}

/// Writes digits without end; each of the ten is as likely as the others.
#[derive(Clone, Debug)]
pub struct Writer(Chance);

impl Writer {
    /// A writer whose digits depend on the seed only.
    pub fn new(seed: u64) -> Self {
        Self(Chance::new(seed))
    }
}

impl Iterator for Writer {
    type Item = Digit;

    fn next(&mut self) -> Option<Digit> {
        let label = self.0.below(10) as u8;
        let ways = glyphs::ways(label);
        let way = ways[self.0.below(ways.len() as u32) as usize];
        Some(Digit { label, pixels: pen::write(way, &mut self.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(seed: u64, count: usize) -> Vec<Digit> {
        Writer::new(seed).take(count).collect()
    }

    #[test]
    fn a_seed_gives_the_same_bytes_on_every_machine() {
        // FNV-1a over all bytes: a change of the drawing must be meant, for students compare their losses.
        let hash = written(1, 100)
            .iter()
            .flat_map(|d| d.pixels.iter().chain([&d.label]))
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!(hash, 6_118_935_536_180_589_334);
        assert_ne!(written(1, 10), written(2, 10));
    }

    #[test]
    fn every_digit_comes_and_no_two_images_are_equal() {
        let digits = written(3, 2000);
        for label in 0..10 {
            let count = digits.iter().filter(|d| d.label == label).count();
            assert!((150..250).contains(&count), "{count} of {label}");
        }
        let different: std::collections::BTreeSet<_> = digits.iter().map(|d| &d.pixels).collect();
        assert_eq!(different.len(), digits.len());
    }

    #[test]
    fn images_are_like_those_of_mnist() {
        let digits = written(4, 500);
        for digit in &digits {
            let ink = digit.pixels.iter().map(|&p| f64::from(p)).sum::<f64>();
            let mean = |axis: fn(usize) -> usize| {
                let at = |(i, &p): (usize, &u8)| axis(i) as f64 * f64::from(p);
                digit.pixels.iter().enumerate().map(at).sum::<f64>() / ink
            };
            let (x, y) = (mean(|i| i % SIDE), mean(|i| i / SIDE));
            assert!((10.0..18.0).contains(&x) && (10.0..18.0).contains(&y), "centre {x} {y}");
            let border = |i: usize| i.is_multiple_of(SIDE) || i < SIDE;
            assert!(digit.pixels.iter().enumerate().all(|(i, &p)| p == 0 || !border(i)));
        }
        // MNIST's mean pixel is 0.1307 of full ink.
        let all = digits.iter().flat_map(|d| &d.pixels).map(|&p| f64::from(p)).sum::<f64>();
        let mean = all / (digits.len() * SIDE * SIDE) as f64 / 255.0;
        assert!((0.09..0.17).contains(&mean), "mean {mean}");
    }
}
