//! Tests of formulas through the crate's public functions.

mod branches;
mod chosen;
mod common;
mod conv;
mod functions;
mod given;
mod language;
mod large;
mod numpy;
mod random_formulas;
mod ranges;
mod rounding;
mod steps;
mod variants;
mod windows;
