//! Messages for people: [`Diagnostic`] points into a text file, and [`Failure`] says why a command cannot continue,
//! with the exit code that a script sees.
//!
//! Specs, kernels and command lines all fail with these types. This crate does not know them: it takes a text, byte
//! ranges and labels, and renders them in the style of rustc.

mod failure;
mod message;
mod visible;

pub use failure::{EXIT_ENVIRONMENT, EXIT_FAIL, EXIT_PASS, EXIT_USAGE, Failure, FailureKind};
pub use message::{CODE_WIDTH, Diagnostic, Mark, Severity, Source};
pub use visible::visible;
