//! The order in which the blocks of a grid, and the warps of a block, run.

/// An order of the blocks of a grid, and of the warps of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The lowest number first, as [`launch()`](crate::launch()) runs them.
    Ascending,
    /// The highest number first.
    Reversed,
    /// Each number once, far from its neighbours, as the seed says.
    Scattered(u64),
}

impl Schedule {
    /// The number whose turn is at `position`, of `count` in all: a permutation.
    pub(crate) fn at(self, position: u64, count: u64) -> u64 {
        match self {
            Self::Ascending => position,
            Self::Reversed => count - 1 - position,
            Self::Scattered(seed) => {
                let mixed = mix(seed);
                // A factor without a common divisor with the count makes a permutation. Near the golden section
                // of the count, neighbours end up far apart.
                let mut factor = (count as f64 * 0.618) as u64 + mixed % (count / 8 + 1);
                while gcd(factor, count) != 1 {
                    factor += 1;
                }
                let (position, count) = (u128::from(position), u128::from(count));
                let shifted = position * u128::from(factor) + u128::from(mix(mixed));
                (shifted % count) as u64
            }
        }
    }
}

/// A step of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub(super) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_is_a_permutation() {
        let all = [
            Schedule::Ascending,
            Schedule::Reversed,
            Schedule::Scattered(1),
            Schedule::Scattered(77),
        ];
        for count in (1..200).chain([1 << 16, 99_991]) {
            for schedule in all {
                let mut seen = vec![false; count as usize];
                for position in 0..count {
                    seen[schedule.at(position, count) as usize] = true;
                }
                assert!(seen.iter().all(|&s| s), "{schedule:?} of {count}");
            }
        }
    }
}
