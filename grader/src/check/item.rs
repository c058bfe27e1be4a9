//! An entry in the output of `grader check`.

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The subject of the check: `stub`, `solution` ...
    pub name: &'static str,
    /// What the check found to be correct, in a few words.
    pub summary: String,
    /// The problems that it found, each a sentence or a rendered message.
    pub problems: Vec<String>,
}

impl Item {
    pub(super) fn new(name: &'static str, summary: String, problems: Vec<String>) -> Self {
        Self { name, summary, problems }
    }

    /// Whether it found no problem.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}
