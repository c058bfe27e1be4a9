//! Random numbers that are the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of them.
#[derive(Clone, Debug)]
pub struct Chance(ChaCha8Rng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in `0..n`; the bias of one part in 2^32 / `n` does not show.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// Uniform in `low..high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (f64::from(self.0.next_u32()) / 4_294_967_296.0)
    }

    /// Bell-shaped about 0 with this standard deviation, at most 3.5 of them off: the sum of four uniform values.
    pub fn bell(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.uniform(-1.0, 1.0)).sum();
        // A uniform value in -1..1 has the variance 1/3.
        sum * deviation / (4.0_f64 / 3.0).sqrt()
    }
}
