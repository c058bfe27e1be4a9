//! Samples of a time: median, spread, and how many of them are enough.

use serde::{Deserialize, Serialize};

/// What samples say together. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of samples.
    pub count: usize,
    /// The mean of the samples.
    pub mean: f64,
    /// Half of them are shorter.
    pub median: f64,
    /// The first and the third quartile.
    pub quartiles: [f64; 2],
    /// The shortest sample.
    pub least: f64,
    /// The standard error of the mean, as a part of the mean.
    pub error: f64,
}

impl Summary {
    /// The summary of some samples; `None` if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, count) = (*sorted.first()?, sorted.len());
        let mean = sorted.iter().sum::<f64>() / count as f64;
        Some(Self {
            count,
            mean,
            median: quantile(&sorted, 0.5),
            quartiles: [quantile(&sorted, 0.25), quantile(&sorted, 0.75)],
            least: first,
            error: error(samples, mean),
        })
    }

    /// The distance of the quartiles, as a part of the median.
    pub fn spread(&self) -> f64 {
        (self.quartiles[1] - self.quartiles[0]) / self.median
    }
}

/// The value below which this part of the sorted samples lies, interpolated between neighbours (Hyndman and Fan, 1996,
/// definition 7).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let position = part * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// The standard error of the mean, as a part of the mean. A single sample says nothing of it.
fn error(samples: &[f64], mean: f64) -> f64 {
    let count = samples.len() as f64;
    if samples.len() < 2 {
        return f64::INFINITY;
    }
    let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
    (squares / (count - 1.0) / count).sqrt() / mean
}

/// When to stop taking samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppingRule {
    /// The error of the mean that is good enough, as a part of the mean.
    pub error: f64,
    /// So many samples are taken at least.
    pub least: usize,
    /// So many samples are taken at most.
    pub most: usize,
    /// So many seconds are spent at most, with all that lies between the samples.
    pub seconds: f64,
}

impl StoppingRule {
    /// The rule of `grader bench`.
    pub const USUAL: Self = Self { error: 0.005, least: 20, most: 1000, seconds: 2.0 };

    /// Whether these samples, which took `spent` seconds, are enough.
    pub fn is_enough(&self, samples: &[f64], spent: f64) -> bool {
        let few = samples.len() < self.least;
        let capped = samples.len() >= self.most || (spent >= self.seconds && samples.len() >= 3);
        capped || (!few && Summary::of(samples).is_some_and(|all| all.error < self.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_median_quartiles_and_error() {
        let all = Summary::of(&[5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!((all.count, all.mean, all.median, all.least), (5, 3.0, 3.0, 1.0));
        assert_eq!((all.quartiles, all.spread()), ([2.0, 4.0], 2.0 / 3.0));
        // A variance of 10 / 4, and its fifth part below the root.
        assert!((all.error - 0.5_f64.sqrt() / 3.0).abs() < 1e-12);
        let even = Summary::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((even.median, even.quartiles), (2.5, [1.75, 3.25]));
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn a_single_sample_has_no_known_error() {
        let one = Summary::of(&[2.0]).unwrap();
        assert_eq!((one.median, one.spread(), one.error), (2.0, 0.0, f64::INFINITY));
    }

    #[test]
    fn sampling_ends_when_the_mean_is_known_or_the_cap_is_reached() {
        let rule = StoppingRule { error: 0.005, least: 20, most: 100, seconds: 3.0 };
        assert!(!rule.is_enough(&[1.0; 19], 0.1), "too few, however equal");
        assert!(rule.is_enough(&[1.0; 20], 0.1));
        // Alternating 0.9 and 1.1: an error of 0.1 / sqrt(n), so 400 samples would be needed.
        let noisy = |n: usize| (0..n).map(|i| 0.9 + 0.2 * (i % 2) as f64).collect::<Vec<_>>();
        assert!(!rule.is_enough(&noisy(99), 0.1));
        assert!(rule.is_enough(&noisy(100), 0.1));
        let longer = StoppingRule { most: 1000, ..rule };
        assert!(!longer.is_enough(&noisy(398), 0.1) && longer.is_enough(&noisy(404), 0.1));
        assert!(rule.is_enough(&noisy(3), 3.0) && !rule.is_enough(&noisy(2), 9.0));
    }
}
