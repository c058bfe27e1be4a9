//! Reads C++ as text: its [`tokens`], the [`functions`] that a file declares, the [`statements`] that its lines belong to,
//! and its preprocessor [`directives`].
//!
//! It is not a parser: macros and unusual declarations are missed. So what is found here serves messages, keys of caches that
//! err on the safe side, and the names in a spec's `[[call]]`; the compiler alone decides what a file means. The crate knows
//! nothing else, and every text is read.

pub mod directives;
pub mod functions;
pub mod statements;
pub mod tokens;
