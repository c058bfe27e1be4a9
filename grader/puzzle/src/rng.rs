//! Random data that is the same on every machine and in every version: `ChaCha8` generates the bits, and this module
//! maps them to values with exact arithmetic only.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Words that the generator makes at a time.
const WORDS: usize = 64;

/// The stream of random values of one tensor in one test.
#[derive(Debug)]
pub struct Stream {
    generator: ChaCha8Rng,
    /// What the generator has made, and how many of these words were drawn: it is asked for many at a time, since a value takes
    /// twelve of them.
    words: [u32; WORDS],
    drawn: usize,
}

impl Stream {
    /// The stream of `tensor` in `test`. It does not depend on other tests and tensors.
    pub fn new(seed: u64, test: &str, tensor: &str) -> Self {
        let mut hash = blake3::Hasher::new();
        hash.update(&seed.to_le_bytes());
        for name in [test, tensor] {
            // Hashed with its length, so that two names cannot be split in two ways.
            hash.update(&(name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
        }
        let generator = ChaCha8Rng::from_seed(*hash.finalize().as_bytes());
        Self { generator, words: [0; WORDS], drawn: WORDS }
    }

    /// The next word of the generator.
    fn word(&mut self) -> u32 {
        if self.drawn == WORDS {
            let mut bytes = [0; 4 * WORDS];
            self.generator.fill_bytes(&mut bytes);
            let (words, _) = bytes.as_chunks();
            for (word, bytes) in self.words.iter_mut().zip(words) {
                *word = u32::from_le_bytes(*bytes);
            }
            self.drawn = 0;
        }
        self.drawn += 1;
        self.words[self.drawn - 1]
    }

    /// Uniform in `0..n`, without the bias of a remainder. `n` must not be 0.
    pub fn below(&mut self, n: u32) -> u32 {
        // The first 2^32 mod n of 2^32 values would be too frequent by one.
        let surplus = n.wrapping_neg() % n;
        loop {
            let wide = u64::from(self.word()) * u64::from(n);
            if wide as u32 >= surplus {
                return (wide >> 32) as u32;
            }
        }
    }

    /// Uniform among -`range`..=-1 and 1..=`range`: 0 would hide a dropped term. `range` must not be 0.
    pub fn integer(&mut self, range: u32) -> f64 {
        let drawn = i64::from(self.below(2 * range)) - i64::from(range);
        (if drawn >= 0 { drawn + 1 } else { drawn }) as f64
    }

    /// Uniform among the integers from `min` to `max`, which must be fewer than 2^32.
    pub fn between(&mut self, min: i64, max: i64) -> f64 {
        let count = u32::try_from(max - min + 1).unwrap_or(u32::MAX);
        (min + i64::from(self.below(count))) as f64
    }

    /// Approximately standard normal within ±6: the sum of twelve uniform values, minus 6 (Irwin and Hall). Its mean is
    /// 0, its variance 1. The method of Box and Muller would need a logarithm, whose last bit differs between systems.
    pub fn normal(&mut self) -> f64 {
        let sum: u64 = (0..12).map(|_| u64::from(self.word())).sum();
        // The middle of each of the 2^32 cells, so that the mean is 0 exactly.
        (sum as f64 + 6.0) / 4_294_967_296.0 - 6.0
    }

    /// A random permutation of 0..`n` (Fisher and Yates).
    pub fn permutation(&mut self, n: u32) -> Vec<f64> {
        let mut values: Vec<f64> = (0..n).map(f64::from).collect();
        for i in (1..n).rev() {
            values.swap(i as usize, self.below(i + 1) as usize);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_seed_never_change() {
        let mut s = Stream::new(7, "tiny", "input");
        let integers: Vec<f64> = (0..8).map(|_| s.integer(9)).collect();
        insta::assert_snapshot!(format!("{integers:?} {:?} {:?}", s.normal(), s.permutation(5)), @r"
        [-2.0, -7.0, 5.0, 9.0, 1.0, -5.0, 6.0, 9.0] 1.5728817807976156 [1.0, 0.0, 4.0, 3.0, 2.0]
        ");
    }

    #[test]
    fn the_words_are_those_of_the_generator() {
        let mut stream = Stream::new(7, "tiny", "input");
        let mut generator = Stream::new(7, "tiny", "input").generator;
        assert!((0..5 * WORDS / 2).all(|_| stream.word() == generator.next_u32()));
    }

    #[test]
    fn streams_differ_by_seed_test_and_tensor() {
        let first = |seed, test, tensor| Stream::new(seed, test, tensor).below(u32::MAX);
        let all =
            [first(1, "a", "bc"), first(1, "ab", "c"), first(2, "a", "bc"), first(1, "a", "b")];
        for (i, a) in all.iter().enumerate() {
            assert!(!all[..i].contains(a));
        }
    }

    #[test]
    fn integers_are_uniform_and_never_zero() {
        let mut s = Stream::new(1, "t", "x");
        let mut counts = [0_u32; 7];
        for _ in 0..60_000 {
            counts[(s.integer(3) + 3.0) as usize] += 1;
        }
        assert_eq!(counts[3], 0);
        // 10,000 each; the standard deviation is 91.
        assert!(
            counts.iter().enumerate().all(|(i, &c)| i == 3 || (9_500..10_500).contains(&c)),
            "{counts:?}"
        );
    }

    #[test]
    fn integers_of_a_range_take_both_ends() {
        let mut s = Stream::new(1, "t", "x");
        let mut counts = [0_u32; 4];
        for _ in 0..40_000 {
            counts[(s.between(-1, 2) + 1.0) as usize] += 1;
        }
        // 10,000 each; the standard deviation is 87.
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
        assert_eq!(s.between(7, 7), 7.0);
        assert!(s.between(i64::from(i32::MIN), i64::from(i32::MAX) - 1) < 2_147_483_647.0);
    }

    #[test]
    fn normal_values_have_mean_0_and_variance_1() {
        let mut s = Stream::new(1, "t", "x");
        let values: Vec<f64> = (0..100_000).map(|_| s.normal()).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let outside = values.iter().filter(|v| v.abs() > 2.0).count() as f64 / n;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        // 4.55 % for a normal distribution.
        assert!((0.040..0.051).contains(&outside), "{outside}");
    }

    #[test]
    fn a_permutation_holds_each_value_once() {
        let mut values = Stream::new(3, "t", "x").permutation(100);
        assert!(values.windows(2).any(|w| w[0] > w[1]));
        values.sort_by(f64::total_cmp);
        assert!(values.iter().enumerate().all(|(i, &v)| v == i as f64));
    }
}
