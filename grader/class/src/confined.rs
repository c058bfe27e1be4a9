//! Whether this system can confine what strangers wrote.

use diagnostic::{Failure, FailureKind};
use toolchain::confinement::{gap, landlock};

/// Checks that compilers and host code can be confined completely.
///
/// # Errors
/// The kernel has no Landlock, or one that knows less.
pub fn check() -> Result<(), Failure> {
    decide(landlock())
}

/// May strangers' files be graded where the kernel's Landlock has this version?
fn decide(version: i32) -> Result<(), Failure> {
    let Some(gap) = gap(version) else { return Ok(()) };
    let title = format!("this system cannot confine submissions completely: of its kernel, {gap}");
    let help = "grade on Linux 6.12 or newer; --partly-confined grades all the same, on a machine that holds nothing else of value";
    Err(Failure::new(FailureKind::Environment, title, help))
}

#[cfg(test)]
mod tests {
    use super::decide;

    #[test]
    fn a_class_is_graded_where_all_is_confined() {
        for version in 0..6 {
            let failure = decide(version).unwrap_err().render(false);
            assert!(failure.contains("--partly-confined"), "{failure}");
        }
        assert!(decide(6).is_ok() && decide(7).is_ok());
    }
}
