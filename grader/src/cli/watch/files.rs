//! When a save is complete.

use std::thread;
use std::time::{Duration, Instant};

/// A save is complete when nothing has changed for this long, because editors write in several steps.
const QUIET: Duration = Duration::from_millis(15);

/// After this time a save counts as complete, even if the files still change.
const LONGEST_SAVE: Duration = Duration::from_millis(200);

/// Waits until what `look` sees has not changed for [`QUIET`], at most for [`LONGEST_SAVE`]. Returns what it saw last.
pub fn settled<T: PartialEq>(first: T, mut look: impl FnMut() -> T) -> T {
    let start = Instant::now();
    let mut seen = first;
    while start.elapsed() < LONGEST_SAVE {
        thread::sleep(QUIET);
        let now = look();
        if now == seen {
            break;
        }
        seen = now;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_in_many_steps_is_one() {
        let mut steps = [2, 3, 3, 4].into_iter();
        assert_eq!(settled(1, || steps.next().unwrap()), 3);
        assert_eq!(steps.next(), Some(4));
    }

    #[test]
    fn files_that_never_rest_are_graded_all_the_same() {
        let mut steps = 0..;
        settled(-1, || steps.next().unwrap());
    }
}
