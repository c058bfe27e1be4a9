//! Random numbers that are the same on every machine: `ChaCha8`, and arithmetic that IEEE 754 rounds in one way.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Debug)]
pub(crate) struct RandomStream(ChaCha8Rng);

impl RandomStream {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// An integer that is uniform in `0..n`, but for a bias of one part in 2^32 / `n`, which does not show.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// A number that is uniform in `low..high`.
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (f64::from(self.0.next_u32()) / 4_294_967_296.0)
    }

    /// An approximately normal number with mean 0 and this standard deviation, within 3.5 of them: the sum of four
    /// uniform numbers (an Irwin-Hall distribution). Unlike a normal one it needs no logarithm.
    pub(crate) fn about_normal(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.uniform(-1.0, 1.0)).sum();
        // A uniform number in -1..1 has the variance 1/3.
        sum * deviation / (4.0_f64 / 3.0).sqrt()
    }
}
