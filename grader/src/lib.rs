//! The `grader` command: the tools of the student (puzzle, watch, hint, explain, profile, run) and of the instructor (check,
//! new), on top of the crates that do the work.
//!
//! ```text
//! puzzle ──► case ────────┐
//! toolchain ─► module ────┴► device ─► run ─► judge ─► verdict ─► report
//! ```
//!
//! This crate wires them together, and knows the terminal, the workbook's folder and what the student did before. What a
//! puzzle is, how it is compiled, where it runs, whether it is right and how that is said are matters of the others.

pub mod chapter;
pub mod check;
pub mod cli;
pub mod contents;
pub mod doctor;
pub mod editor;
pub mod mutants;
pub mod npy;
pub mod original_stub;
pub mod storage;
pub mod student_progress;
pub mod template;
pub mod terminal;
pub mod wrong;
