//! Whether this system can confine what strangers wrote.

use diagnostic::{Failure, FailureKind};
use landlock::{ABI, Access, AccessFs, LandlockStatus, Ruleset, RulesetAttr, RulesetError};
use std::thread;

/// The version of Landlock that confines all that the grader asks for (Linux 6.12).
const COMPLETE: ABI = ABI::V6;

/// Checks that compilers and host code can be confined completely.
///
/// # Errors
/// The kernel has no Landlock, or one that knows less.
pub fn check() -> Result<(), Failure> {
    let has = match status() {
        Some(LandlockStatus::Available { effective_abi, .. }) if effective_abi >= COMPLETE => {
            return Ok(());
        }
        Some(LandlockStatus::Available { effective_abi, .. }) => {
            format!("has version {} of Landlock", effective_abi as i32)
        }
        _ => "has no Landlock".to_owned(),
    };
    let title = format!(
        "this system cannot confine submissions completely: its kernel {has}, and version {} is needed",
        COMPLETE as i32
    );
    let help = "grade on Linux 6.12 or newer; --partly-confined grades all the same, on a machine that holds nothing else of value";
    Err(Failure::new(FailureKind::Environment, title, help))
}

/// What a thread finds that confines itself; threads are confined one by one.
fn status() -> Option<LandlockStatus> {
    let confine = || -> Result<LandlockStatus, RulesetError> {
        let rules = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1))?.create()?;
        Ok(rules.restrict_self()?.landlock)
    };
    thread::spawn(confine).join().ok()?.ok()
}
