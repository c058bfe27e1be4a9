//! The seed of each student: the same at every run, and unknown without the secret of the class.

/// Seeds are below this, so that they are short enough to type.
const SEEDS: u64 = 1_000_000_000;

/// The seed of a student's run of a puzzle: a keyed hash (BLAKE3, whose keyed mode is a pseudorandom function) of both names
/// under the secret. Who does not know the secret cannot say on which data a submission will be graded.
pub fn seed(secret: &str, student: &str, puzzle: u32) -> u64 {
    let key = blake3::derive_key("gradient-puzzles class seed 1", secret.as_bytes());
    let mut hasher = blake3::Hasher::new_keyed(&key);
    hasher.update(&puzzle.to_le_bytes()).update(student.as_bytes());
    let hash = hasher.finalize();
    let start: [u8; 8] = std::array::from_fn(|i| hash.as_bytes()[i]);
    u64::from_le_bytes(start) % SEEDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_depend_on_secret_student_and_puzzle_alone() {
        let one = seed("0123456789abcdef", "ada", 10);
        assert_eq!(one, seed("0123456789abcdef", "ada", 10));
        assert_ne!(one, seed("0123456789abcdeg", "ada", 10));
        assert_ne!(one, seed("0123456789abcdef", "bob", 10));
        assert_ne!(one, seed("0123456789abcdef", "ada", 11));
        assert!(one < SEEDS);
    }
}
