//! Messages for people: one that points into a text file ([`Diagnostic`]), and why a command could not go on ([`Failure`]),
//! with the exit code that tells a script whose turn it is.
//!
//! Specs, kernels and command lines all fail with these types. This crate knows none of them: it is given a text, byte
//! ranges and words, and renders them in the look of rustc.

mod failure;
mod message;

pub use failure::{EXIT_ENVIRONMENT, EXIT_FAIL, EXIT_PASS, EXIT_USAGE, Failure, FailureKind};
pub use message::{Diagnostic, Mark, Severity, Source};
