//! One thing that `grader doctor` looked at.

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// A word or two: `compiler`.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// How to mend it; empty if there is nothing to mend.
    pub help: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// The grader works without it.
    Optional,
    /// The grader cannot work.
    Missing,
}
