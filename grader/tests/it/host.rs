//! Host puzzles from spec to verdict: what the student's host code may do, and what it may not.

mod hostile;
mod messages;
