//! Compiles, runs and judges the kernels of the Gradient Puzzles workbook.
//!
//! Data flows one way:
//!
//! ```text
//! spec ──► oracle ──► case (inputs, expected, bounds)
//!   │                     │
//!   └► toolchain ─► module ─► backend: gpu | vm ─► outputs, findings ─► judge ─► verdict ─► report
//! ```
//!
//! A module uses only what stands left of it: `tensor`, `diagnostic`, `failure`, `counter`, `requirement`,
//! `finding`, `case`, `expansion`,
//! `verdict`, `picture`, `npy`, `progress`, `rng`, `workbook`, `spec`, `oracle`, `process`, `toolchain`, `mutants`, `module`,
//! `backend`, `host`, `judge`, `wrong`, `grade`, `unit`, `doctor`, `explain`, `report`, `contents`, `standing`, `chapter`,
//! `check`, `pristine`, `editor`, `storage`, `template`, `terminal`, `watcher`, `cli`.

pub mod backend;
pub mod case;
pub mod chapter;
pub mod check;
pub mod cli;
pub mod contents;
pub mod counter;
pub mod diagnostic;
pub mod doctor;
pub mod editor;
pub mod expansion;
pub mod explain;
pub mod failure;
pub mod finding;
pub mod grade;
pub mod host;
pub mod judge;
pub mod module;
pub mod mutants;
pub mod npy;
pub mod occupancy;
pub mod oracle;
pub mod picture;
pub mod pristine;
pub mod process;
pub mod program;
pub mod progress;
pub mod report;
pub mod requirement;
pub mod rng;
pub mod spec;
pub mod standing;
pub mod storage;
pub mod template;
pub mod tensor;
pub mod terminal;
pub mod toolchain;
pub mod unit;
pub mod verdict;
pub mod watcher;
pub mod workbook;
pub mod wrong;
