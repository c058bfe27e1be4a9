//! The `grader` command: the student's tools (puzzle, watch, hint, explain, profile, run) and the instructor's (check,
//! new), on top of the crates that do the work.
//!
//! ```text
//! puzzle ──► case ────────┐
//! toolchain ─► module ────┴► device ─► run ─► judge ─► verdict ─► report
//! ```
//!
//! This crate connects them. It handles the terminal, the workbook's folder and the student's progress. The other
//! crates define what a puzzle is, compile it, run it, judge it and report the verdict.

pub mod chapter;
pub mod check;
pub mod cli;
pub mod contents;
pub mod doctor;
pub mod editor;
pub mod export;
pub mod launch_plan;
pub mod mnist;
pub mod mutants;
pub mod npy;
pub mod original_stub;
pub mod storage;
pub mod student_progress;
pub mod template;
pub mod terminal;
pub mod wrong;
