//! A line of the list that `grader check` prints.

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What: `stub`, `solution` ...
    pub name: &'static str,
    /// What was found to be right, in a few words.
    pub summary: String,
    /// What is not right, each a sentence or a rendered message.
    pub problems: Vec<String>,
}

impl Item {
    pub(super) fn new(name: &'static str, summary: String, problems: Vec<String>) -> Self {
        Self { name, summary, problems }
    }

    /// Nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }
}
