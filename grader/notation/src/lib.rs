//! Index notation as text and as a program: what `indexmath` knows of a formula before its sizes are fixed.
//!
//! The language, and a glossary, stand in the documentation of `indexmath`. This part of it runs once a formula and never needs to be
//! fast, so it is a crate of its own, compiled without optimisation. What `indexmath` calls for each element or for each formula that
//! it tries is marked `#[inline]`, which has it compiled there.
//!
//! ```text
//! syntax      text ⇄ trees: lexer, parser, printer
//! integer     what integer expressions mean: values, affine forms, intervals, polynomials
//! shape       sizes and tensor types
//! program     names resolved, ranges inferred: the intermediate representation
//! transform   program to program: reverse mode, gather form, back to text
//! ```
//!
//! Each module uses only those above it.

#![expect(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::return_self_not_must_use,
    reason = "trees and their operations bear the names of what they stand for, and indexmath documents what others use"
)]

pub mod dtype;
pub mod error;
pub mod integer;
pub mod program;
pub mod shape;
pub mod span;
pub mod syntax;
pub mod transform;
