//! The result of one check of `grader doctor`.

/// The result of one check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The subject of the check in a word or two, such as `compiler`.
    pub name: &'static str,
    /// Whether the grader can work with it.
    pub state: State,
    /// What the check found.
    pub found: String,
    /// How to fix it; empty if nothing needs fixing.
    pub help: String,
}

/// Whether the grader can work with what a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is as it should be.
    Good,
    /// It is missing, but the grader works without it.
    Optional,
    /// It is missing, and the grader cannot work without it.
    Missing,
}
