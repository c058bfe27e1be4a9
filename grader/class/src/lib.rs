//! Grades a class: many submissions of people who are not trusted, in isolation, on all cores or through Slurm.
//!
//! ```text
//! class.toml ─► settings ─┬─► pack: the students' workbook
//!                         └─► plan: submissions ─► tasks ─┬─ local ─┬─► worker (a process each) ─► store
//!                                                         └─ slurm ─┘                                │
//!                                          feedback, overview, tables, exports ◄─ output ◄─ grades ◄─┘
//! ```
//!
//! A task is a puzzle with the files of a submission to it; equal files are one task. Its result is one file in the store, and
//! what is there is never graded again: a run that was killed goes on where it was.
//!
//! This crate knows no command line: `grader class` connects it, and gives it the function that grades a single file.

pub mod civil;
pub mod collect;
pub mod confined;
pub mod grades;
pub mod local;
pub mod merged_spec;
pub mod output;
pub mod pack;
pub mod plan;
pub mod secret;
pub mod settings;
pub mod slurm;
pub mod store;
pub mod submissions;
pub mod task;
pub mod worker;
