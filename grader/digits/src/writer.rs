//! The writer: an endless sequence of digits from a seed.

use crate::allographs::allographs;
use crate::image::Digit;
use crate::pen::draw;
use crate::random::RandomStream;

/// Writes an endless sequence of digits; all ten classes are equally likely.
#[derive(Debug)]
pub struct Writer(RandomStream);

impl Writer {
    /// A writer whose digits depend on the seed only.
    pub fn new(seed: u64) -> Self {
        Self(RandomStream::new(seed))
    }
}

impl Iterator for Writer {
    type Item = Digit;

    fn next(&mut self) -> Option<Digit> {
        let label = self.0.below(10) as u8;
        let choices = allographs(label);
        let allograph = choices[self.0.below(choices.len() as u32) as usize];
        Some(Digit { label, pixels: draw(allograph, &mut self.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::SIDE;

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
