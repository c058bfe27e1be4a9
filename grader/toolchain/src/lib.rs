//! From a `.cu` file to PTX, machine code or a library of host code: finds or installs a compiler, runs it, caches its
//! output, and explains its messages.
//!
//! ```text
//! request ─► key (source, includes, flags, compiler) ─► cache ─┬─ hit ──────────────────────► compiled
//!                                                              └─ miss ─► compiler (process) ─┘
//! ```
//!
//! [`module`] lists the kernels of what was compiled, with their parameters. This crate knows no puzzles: it is given files,
//! folders and the names that it should find.

mod assembler;
pub mod cache;
pub mod comparisons;
mod compile;
pub mod confinement;
pub mod env;
mod explain;
#[cfg(test)]
mod fake;
mod file_names;
pub mod find;
mod front_end;
pub mod host_comparisons;
pub mod includes;
pub mod libraries;
mod messages;
pub mod module;
mod nvcc;
mod place;
pub mod process;
pub mod ptx;
mod resources;
mod rules;
pub mod scratch;
pub mod similar;
mod source_file;
pub mod spinner;
mod supplied_headers;
mod usage;
pub mod wheels;

pub use compile::library::{Library, LibraryRequest};
pub use compile::{Assembler, Compiled, Request, Toolchain};
pub use file_names::FileNames;
pub use front_end::{Target, VirtualArch};
pub use includes::Headers;
pub use resources::Resources;
pub use source_file::SourceFile;
