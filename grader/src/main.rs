//! The `grader` command.
fn main() {}
